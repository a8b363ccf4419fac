"""Composes mails: plain subjects and texts, of events those of their rows, with the name and address of the site."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from directory import events
from directory.events import Event
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import END_ISOLATE, ISOLATE, Message, _
from directory.models import Asked, Turn
from directory.services import turn_words
from directory.services.site import Site, path_of
from directory.services.text.rules import isolated
from directory.services.turns import GONE, Standing

SUBJECT_MAX = 200
# Line breaks and controls, and what turns the text around it. A subject is a header: no title may end it.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066\u2067\ud800-\udfff"
BREAKS, UNSAFE = re.compile(f"[{_UNSAFE}]+"), re.compile(f"[{_UNSAFE}{ISOLATE}{END_ISOLATE}]+")

ASKS = {"unpublish": Asked.UNPUBLISHED, "request_changes": Asked.CHANGES}  # by decision, what it asks of the owner


@dataclass(frozen=True, slots=True)
class Mail:
    """A subject of one line, and a text, in a language."""

    subject: str
    text: str
    language: Catalogue = ENGLISH


def compose(site: Site, subject: str, *paragraphs: str, language: Catalogue = ENGLISH) -> Mail:
    """A mail in a language: the paragraphs, and the name and address of the site below them."""
    signature = f"-- \n{site.name}\n{site.address('/')}\n"
    return Mail(_cut(language.say(subject)), "\n\n".join([*map(language.say, paragraphs), signature]), language)


def _cut(subject: str) -> str:
    """A subject of one line in so many characters; what `isolated` and a language opened is closed."""
    subject = BREAKS.sub(" ", subject)
    if len(subject) <= SUBJECT_MAX:
        return subject
    cut = subject[: SUBJECT_MAX - 1]
    if left_open := cut.count(ISOLATE) - cut.count(
        END_ISOLATE
    ):  # a language from right to left isolates each value too
        cut = cut[: SUBJECT_MAX - left_open] + END_ISOLATE * left_open
    return cut


def one_line(text: str) -> str:
    """Foreign text as a part of a line of ours."""
    return isolated(UNSAFE.sub(" ", text))


def test(site: Site, language: Catalogue = ENGLISH) -> Mail:  # noqa: PT028 (no test of pytest)
    """The mail that shows that mail arrives."""
    name = one_line(site.name)
    subject, text = _("Test mail from {site}"), _("This is a test. {site} can send mail to this address.")
    return compose(site, subject.filled(site=name), text.filled(site=name), language=language)


def of_account(
    site: Site,
    event: Event,
    username: str,
    at: datetime,
    token: str,
    *,
    next_path: str | None = None,
    language: Catalogue = ENGLISH,
) -> Mail:
    """The mail with a link, which expires at this time, or the notice of a change at this time, which has no token.

    The page of a link that confirms an address leads back to `next_path`.
    """
    back = f"&next={quote(next_path, safe='/')}" if next_path else ""
    facts = {
        "site": one_line(site.name),
        "url": site.url,
        "time": turn_words.instant(at),
        "token": token,
        "back": back,
    }
    subject, *paragraphs = (text.filled(**facts) for text in event.mail)
    return compose(site, subject, _greeting(username), *paragraphs, language=language)


def _quoted(title: str) -> str:
    """A title in the quotation marks of the mail's language."""
    return _("“{title}”", title=one_line(title))


def _greeting(username: str) -> str:
    return _("Hello {name},", name=username)


def decision(
    site: Site,
    event: Event,
    username: str,
    project: dict[str, Any],
    reason: str | None,
    switch_off: str,
    language: Catalogue = ENGLISH,
    *,
    standing: Standing = GONE,
    by_nobody: bool = False,
    figures: tuple[Message, ...] = (),
) -> Mail:
    """The mail to the owner of a project about a decision, with its reason and the link that switches mail off.

    `standing` is where the project stands now: while it waits for its owner, the mail says until when, unless it is
    about a decision that another one has overtaken. `by_nobody` is whether no person has decided. `figures` say how the
    project does.
    """
    subject, text = event.mail
    if by_nobody and event.mail_if:
        subject, text = event.mail_if.get(standing.outcome or "", event.mail_if[""])
    title = _quoted(project["title"])
    is_for_all = event.decision == "approve" or event in {events.PROJECT_PICKED, events.PROJECT_FIRST_WEEK}
    path = path_of(project) if is_for_all else f"/mine/{project['id']}"
    first, end, rest = (reason or "").partition("\n")  # only the first line is a part of our sentence
    said = f"{isolated(first)}{end}{rest}"
    is_message = (
        event.has_message
        or event == events.PROJECT_LINK_DEAD
        or (event == events.PROJECT_CLOSING and standing.asked is Asked.CHANGES)
    )
    reasons = [said if is_message else _("The reason: {text}", text=said)] if reason else []
    asks = standing.turn is Turn.OWNER and (event.decision is None or ASKS.get(event.decision) is standing.asked)
    to_do = turn_words.words_of(standing).said(standing.until) if asks else []
    where = site.address(path)
    if not is_for_all:
        where = _("Its state, and your messages with the reviewers: {address}", address=where)
    off = _("You get this mail as the owner of the project. Switch such mail off here: {address}", address=switch_off)
    texts = (subject.filled(title=title), _greeting(username), text.filled(title=title))
    return compose(site, *texts, *reasons, *figures, *to_do, where, off, language=language)


def report_settled(
    site: Site,
    event: Event,
    username: str,
    project: dict[str, Any],
    outcome: str,
    reply: str | None,
    switch_off: str,
    language: Catalogue = ENGLISH,
) -> Mail:
    """The mail to a reporter about the outcome, with the reply and the link that switches mail off."""
    subject, text = event.mail_if.get(outcome, event.mail)
    title = _quoted(project["title"])
    first, end, rest = (reply or "").partition("\n")  # only the first line is a part of our sentence
    replies = [_("The reply: {text}", text=f"{isolated(first)}{end}{rest}")] if reply else []
    where = _("Your reports: {address}", address=site.address("/mine?reports=1"))
    off = _(
        "You get this mail because you reported the project. Switch such mail off here: {address}", address=switch_off
    )
    texts = (subject.filled(title=title), _greeting(username), text.filled(title=title))
    return compose(site, *texts, *replies, where, off, language=language)
