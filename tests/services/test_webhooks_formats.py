"""The three formats, rendered from hostile events: nothing pings, nothing is over its limit."""

import json
import re
from typing import Any

import pytest

import config
from directory import events
from directory.events import Event
from directory.services.delivery.webhooks import formats
from directory.services.delivery.webhooks.formats import INVISIBLE, fit
from directory.services.site import NOWHERE, Site
from tests.support.outbox import EVENT
from tests.support.variants import ENVIRONMENT

SITE = Site("Projects & more @everyone", "https://projects.example.org")
HOSTILE = [
    "@everyone @here <@123456789> <@&42> <#7>",
    "<!channel> <!here|now> <@U024BE7LH> <#C024BE7LR>",
    "[click me](https://evil.example) **bold** `code` ||spoiler|| ~~gone~~ > quote",
    "x" * 4000,
    "<&>" * 2000,
    "@" * 4000,
    "\U0001f600" * 4000,
    "\u202eevil\u2066\u200f\u061c right to left",
    "שלום עולם",
    "line\nbreak\tand   spaces",
    "\u202e",
    "\\" * 300,
]


def event(text: str, kind: str = "project.approved", **data: Any) -> dict[str, Any]:
    project = {**EVENT["data"]["project"], "title": text, "tagline": text}  # type: ignore[index]
    project |= {"category": {"slug": "tools", "name": text}, "owner": {"id": 1, "username": text}}
    actor = {"id": 1, "username": text}
    return {"type": kind, "timestamp": EVENT["timestamp"], "data": {"project": project, "approved_by": actor, **data}}


def sent(style: str, given: dict[str, Any], site: Site = NOWHERE) -> dict[str, Any]:
    body = formats.render(style, json.dumps(given, ensure_ascii=False), site)
    return json.loads(body)  # type: ignore[no-any-return]


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def texts(message: Any) -> list[str]:
    """Every text of a message, however deep."""
    if isinstance(message, dict):
        return [text for value in message.values() for text in texts(value)]
    if isinstance(message, list):
        return [text for value in message for text in texts(value)]
    return [message] if isinstance(message, str) else []


def test_standard_sends_the_very_bytes_that_were_stored() -> None:
    payload = '{"type":"project.approved",  "title":"Grüße"}'

    assert formats.render("standard", payload, SITE) == payload.encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_discord_message_pings_nobody_and_stays_within_its_limits(text: str) -> None:
    message = sent("discord", event(text, reason=text))

    assert message["allowed_mentions"] == {"parse": []}
    [embed] = message["embeds"]
    assert units(message["content"]) <= 2000
    assert 1 <= units(embed["title"]) <= 256
    assert 1 <= units(embed["description"]) <= 4096
    assert len(embed["fields"]) <= 25
    assert all(1 <= units(f["name"]) <= 256 and 1 <= units(f["value"]) <= 1024 for f in embed["fields"])
    counted = [embed["title"], embed["description"], *(f["name"] + f["value"] for f in embed["fields"])]
    assert units("".join(counted)) <= 6000
    for shown in texts(message):
        assert "@everyone" not in shown
        assert "@here" not in shown
        assert "<@" not in shown.replace("\\<", "")
        assert "](" not in shown.replace("\\]", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_slack_message_pings_nobody_and_stays_within_its_limits(text: str) -> None:
    message = sent("slack", event(text, reason=text))

    assert units(message["text"]) <= 4000
    for block in message["blocks"]:
        assert block["text"]["verbatim"] is True
        assert 1 <= units(block["text"]["text"]) <= 3000
    link = "<https://example.org/7?a=1&amp;b=2|"
    for shown in texts(message):
        bare = shown.replace(link, "", 1).replace(">\n", "\n", 1) if link in shown else shown
        assert "<" not in bare
        assert ">" not in bare
        assert "@everyone" not in shown
        assert "@here" not in shown


@pytest.mark.parametrize("style", ["discord", "slack"])
@pytest.mark.parametrize("text", HOSTILE)
def test_no_directional_mark_of_a_member_reaches_a_chat(style: str, text: str) -> None:
    shown = "".join(texts(sent(style, event(text))))
    shown = re.sub("\u2068([^\u2066-\u2069]*)\u2069", r"\1", shown)  # what we isolate

    assert not set(shown) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_honest_text_arrives_as_it_was_written(style: str) -> None:
    shown = "\n".join(texts(sent(style, event("Grüße, שלום, 日本 & Co. 100%"))))

    assert "Grüße, שלום, 日本" in shown


def test_text_from_right_to_left_is_isolated_where_a_sentence_of_ours_holds_it() -> None:
    hebrew = "שלום."
    given = event(hebrew, "project.rejected", reason=hebrew)
    found = sent("slack", given)
    assert found["text"] == f"Project rejected: \u2068{hebrew}\u2069"
    assert f"Reason: \u2068{hebrew}\u2069" in found["blocks"][1]["text"]["text"]
    assert "\u2068" not in found["blocks"][0]["text"]["text"], "the title has a line of its own"
    # An embed of Discord has each text in a place of its own, and the standard format sends the stored bytes.
    for style in ("discord", "standard"):
        assert "\u2068" not in json.dumps(sent(style, given), ensure_ascii=False)
    assert "\u2068" not in json.dumps(sent("slack", event("Grüße 日本語")), ensure_ascii=False)


def test_each_message_says_what_happened_and_links_to_the_project() -> None:
    embed = sent("discord", EVENT)["embeds"][0]
    [title, facts] = sent("slack", EVENT)["blocks"]

    assert embed["url"] == "https://example.org/7?a=1&b=2"
    assert {f["name"]: f["value"] for f in embed["fields"]} == {
        "Category": "Tools",
        "Submitted by": "ada",
        "Approved by": "root\\_admin",
    }
    assert title["text"]["text"].startswith("*Project approved*\n<https://example.org/7?a=1&amp;b=2|Grüße &amp; ")
    assert facts["text"]["text"] == "Category: Tools\nSubmitted by: ada\nApproved by: root\u02cdadmin"


def test_a_message_names_the_author_first() -> None:
    project = {**EVENT["data"]["project"], "author": "Pallets"}  # type: ignore[index]
    embed = sent("discord", {**EVENT, "data": {**EVENT["data"], "project": project}})["embeds"][0]  # type: ignore[dict-item]
    assert [field["name"] for field in embed["fields"]][:3] == ["By", "Category", "Submitted by"]


@pytest.mark.parametrize(("site", "author"), [(SITE, {"name": SITE.name, "url": f"{SITE.url}/"}), (NOWHERE, None)])
def test_a_discord_message_links_to_the_site_where_its_address_is_known(site: Site, author: Any) -> None:
    assert sent("discord", EVENT, site)["embeds"][0].get("author") == author


def test_a_slack_message_links_to_the_site_where_its_address_is_known() -> None:
    [_, facts] = sent("slack", EVENT, SITE)["blocks"]
    [_, without] = sent("slack", EVENT)["blocks"]

    link = "<https://projects.example.org/|Projects &amp; more @\u200beveryone>"
    assert facts["text"]["text"].split("\n") == [*without["text"]["text"].split("\n"), link]


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_a_message_stays_within_its_limits_with_the_longest_names(style: str) -> None:
    site = Site("@" * 100, f"https://{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}")
    message = sent(style, event("@" * 4000, reason="@" * 4000), site)
    if style == "slack":
        assert all(units(block["text"]["text"]) <= 3000 for block in message["blocks"])
        return
    [embed] = message["embeds"]
    assert units(embed["author"]["name"]) <= 256
    counted = [embed["author"]["name"], embed["title"], embed["description"]]
    assert units("".join([*counted, *(f["name"] + f["value"] for f in embed["fields"])])) <= 6000


@pytest.mark.parametrize("kind", events.WEBHOOKS)
@pytest.mark.parametrize("style", ["discord", "slack"])
def test_every_event_has_a_message(style: str, kind: Event) -> None:
    project = EVENT["data"]["project"]  # type: ignore[index]
    given = {"type": kind, "timestamp": EVENT["timestamp"], "data": {"project": project, "deleted_by": None}}

    assert any(kind.webhook in shown for shown in texts(sent(style, given)))


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://evil.example/|x>", "https://" + "x" * 4000, "!channel"]
)
@pytest.mark.parametrize("style", ["discord", "slack"])
def test_an_address_that_could_do_harm_is_no_link(style: str, url: str) -> None:
    project = {**EVENT["data"]["project"], "url": url}  # type: ignore[index]
    shown = texts(sent(style, {**EVENT, "data": {"project": project}}))

    assert not any(url in text for text in shown)


def test_an_address_too_long_beside_its_title_is_left_out_of_slack() -> None:
    project = {**EVENT["data"]["project"], "url": "https://example.org/" + "&" * 2000}  # type: ignore[index]
    [title, _] = sent("slack", {**EVENT, "data": {"project": project}})["blocks"]

    assert "https" not in title["text"]["text"]


def test_a_text_that_fits_is_whole_and_one_that_does_not_ends_in_an_ellipsis() -> None:
    assert fit("abc", 4, str) == "abc"
    assert fit("abcd", 4, str) == "abc…"
    assert fit("a\U0001f600b", 4, str) == "a\U0001f600…"
    assert fit("\u202e", 4, str) == INVISIBLE


def test_a_cut_never_leaves_half_an_escape() -> None:
    assert fit("<<<<", 9, formats._slack_text) == "&lt;&lt;…"
    assert fit("****", 4, formats._discord_text) == "\\*…"


def test_a_slack_message_does_not_format_what_members_wrote() -> None:
    text = "*bold* _x_ ~y~ `code` ```block``` **a** snake_case"
    message = sent("slack", event(text, reason=text))
    name = events.BY_NAME[str(EVENT["type"])].webhook
    for shown in texts(message):
        assert not set("_~`") & set(shown)
        assert shown.replace(f"*{name}*", "", 1).count("*") == 0
    assert "\u2217bold\u2217 \u02cdx\u02cd \u223cy\u223c \u02cbcode\u02cb" in message["text"]


def test_no_line_of_a_slack_message_begins_as_a_quotation() -> None:
    project = {**EVENT["data"]["project"], "title": "> a", "tagline": ">>> b", "url": "ftp://example.org"}
    [first, _] = sent("slack", {**EVENT, "data": {"project": project}})["blocks"]
    assert "\n\u200b&gt; a\n\u200b&gt;&gt;&gt; b" in first["text"]["text"]


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_no_text_of_members_becomes_an_emoji(style: str) -> None:
    text = ":tada: :wave::skin-tone-2: :+1: a::b: 10:30"
    shown = " ".join(texts(sent(style, event(text, reason=text))))
    assert not re.search(r":[a-z+][\w'+-]*:", shown)
    assert "10:30" in shown


@pytest.mark.parametrize("text", ["- item", "1. item", "-# small", "12. " + "x" * 300])
def test_no_line_of_a_discord_message_begins_as_a_list(text: str) -> None:
    [embed] = sent("discord", event(text, reason=text))["embeds"]
    lines = [embed["title"], embed["description"], *(field["value"] for field in embed["fields"])]
    assert not [line for line in lines if re.match(r"- |-#|\d+\. ", line)]
    assert units(embed["title"]) <= 256


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_a_message_about_an_edit_names_the_fields_that_changed(style: str) -> None:
    changes = {"title": {"from": "a", "to": "b"}, "repository_url": {"from": None, "to": "https://example.org"}}
    shown = " ".join(texts(sent(style, event("Lantern", "project.edited", changes=changes))))
    assert "title, repository url" in shown


@pytest.mark.parametrize("style", formats.FORMATS)
def test_each_format_of_the_table_is_accepted_by_the_settings_and_sends_its_own_message(style: str) -> None:
    secret = {"WEBHOOK_SECRET": "whsec_" + "c2VjcmV0" * 5} if formats.FORMATS[style].signed else {}
    loaded = config.load({**ENVIRONMENT, "WEBHOOK_URL": "https://a.example/", "WEBHOOK_FORMAT": style, **secret})
    assert [endpoint["format"] for endpoint in loaded["WEBHOOK_ENDPOINTS"]] == [style]
    payload = json.dumps(event("Tool"))
    others = {name: formats.render(name, payload, SITE) for name in formats.FORMATS if name != style}
    assert formats.render(style, payload, SITE) not in others.values()


def test_a_format_that_is_not_in_the_table_sends_nothing() -> None:
    with pytest.raises(KeyError):
        formats.render("teams", json.dumps(event("Tool")), SITE)


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_a_report_is_sent_with_its_kind(style: str) -> None:
    given = event("Lamp", "project.reported")
    given["data"]["kind"] = "broken_link"
    message = sent(style, given)

    assert "Project reported" in " ".join(texts(message))
    assert "broken link" in " ".join(texts(message))


@pytest.mark.parametrize("style", formats.FORMATS)
@pytest.mark.parametrize("kind", ["approved", "rejected", "unpublished", "edited", "deleted", "changes_requested"])
@pytest.mark.parametrize("names", [True, False])
def test_without_names_nobody_who_decided_is_in_a_message(style: str, kind: str, *, names: bool) -> None:
    given = event("x", f"project.{kind}")
    del given["data"]["approved_by"]
    member = events.BY_NAME[f"project.{kind}"].actor
    given["data"] |= {member: {"id": 7, "username": "decider"}, "reason": "Why."}
    given["data"]["project"]["owner"] = {"id": 1, "username": "ada"}
    body = formats.render(style, json.dumps(given), SITE, names=names).decode()
    assert ("decider" in body) is names
    assert "ada" in body
    assert "Why." in body
    if style == "standard" and not names:
        assert json.loads(body) == {**given, "data": {**given["data"], member: None}}


@pytest.mark.parametrize(
    ("member", "stays"),
    [("submitted_by", True), ("answered_by", True), ("edited_by", True), ("deleted_by", True), ("approved_by", False)],
)
def test_without_names_an_owner_stays_but_where_they_decided(member: str, *, stays: bool) -> None:
    given = event("x")
    given["data"] = {"project": given["data"]["project"], member: {"id": 1, "username": "ada"}}
    body = json.loads(formats.render("standard", json.dumps(given), SITE, names=False))
    assert (body["data"][member] is not None) is stays
