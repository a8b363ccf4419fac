"""Makes a message of an event in the outbox: its recipient and its text.

The outbox holds ids and no addresses. Decisions and tests go to the address that the account has when they are sent;
links and notices go to the address stored with the link. A deleted account gets no mail.
"""

import json
from dataclasses import dataclass, replace
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from typing import Any

from sqlalchemy import select

from directory import events
from directory.events import Event
from directory.extensions import db
from directory.language.catalogues import Catalogue
from directory.language.messages import Message as Words
from directory.language.messages import _, ngettext
from directory.models import AccountStatus, Delivery, MailLink, MessageKind, Project, Sender, Status, User, now
from directory.models import Message as ThreadMessage
from directory.models.base import HIGHEST_ID
from directory.services import service_words, turns
from directory.services.accounts import mail_links
from directory.services.delivery.channels import MailServer, NotToBeSent
from directory.services.delivery.leases import Lease
from directory.services.delivery.mail import templates
from directory.services.delivery.mail.templates import Mail
from directory.services.turns import Standing
from directory.services.votes import weeks

SUBJECT, UNSUBSCRIBE = "Subject", "List-Unsubscribe"


class _Policy(EmailPolicy):
    """The policy of SMTP, but for two headers.

    One with an address stays one plain line. Python takes it for text, and writes a long one in encoded words. RFC 2047
    section 5 forbids these there, and mail programs do not read them. A subject is encoded as a whole if it has other
    characters than ASCII, because Python loses the spaces behind a long word. So is one with a title that looks like an
    encoded word: Python sends it as it is, and mail programs would show another text.
    """

    def fold_binary(self, name: str, value: str) -> bytes:
        """Return the lines of a header."""
        if name == UNSUBSCRIBE:
            return f"{name}: {value}\r\n".encode("ascii")
        if name == SUBJECT and ("=?" in value or not value.isascii()):
            return f"{name}: {_encoded(value, fold=True)}\r\n".encode("ascii")
        return super().fold_binary(name, value)


def _encoded(subject: str, *, fold: bool) -> str:
    """A subject in encoded words, which Python decodes when the header is set."""
    return Header(subject, "utf-8", 76 if fold else 0, SUBJECT).encode(linesep="\r\n")


# Its headers raise ValueError for a line break. A server may not take 8 bits.
POLICY = _Policy(linesep="\r\n", cte_type="7bit")
ACTIVE = User.status == AccountStatus.ACTIVE


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one address. `secrets` are what no excerpt of the server's answer may repeat."""

    to: str
    content: EmailMessage
    secrets: frozenset[str] = frozenset()


def of_lease(lease: Lease, server: MailServer) -> Message:
    """The message for a leased delivery; one statement. Raises NotToBeSent.

    A message that cannot be written raises it too: a delivery that no try can end would hold up all behind it.
    """
    try:
        return _written(lease, server)
    except (KeyError, TypeError, ValueError) as error:
        raise NotToBeSent(f"no message can be made of it: {type(error).__name__}") from None


def _written(lease: Lease, server: MailServer) -> Message:
    event, data = events.BY_NAME.get(lease.event), json.loads(lease.payload)["data"]
    if event == events.WEBHOOK_TEST:
        user = _active(data["user"]["id"])
        test = templates.test(server.site, _language(user, server))
        return message(test, to=user.email, server=server, message_id=lease.webhook_id)
    if event is None or not event.mail:
        raise NotToBeSent(f"there is no text for {lease.event}")
    if event.purpose:
        return _of_link(lease, event, data["link_id"], server, data.get("next"))
    if event == events.REPORT_SETTLED:
        return _report_settled(lease, event, data, server)
    return _decision(lease, event, data, server)


def _of_link(lease: Lease, event: Event, link_id: int, server: MailServer, next_path: str | None) -> Message:
    """The message with a link, or a notice, whose link no mail contains."""
    link = _link(link_id)
    if link is None:
        gone = "the account is suspended or deleted, or the notice is too old"
        raise NotToBeSent(gone if event.is_notice else "the link has been used, or it has expired")
    at, token = link.created_at, ""
    if not event.is_notice:
        at, token = link.expires_at, mail_links.token_of_link(link, server.keys)
    facts, language = (link.username, at, token), _language(link, server)
    mail = templates.of_account(server.site, event, *facts, next_path=next_path, language=language)
    composed = message(mail, to=link.email, server=server, message_id=lease.webhook_id)
    return composed if event.is_notice else replace(composed, secrets=frozenset({token}))


def _link(link_id: int) -> Any:
    columns = (MailLink.nonce, MailLink.token_hash, MailLink.email, MailLink.created_at, MailLink.expires_at)
    query = select(*columns, User.username, User.language).join(User, User.id == MailLink.user_id)
    link = db.session.execute(query.where(MailLink.id == link_id, ACTIVE)).one_or_none()
    return link if link is not None and link.expires_at > now() else None


def _decision(lease: Lease, event: Event, data: dict[str, Any], server: MailServer) -> Message:
    owner, address = _notified(data["project"]["owner"]["id"], server)
    standing, by_nobody = _standing(event, data["project"]["id"]), data.get("rejected_by") is None
    language = _language(owner, server)
    if event == events.PROJECT_MESSAGE:
        reason: str | None = _unread(lease, data["project"]["id"], data["message_id"])
    elif "message_id" in data:
        reason = _text_of(data["message_id"])
    elif "link" in data:
        reason = data["link"]["url"]
    elif event == events.PROJECT_PICKED:
        reason = data["project"]["picked"]["words"]
    else:
        reason = language.say(service_words.said(data["reason"])) if data.get("reason") else None
    facts = (owner.username, data["project"], reason, address, language)
    figures = _figures(data["project"]["id"], language) if event == events.PROJECT_FIRST_WEEK else ()
    mail = templates.decision(server.site, event, *facts, standing=standing, by_nobody=by_nobody, figures=figures)
    return _with_switch(message(mail, to=owner.email, server=server, message_id=lease.webhook_id), address)


def _figures(project_id: int, language: Catalogue) -> tuple[Words, ...]:
    """The votes of a project, and its place in its week. Raises NotToBeSent if it is not live any more."""
    columns = select(Project.id, Project.upvotes, Project.published_at)
    project = db.session.execute(columns.where(Project.id == project_id, Project.status == Status.LIVE)).one_or_none()
    if project is None:
        raise NotToBeSent("the project is not live any more")
    number, (week, place) = language.locale.number, weeks.place(project.id, project.published_at)
    votes = ngettext("It has {number} vote.", "It has {number} votes.", project.upvotes, number=number(project.upvotes))
    if place is None:
        return (votes,)
    return votes, _("It was number {place} of {period}.", place=number(place), period=week.name)


def _standing(event: Event, project_id: int) -> Standing:
    """Where a project stands now. Raises NotToBeSent for a reminder that came too late."""
    standing = turns.of_each([project_id]).get(project_id, turns.GONE)
    if event == events.PROJECT_CLOSING and standing.until is None:
        raise NotToBeSent("the project does not wait for its owner any more")
    return standing


def _report_settled(lease: Lease, event: Event, data: dict[str, Any], server: MailServer) -> Message:
    reporter, address = _notified(data["user"]["id"], server)
    facts = (reporter.username, data["project"], data["outcome"], data.get("reply"))
    mail = templates.report_settled(server.site, event, *facts, address, _language(reporter, server))
    return _with_switch(message(mail, to=reporter.email, server=server, message_id=lease.webhook_id), address)


def _language(user: Any, server: MailServer) -> Catalogue:
    """The language of mail to a user: the one that the user has chosen, if the site has it, else the site's."""
    return server.languages.catalogue(server.languages.known(user.language))


def _notified(user_id: int, server: MailServer) -> tuple[Any, str]:
    """The account, and the address that switches its mail about decisions off. Raises NotToBeSent if it is off."""
    user = _active(user_id)
    if not user.notify:
        raise NotToBeSent("the user has switched mail about decisions off")
    token = mail_links.unsubscribe_token(user.id, server.key)
    return user, server.site.address(f"/api/auth/notifications/{token}")


def _with_switch(composed: Message, address: str) -> Message:
    """The message with the headers by which mail programs offer to switch such mail off."""
    composed.content[UNSUBSCRIBE] = f"<{address}>"
    composed.content["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"  # RFC 8058
    return composed


def _unread(lease: Lease, project_id: int, first: int) -> str:
    """What a mail has of a thread: the unread messages from its first one on that the next mail has not.

    Raises NotToBeSent if the owner has read all.
    """
    later = select(Delivery.payload).where(Delivery.project_id == project_id, Delivery.event == lease.event)
    following = db.session.scalar(later.where(Delivery.id > lease.delivery_id).order_by(Delivery.id).limit(1))
    before = json.loads(following)["data"]["message_id"] if following else HIGHEST_ID
    entry = ThreadMessage
    wanted = (
        entry.project_id == project_id, entry.id >= first, entry.id < before, entry.unread_by.is_not(None),
        entry.sender == Sender.REVIEWERS, entry.kind == MessageKind.MESSAGE, entry.text != "",
    )  # fmt: skip
    query = select(entry.text).where(*wanted).order_by(entry.id)
    texts = db.session.scalars(query).all()
    if not texts:
        raise NotToBeSent("the messages were read or erased, or the project deleted")
    return "\n\n".join(texts)


def _text_of(message_id: int) -> str:
    """The text of an entry in a thread. Raises NotToBeSent if it is no longer there."""
    text = db.session.scalar(select(ThreadMessage.text).where(ThreadMessage.id == message_id))
    if not text:
        raise NotToBeSent("the message was erased, or the project deleted")
    return text


def message(mail: Mail, *, to: str, server: MailServer, message_id: str) -> Message:
    """The message for a mail, with its headers. Mail programs recognise a repetition by its Message-ID."""
    name, address = server.sender
    content = EmailMessage(policy=POLICY)
    content["From"] = Address(name, addr_spec=address)
    content["To"] = Address(addr_spec=to)
    content[SUBJECT] = _encoded(mail.subject, fold=False) if "=?" in mail.subject else mail.subject
    content["Date"] = format_datetime(now())
    content["Message-ID"] = f"<{message_id}@{address.rpartition('@')[2]}>"
    content["Auto-Submitted"] = "auto-generated"
    content.set_content(mail.text)
    if server.languages.named:
        content["Content-Language"] = mail.language.tag
    return Message(to, content)


def _active(user_id: int) -> Any:
    columns = (User.id, User.username, User.email, User.notify, User.language)
    user = db.session.execute(select(*columns).where(User.id == user_id, ACTIVE)).one_or_none()
    if user is None:
        raise NotToBeSent("the account is suspended or deleted")
    return user
