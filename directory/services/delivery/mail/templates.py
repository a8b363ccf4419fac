"""The templates of mails: plain subjects and texts, each with the name and the address of the site."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import END_ISOLATE, ISOLATE, Message, _
from directory.models import Asked, Outcome, Turn
from directory.services import turn_words
from directory.services.site import Site, path_of
from directory.services.text.rules import isolated
from directory.services.turns import GONE, Standing

SUBJECT_MAX = 200
# Line breaks and controls, and what turns the text around it. A subject is a header: no title may end it.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066\u2067\ud800-\udfff"
BREAKS, UNSAFE = re.compile(f"[{_UNSAFE}]+"), re.compile(f"[{_UNSAFE}{ISOLATE}{END_ISOLATE}]+")


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


# Of mails with a link and of notices: the subject, and the paragraphs below the greeting.
OF_LINKS: dict[str, tuple[Message, ...]] = {
    "account.password_reset": (
        _("Choose a new password for {site}"),
        _("someone, probably you, asked for a new password for your account. Choose one here:"),
        Message("{url}/reset?token={token}"),
        _(
            "The link works once, until {time}. If you did not ask for it, ignore this mail: your password stays as it "
            "is."
        ),
    ),
    "account.email_verification": (
        _("Confirm your e-mail address for {site}"),
        _("please confirm that this is your e-mail address:"),
        Message("{url}/verify?token={token}{back}"),
        _("The link works once, until {time}. If you have no account here, ignore this mail."),
    ),
}
OF_NOTICES: dict[str, tuple[Message, ...]] = {
    "account.email_changed": (
        _("Your e-mail address for {site} was changed"),
        _("the e-mail address of your account was changed on {time}. This address no longer belongs to it."),
        _(
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Sign in, choose a "
            "new password, which ends all other sessions, and revoke your access tokens: {url}/account"
        ),
        _("If you cannot sign in any more, contact the operators of {site}, and quote this mail."),
    ),
    "account.password_changed": (
        _("Your password for {site} was changed"),
        _("the password of your account was changed on {time}. Its other sessions are signed out."),
        _(
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Have a link for a "
            "new password mailed to this address. The page of the link has a box that also revokes all access tokens: "
            "{url}/forgot"
        ),
    ),
    "account.passkey_added": (
        _("A passkey was added to your account at {site}"),
        _("your account has one more passkey since {time}. Whoever holds it can sign in."),
        _(
            "If you added it, you need do nothing. If you did not, someone else uses your account. Sign in, remove the "
            "passkey, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
    "account.passkey_removed": (
        _("A passkey was removed from your account at {site}"),
        _("a passkey was removed from your account on {time}. It can no longer sign in."),
        _(
            "If you removed it, or had the operators do so, you need do nothing. If not, someone else uses your "
            "account. Sign in, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
}
# The subject and the text, with a project's title. It does not begin the subject, or its owner could write the mail's.
OF_DECISIONS = {
    "project.approved": (_("Your project is live: {title}"), _("Your project {title} has been approved and is live:")),
    "project.rejected": (
        _("Your project was not accepted: {title}"),
        _("Your project {title} was reviewed and not accepted."),
    ),
    "project.unpublished": (
        _("Your project is no longer live: {title}"),
        _("Your project {title} was taken off the site."),
    ),
    "project.edit_approved": (
        _("Your changes to {title} are live"),
        _("Your changes to {title} have been approved and are live:"),
    ),
    "project.edit_rejected": (
        _("Your changes to {title} were not accepted"),
        _("Your changes to {title} were reviewed and not accepted. The project stays live as it was."),
    ),
    "project.changes_requested": (
        _("Something has to be changed in {title}"),
        _("Your project {title} was reviewed. Before it can be accepted, the reviewers ask for changes:"),
    ),
    "project.closing": (
        _("Your answer about {title} is still awaited"),
        _("Your project {title} still waits for you."),
    ),
    "project.message": (
        _("A message about {title}"),
        _("The reviewers have written to you about your project {title}:"),
    ),
    "project.returned": (
        _("Your project is in the review queue again: {title}"),
        _(
            "A rule of the site had held or rejected {title}. That was undone: it is in the review queue at its old "
            "place."
        ),
    ),
    "project.appeal_upheld": (
        _("The decision about {title} stays"),
        _("Your appeal about your project {title} was looked at. The decision stays:"),
    ),
    "project.appeal_reversed": (
        _("Your appeal about {title} was successful"),
        _("Your appeal about your project {title} was looked at, and the decision was reversed:"),
    ),
}
CLOSING = "project.closing"
# How a rejection came about, where no reviewer made it; None is where that is not known any more.
OF_REJECTIONS: dict[str, dict[Outcome | None, Message]] = {
    "project.rejected": {
        Outcome.BY_RULE: _("A rule of the site rejected your project {title}. No reviewer has decided it."),
        Outcome.BY_TIME: _("Your project {title} was rejected, because the time for your answer has passed."),
        None: _("Your project {title} was not accepted."),
    },
    "project.edit_rejected": {
        Outcome.BY_RULE: _(
            "A rule of the site rejected your changes to {title}. No reviewer has decided it. The project stays live "
            "as it was."
        ),
        Outcome.BY_TIME: _(
            "Your changes to {title} were rejected, because the time for your answer has passed. The project stays "
            "live as it was."
        ),
        None: _("Your changes to {title} were not accepted. The project stays live as it was."),
    },
}
# Those with a message, whose text the mail has; they lead to the thread.
OF_MESSAGES = {
    "project.changes_requested", "project.message", "project.appeal_upheld", "project.appeal_reversed",
}  # fmt: skip

# The subject and the text of the mail to a reporter, by the outcome.
REPORT_SETTLED = "report.settled"
OF_REPORTS = {
    "acted": (
        _("Your report about {title} was acted on"),
        _("Your report about {title} was looked at and acted on. Thank you."),
    ),
    "unfounded": (
        _("Your report about {title} was looked at"),
        _("Your report about {title} was looked at. The reviewers found no reason to act."),
    ),
}


def of_account(
    site: Site,
    event: str,
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
    subject, *paragraphs = (text.filled(**facts) for text in (OF_LINKS | OF_NOTICES)[event])
    return compose(site, subject, _greeting(username), *paragraphs, language=language)


def _quoted(title: str) -> str:
    """A title in the quotation marks of the mail's language."""
    return _("“{title}”", title=one_line(title))


def _greeting(username: str) -> str:
    return _("Hello {name},", name=username)


def decision(
    site: Site,
    event: str,
    username: str,
    project: dict[str, Any],
    reason: str | None,
    switch_off: str,
    language: Catalogue = ENGLISH,
    *,
    standing: Standing = GONE,
    by_nobody: bool = False,
) -> Mail:
    """The mail to the owner of a project about a decision, with its reason and the link that switches mail off.

    `standing` is where the project stands now: while it waits for its owner, the mail says until when. `by_nobody` is
    whether no person has decided.
    """
    subject, text = OF_DECISIONS[event]
    if by_nobody and event in OF_REJECTIONS:
        text = OF_REJECTIONS[event].get(standing.outcome, OF_REJECTIONS[event][None])
    title = _quoted(project["title"])
    is_approved = event in {"project.approved", "project.edit_approved"}
    path = path_of(project) if is_approved else f"/mine/{project['id']}"
    first, end, rest = (reason or "").partition("\n")  # only the first line is a part of our sentence
    said = f"{isolated(first)}{end}{rest}"
    is_message = event in OF_MESSAGES or (event == CLOSING and standing.asked is Asked.CHANGES)
    reasons = [said if is_message else _("The reason: {text}", text=said)] if reason else []
    to_do = turn_words.words_of(standing).said(standing.until) if standing.turn is Turn.OWNER else []
    where = site.address(path)
    if not is_approved:
        where = _("Its state, and your messages with the reviewers: {address}", address=where)
    off = _("You get this mail as the owner of the project. Switch such mail off here: {address}", address=switch_off)
    texts = (subject.filled(title=title), _greeting(username), text.filled(title=title))
    return compose(site, *texts, *reasons, *to_do, where, off, language=language)


def report_settled(
    site: Site,
    username: str,
    project: dict[str, Any],
    outcome: str,
    reply: str | None,
    switch_off: str,
    language: Catalogue = ENGLISH,
) -> Mail:
    """The mail to a reporter about the outcome, with the reply and the link that switches mail off."""
    subject, text = OF_REPORTS[outcome]
    title = _quoted(project["title"])
    first, end, rest = (reply or "").partition("\n")  # only the first line is a part of our sentence
    replies = [_("The reply: {text}", text=f"{isolated(first)}{end}{rest}")] if reply else []
    where = _("Your reports: {address}", address=site.address("/mine?reports=1"))
    off = _(
        "You get this mail because you reported the project. Switch such mail off here: {address}", address=switch_off
    )
    texts = (subject.filled(title=title), _greeting(username), text.filled(title=title))
    return compose(site, *texts, *replies, where, off, language=language)
