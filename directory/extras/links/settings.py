"""The settings of the looks at links. Parsers raise ValueError; no reason repeats a secret.

`settings.extras` runs this file alone, so it imports nothing of the directory.
"""

from collections.abc import Mapping
from typing import Any

from settings import Setting
from settings.values import choice, json_objects, ratelimit, web_address, whole

KINDS = ("github", "gitlab", "forgejo")
MOST, LONGEST = 50, 500


def forges(value: str) -> list[dict[str, Any]]:
    """The forges of a JSON list; none where there is no such setting."""
    configured = [_forge(one) for one in (json_objects(value) if value else [])]
    if len(configured) > MOST:
        raise ValueError(f"names more than {MOST} forges")
    if len({one["url"] for one in configured}) < len(configured):
        raise ValueError("names one url twice")
    return configured


def _forge(entry: dict[str, Any]) -> dict[str, Any]:
    if not {"url", "kind"} <= entry.keys() <= {"url", "kind", "token"}:
        raise ValueError("a forge must have the members url and kind, may have token, and no others")
    parts = web_address(entry["url"])
    if parts is None or parts.query or parts.fragment or parts.username is not None or len(entry["url"]) > LONGEST:
        raise ValueError("a forge's url must be an address such as https://git.example.org, without a query")
    if entry["kind"] not in KINDS:
        raise ValueError(f"a forge's kind must be one of {', '.join(KINDS)}")
    token = entry.get("token", "")
    if not isinstance(token, str) or len(token) > LONGEST or not (token.isascii() and token.isprintable()):
        raise ValueError(f"a forge's token must be a text of at most {LONGEST} ASCII characters")
    if token and parts.scheme != "https":
        raise ValueError("a forge with a token must have an https address: over http the token could be read")
    url = f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
    return {"url": url, "kind": entry["kind"], "token": token}


def together(read: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the deliverer's process has links to look at."""
    return {"LINKS_ARE_CHECKED": read["LINK_CHECKS"] == "on"}


SETTINGS = (
    Setting(
        "RATELIMIT_PREVIEW", ratelimit, "10 per minute; 60 per hour",
        "Websites that the service reads for the form of a submission, per user.",
    ),
    Setting(
        "LINK_CHECKS", choice("off", "on"), "off",
        "Whether the service looks at the websites and repositories of projects, and asks forges about the latter: "
        "`on` or `off`; [more](links.md).",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_CHECK_DAYS", whole(1, 90), "7",
        "The days from one look at a link that works to the next one.",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_GONE_DAYS", whole(0, 90), "3",
        "The days after which a link is dead that the host answers with 404 or 410.",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_UNREACHABLE_DAYS", whole(0, 90), "7",
        "The days after which a link is dead whose host does not answer.",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "FORGES", forges, "",
        'Forges beside github.com, gitlab.com and codeberg.org, as a JSON list of `{"url", "kind"}` with the kinds '
        '`github`, `gitlab` and `forgejo`, each with a `"token"` for its API if wanted, which those three may have '
        'too; [more](links.md#repositories).',
        needed_by=("links check", "webhooks work"), is_secret=True,
    ),
)  # fmt: skip
