"""The stored event as each format sends it, and its signature.

In a chat, nothing that a member wrote pings, formats, or is over a limit. Only the frame of a message is ours; titles,
taglines and names are foreign text. It loses its directional characters, which could turn the words around it, gets an
invisible space after each `@` and in names of emoji, and is escaped in the chat's own way. In a sentence of ours it is
isolated if it is from right to left.
"""

import base64
import hmac
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from directory import events
from directory.services.site import Site
from directory.services.text.rules import isolated

PREFIX = "whsec_"  # of secrets
DECIDERS = {event.actor for event in events.DECIDED.values()}
COLOUR = 0x2E7D32
INVISIBLE = "\u200b"
DIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ADDRESS = re.compile(r"https?://[^\s<>\"|\\]{1,2040}", re.IGNORECASE)
EMOJI = re.compile(r":(?=[\w'+-]+:)")  # the first colon of `:tada:`, which a chat shows as a picture
DISCORD_LIST = re.compile(r"(?:-|\d+\.) ")  # at the beginning of a line
DISCORD_MARKUP = re.compile(r"([\\`*_~|<>#\[\]])")

# Slack has no escapes for these marks, so look-alikes replace them.
SLACK_MARKUP = str.maketrans("*_~`", "\u2217\u02cd\u223c\u02cb")

Escape = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Format:
    """How a format makes a message of an event; without `message` it sends the event as it is stored.

    A receiver of a signed format needs a secret.
    """

    signed: bool
    message: Callable[[dict[str, Any], Site], dict[str, Any]] | None = None


def render(style: str, payload: str, site: Site, *, names: bool = True) -> bytes:
    """The body of a request in a format of FORMATS for a stored event; without `names` nobody who decided is in it."""
    message = FORMATS[style].message
    if message is None and names:
        return payload.encode()
    event = json.loads(payload)
    if not names:
        _leave_out_deciders(event["data"])
    shown = event if message is None else message(event, site)
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()


def key_of(secret: str) -> bytes:
    """The key of a secret: base64, its padding optional, `whsec_` before it or not. Raises ValueError.

    The strict alphabet: libraries that skip foreign characters would come to another key than those that do not.
    """
    encoded = secret.removeprefix(PREFIX)
    decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    if not decoded:
        raise ValueError("the secret is empty")
    return decoded


def signed_headers(secrets: Iterable[str], webhook_id: str, body: bytes, *, at: int) -> dict[str, str]:
    """The headers of Standard Webhooks 1.0 for `body`, sent `at` (in seconds since 1970).

    There is one signature for each secret, the newest first: HMAC-SHA256 over the id, the time and the very bytes sent.
    """
    signed = f"{webhook_id}.{at}.".encode() + body
    digests = (hmac.digest(key_of(secret), signed, "sha256") for secret in secrets)
    signatures = [f"v1,{base64.b64encode(digest).decode()}" for digest in digests]
    named = {"webhook-id": webhook_id, "webhook-timestamp": str(at)}
    return named | ({"webhook-signature": " ".join(signatures)} if signatures else {})


def _leave_out_deciders(data: dict[str, Any]) -> None:
    """Leave out who decided, be it the owner, and anybody else but the owner who did something."""
    owner = data["project"]["owner"]["id"]
    for member, actor in data.items():
        if member in DECIDERS or (member.endswith("_by") and actor and actor["id"] != owner):
            data[member] = None


def discord(event: dict[str, Any], site: Site) -> dict[str, Any]:
    """A message with one embed, which links to the project and to the directory.

    Limits: content 2,000, title and author 256, description 4,096, field 256 and 1,024; all 6,000.
    """
    project = event["data"]["project"]
    embed: dict[str, Any] = {
        "title": _discord_line(project["title"], 256),
        "description": _discord_line(project["tagline"], 1000),
        "color": COLOUR,
        "timestamp": event["timestamp"],
        "fields": [{"name": name, "value": _discord_line(value, 300), "inline": True} for name, value in _facts(event)],
    }
    if ADDRESS.fullmatch(project["url"]):
        embed["url"] = project["url"]
    if site.url:
        embed["author"] = {"name": site.name, "url": site.address("/")}
    # The text cannot mention a user.
    return {"content": events.BY_NAME[event["type"]].webhook, "embeds": [embed], "allowed_mentions": {"parse": []}}


def slack(event: dict[str, Any], site: Site) -> dict[str, Any]:
    """A message of two sections, 3,000 characters at most each, and the line that a notification shows."""
    project, name = event["data"]["project"], events.BY_NAME[event["type"]].webhook
    title = fit(project["title"], 300, _slack_text)
    shown = title
    if (address := ADDRESS.fullmatch(project["url"])) and len(link := _slack_link(address[0], title)) <= 1900:
        shown = link
    tagline = fit(project["tagline"], 1000, _slack_text)
    facts = [f"{label}: {isolated(fit(value, 300, _slack_text))}" for label, value in _facts(event)]
    if site.url:
        facts.append(_slack_link(site.address("/"), fit(site.name, 300, _slack_text)))
    return {
        "text": f"{name}: {isolated(title)}",
        "blocks": [_section(f"*{name}*\n{_slack_line(shown)}\n{_slack_line(tagline)}"), _section("\n".join(facts))],
    }


def fit(text: str, most: int, escape: Escape) -> str:
    """Foreign text, escaped, in `most` UTF-16 units: cut between two of its characters, never within an escape."""
    text_so_far, left = "", most - 1
    for character in EMOJI.sub(f":{INVISIBLE}", " ".join(DIRECTIONAL.sub("", text).split())):
        escaped = escape(character)
        width = len(escaped.encode("utf-16-le", "surrogatepass")) // 2
        if width > left:
            return f"{text_so_far}…"
        text_so_far, left = text_so_far + escaped, left - width
    return text_so_far or INVISIBLE


def _facts(event: dict[str, Any]) -> list[tuple[str, str]]:
    """The rest that is worth a line: author, category, owner, who did it, what changed, and why."""
    data = event["data"]
    project = data["project"]
    facts = [("Category", project["category"]["name"]), ("Submitted by", project["owner"]["username"])]
    if project.get("author"):  # an event that an earlier version stored has none
        facts.insert(0, ("By", project["author"]))
    for member, actor in data.items():
        if member.endswith("_by") and actor and member != "submitted_by":
            facts.append((member.removesuffix("_by").capitalize() + " by", actor["username"]))
    if data.get("changes"):
        facts.append(("Changed", ", ".join(name.replace("_", " ") for name in data["changes"])))
    if data.get("reason"):
        facts.append(("Reason", data["reason"]))
    if data.get("kind"):
        facts.append(("Reported as", data["kind"].replace("_", " ")))
    return facts


def _discord_text(character: str) -> str:
    return DISCORD_MARKUP.sub(r"\\\1", character) if character != "@" else f"@{INVISIBLE}"


def _discord_line(text: str, most: int) -> str:
    """A line of foreign text, which Discord would show as a list if it began with a hyphen or a number."""
    shown = fit(text, most - 1, _discord_text)
    return f"{INVISIBLE}{shown}" if DISCORD_LIST.match(shown) else shown


def _slack_text(character: str) -> str:
    if character == "@":
        return f"@{INVISIBLE}"
    return character.translate(SLACK_MARKUP).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack_line(text: str) -> str:
    """A line that begins with foreign text, which Slack would show as a quotation if it began with a bracket."""
    return f"{INVISIBLE}{text}" if text.startswith("&gt;") else text


def _slack_link(address: str, title: str) -> str:
    return f"<{address.replace('&', '&amp;')}|{title}>"


def _section(text: str) -> dict[str, Any]:
    # Verbatim: Slack then makes no channel, person or link out of ordinary words.
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


# The settings accept these names.
FORMATS = {
    "standard": Format(signed=True),
    "discord": Format(signed=False, message=discord),
    "slack": Format(signed=False, message=slack),
}
