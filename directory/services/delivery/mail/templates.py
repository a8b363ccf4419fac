"""The templates of mails: plain subjects and texts, each with the name and the address of the site."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from directory.services.site import Site, path_of
from directory.services.text.rules import isolated

SUBJECT_MAX = 200
FSI, PDI = "\u2068", "\u2069"
# Line breaks and controls, and what turns the text around it. A subject is a header: no title may end it.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066\u2067\ud800-\udfff"
BREAKS, UNSAFE = re.compile(f"[{_UNSAFE}]+"), re.compile(f"[{_UNSAFE}{FSI}{PDI}]+")


@dataclass(frozen=True, slots=True)
class Mail:
    """A subject of one line, and a text."""

    subject: str
    text: str


def compose(site: Site, subject: str, *paragraphs: str) -> Mail:
    """A mail: the paragraphs, and the name and address of the site below them."""
    signature = f"-- \n{site.name}\n{site.address('/')}\n"
    return Mail(_cut(subject), "\n\n".join([*paragraphs, signature]))


def _cut(subject: str) -> str:
    """A subject of one line in so many characters; what `isolated` opened is closed."""
    subject = BREAKS.sub(" ", subject)
    if len(subject) <= SUBJECT_MAX:
        return subject
    cut = subject[: SUBJECT_MAX - 1]
    return cut + PDI if cut.count(FSI) > cut.count(PDI) else cut


def one_line(text: str) -> str:
    """Foreign text as a part of a line of ours."""
    return isolated(UNSAFE.sub(" ", text))


def test(site: Site) -> Mail:
    """The mail that shows that mail arrives."""
    name = one_line(site.name)
    return compose(site, f"Test mail from {name}", f"This is a test. {name} can send mail to this address.")


# Of mails with a link and of notices: the subject, and the paragraphs below the greeting.
OF_LINKS = {
    "account.password_reset": (
        "Choose a new password for {site}",
        "someone, probably you, asked for a new password for your account. Choose one here:",
        "{url}/reset?token={token}",
        "The link works once, until {time}. If you did not ask for it, ignore this mail: your password stays as it is.",
    ),
    "account.email_verification": (
        "Confirm your e-mail address for {site}",
        "please confirm that this is your e-mail address:",
        "{url}/verify?token={token}{back}",
        "The link works once, until {time}. If you have no account here, ignore this mail.",
    ),
}
OF_NOTICES = {
    "account.email_changed": (
        "Your e-mail address for {site} was changed",
        "the e-mail address of your account was changed on {time}. This address no longer belongs to it.",
        (
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Sign in, choose a "
            "new password, which ends all other sessions, and revoke your access tokens: {url}/account"
        ),
        "If you cannot sign in any more, contact the operators of {site}, and quote this mail.",
    ),
    "account.password_changed": (
        "Your password for {site} was changed",
        "the password of your account was changed on {time}. Its other sessions are signed out.",
        (
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Have a link for a "
            "new password mailed to this address. The page of the link has a box that also revokes all access tokens: "
            "{url}/forgot"
        ),
    ),
    "account.passkey_added": (
        "A passkey was added to your account at {site}",
        "your account has one more passkey since {time}. Whoever holds it can sign in.",
        (
            "If you added it, you need do nothing. If you did not, someone else uses your account. Sign in, remove the "
            "passkey, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
    "account.passkey_removed": (
        "A passkey was removed from your account at {site}",
        "a passkey was removed from your account on {time}. It can no longer sign in.",
        (
            "If you removed it, or had the operators do so, you need do nothing. If not, someone else uses your "
            "account. Sign in, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
}
# The subject and the text, with a project's title. It does not begin the subject, or its owner could write the mail's.
OF_DECISIONS = {
    "project.approved": ("Your project is live: {}", "Your project {} has been approved and is live:"),
    "project.rejected": ("Your project was not accepted: {}", "Your project {} was reviewed and not accepted."),
    "project.unpublished": (
        "Your project is no longer live: {}",
        "Your project {} was taken off the site and waits for review again.",
    ),
    "project.edit_approved": ("Your changes to {} are live", "Your changes to {} have been approved and are live:"),
    "project.edit_rejected": (
        "Your changes to {} were not accepted",
        "Your changes to {} were reviewed and not accepted. The project stays live as it was.",
    ),
    "project.changes_requested": (
        "Something has to be changed in {}",
        "Your project {} was reviewed. Before it can be accepted, the reviewers ask for changes:",
    ),
    "project.returned": (
        "Your project is in the review queue again: {}",
        "A rule of the site had held or rejected {}. That was undone: it is in the review queue at its old place.",
    ),
    "project.message": ("A message about {}", "The reviewers have written to you about your project {}:"),
    "project.appeal_upheld": (
        "The decision about {} stays",
        "Your appeal about your project {} was looked at. The decision stays:",
    ),
    "project.appeal_reversed": (
        "Your appeal about {} was successful",
        "Your appeal about your project {} was looked at, and the decision was reversed:",
    ),
}
# Those with a message, whose text the mail has; they lead to the thread.
OF_MESSAGES = {
    "project.changes_requested", "project.message", "project.appeal_upheld", "project.appeal_reversed",
}  # fmt: skip

# The subject and the text of the mail to a reporter, by the outcome.
REPORT_SETTLED = "report.settled"
OF_REPORTS = {
    "acted": ("Your report about {} was acted on", "Your report about {} was looked at and acted on. Thank you."),
    "unfounded": (
        "Your report about {} was looked at",
        "Your report about {} was looked at. The reviewers found no reason to act.",
    ),
}


def of_account(
    site: Site, event: str, username: str, at: datetime, token: str, *, next_path: str | None = None
) -> Mail:
    """The mail with a link, which expires at this time, or the notice of a change at this time, which has no token.

    The page of a link that confirms an address leads back to `next_path`.
    """
    back = f"&next={quote(next_path, safe='/')}" if next_path else ""
    facts = {
        "site": one_line(site.name),
        "url": site.url,
        "time": f"{at:%d %B %Y, %H:%M} UTC",
        "token": token,
        "back": back,
    }
    subject, *paragraphs = (text.format_map(facts) for text in (OF_LINKS | OF_NOTICES)[event])
    return compose(site, subject, f"Hello {username},", *paragraphs)


def decision(
    site: Site, event: str, username: str, project: dict[str, Any], reason: str | None, switch_off: str
) -> Mail:
    """The mail to the owner of a project about a decision, with its reason and the link that switches mail off."""
    subject, text = OF_DECISIONS[event]
    title = f"“{one_line(project['title'])}”"
    is_approved = event in {"project.approved", "project.edit_approved"}
    path = path_of(project) if is_approved else f"/mine/{project['id']}"
    first, end, rest = (reason or "").partition("\n")  # only the first line is a part of our sentence
    words = "" if event in OF_MESSAGES else "The reason: "
    reasons = [f"{words}{isolated(first)}{end}{rest}"] if reason else []
    label = "" if is_approved else "Its state, and your messages with the reviewers: "
    where = f"{label}{site.address(path)}"
    off = f"You get this mail as the owner of the project. Switch such mail off here: {switch_off}"
    return compose(site, subject.format(title), f"Hello {username},", text.format(title), *reasons, where, off)


def report_settled(
    site: Site, username: str, project: dict[str, Any], outcome: str, reply: str | None, switch_off: str
) -> Mail:
    """The mail to a reporter about the outcome, with the reply and the link that switches mail off."""
    subject, text = OF_REPORTS[outcome]
    title = f"“{one_line(project['title'])}”"
    first, end, rest = (reply or "").partition("\n")  # only the first line is a part of our sentence
    replies = [f"The reply: {isolated(first)}{end}{rest}"] if reply else []
    where = f"Your reports: {site.address('/mine?reports=1')}"
    off = f"You get this mail because you reported the project. Switch such mail off here: {switch_off}"
    return compose(site, subject.format(title), f"Hello {username},", text.format(title), *replies, where, off)
