"""The templates of mails: plain subjects and texts, each with the name and the address of the site."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from directory.services.site import Site

SUBJECT_MAX = 200
# Line breaks and controls, and what turns the text around it. A subject is a header: no title may end it.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Mail:
    """A subject of one line, and a text."""

    subject: str
    text: str


def compose(site: Site, subject: str, *paragraphs: str) -> Mail:
    """A mail: the paragraphs, and the name and address of the site below them."""
    signature = f"-- \n{site.name}\n{site.address('/')}\n"
    return Mail(one_line(subject)[:SUBJECT_MAX], "\n\n".join([*paragraphs, signature]))


def one_line(text: str) -> str:
    """Foreign text as a part of a line."""
    return UNSAFE.sub(" ", text)


def test(site: Site) -> Mail:
    """The mail that shows that mail arrives."""
    return compose(site, f"Test mail from {site.name}", f"This is a test. {site.name} can send mail to this address.")


def password_reset(site: Site, username: str, token: str, expires_at: datetime) -> Mail:
    """The mail with a link for a new password."""
    return compose(
        site,
        f"Choose a new password for {site.name}",
        f"Hello {username},",
        "someone, probably you, asked for a new password for your account. Choose one here:",
        site.address(f"/reset?token={token}"),
        f"The link works once, until {_time(expires_at)}. If you did not ask for it, ignore this mail: your "
        "password stays as it is.",
    )


def email_verification(site: Site, username: str, token: str, expires_at: datetime) -> Mail:
    """The mail with a link that verifies the address it is sent to."""
    return compose(
        site,
        f"Confirm your e-mail address for {site.name}",
        f"Hello {username},",
        "please confirm that this is your e-mail address:",
        site.address(f"/verify?token={token}"),
        f"The link works once, until {_time(expires_at)}. If you have no account here, ignore this mail.",
    )


OF_LINKS = {"account.password_reset": password_reset, "account.email_verification": email_verification}


def email_changed(site: Site, username: str, at: datetime) -> Mail:
    """The mail to the address that an account no longer has."""
    return compose(
        site,
        f"Your e-mail address for {site.name} was changed",
        f"Hello {username},",
        f"the e-mail address of your account was changed on {_time(at)}. This address no longer belongs to it.",
        "If you changed it, ignore this mail. If you did not, someone else uses your account. Sign in, choose a new "
        f"password, which ends all other sessions, and revoke your access tokens: {site.address('/account')}",
        f"If you cannot sign in any more, contact the operators of {site.name}, and quote this mail.",
    )


def password_changed(site: Site, username: str, at: datetime) -> Mail:
    """The mail to the owner of an account that has a new password."""
    return compose(
        site,
        f"Your password for {site.name} was changed",
        f"Hello {username},",
        f"the password of your account was changed on {_time(at)}. Its other sessions are signed out.",
        "If you changed it, ignore this mail. If you did not, someone else uses your account. Have a link for a new "
        "password mailed to this address. The page of the link has a box that also revokes all access tokens: "
        f"{site.address('/forgot')}",
    )


def passkey_added(site: Site, username: str, at: datetime) -> Mail:
    """The mail to the owner of an account that has one more passkey."""
    return compose(
        site,
        f"A passkey was added to your account at {site.name}",
        f"Hello {username},",
        f"your account has one more passkey since {_time(at)}. Whoever holds it can sign in.",
        "If you added it, you need do nothing. If you did not, someone else uses your account. Sign in, remove the "
        f"passkey, choose a new password, and revoke your access tokens: {site.address('/account')}",
    )


def passkey_removed(site: Site, username: str, at: datetime) -> Mail:
    """The mail to the owner of an account of which a passkey, or each of them, was removed."""
    return compose(
        site,
        f"A passkey was removed from your account at {site.name}",
        f"Hello {username},",
        f"a passkey was removed from your account on {_time(at)}. It can no longer sign in.",
        "If you removed it, or had the operators do so, you need do nothing. If not, someone else uses your account. "
        f"Sign in, choose a new password, and revoke your access tokens: {site.address('/account')}",
    )


OF_NOTICES = {
    "account.email_changed": email_changed,
    "account.password_changed": password_changed,
    "account.passkey_added": passkey_added,
    "account.passkey_removed": passkey_removed,
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
}


def decision(
    site: Site, event: str, username: str, project: dict[str, Any], reason: str | None, switch_off: str
) -> Mail:
    """The mail to the owner of a project about a decision, with its reason and the link that switches mail off."""
    subject, text = OF_DECISIONS[event]
    title = f"“{one_line(project['title'])}”"
    is_approved = event in {"project.approved", "project.edit_approved"}
    path = f"/p/{project['id']}/{project['slug']}" if is_approved else "/mine"
    reasons = [f"The reason: {reason}"] if reason else []
    where = [site.address(path)] if is_approved else [f"Your projects: {site.address(path)}"]
    off = f"You get this mail as the owner of the project. Switch such mail off here: {switch_off}"
    return compose(site, subject.format(title), f"Hello {username},", text.format(title), *reasons, *where, off)


def _time(at: datetime) -> str:
    return f"{at:%d %B %Y, %H:%M} UTC"
