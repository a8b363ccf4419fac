"""Links that are mailed: each works once, until it expires, and proves that its holder reads the mail of an address.

Two things more are stored as links, whose tokens nobody gets: a notice, such as of a changed password, and a request
that must not lead to a mail, such as for an account that does not exist.

A token is made of a random nonce by the service's key. The database holds the nonce and the token's hash, which is
not enough to make a link.

A mail about a decision has another link, which works for ever and switches such mail off without a sign-in (RFC 8058).
"""

import hmac
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from itsdangerous import base64_encode
from sqlalchemy import delete, select, update

from directory.errors import Invalid, NotFound
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import AccountStatus, LinkPurpose, MailLink, User, now
from directory.services.accounts.sessions import digest
from directory.services.clock import database_clock
from directory.services.deleting import delete_some

LIFETIMES = dict.fromkeys(LinkPurpose, timedelta(days=5))  # of notices: longer than the ten tries to send them
LIFETIMES |= {LinkPurpose.RESET: timedelta(minutes=30), LinkPurpose.VERIFY: timedelta(hours=24)}
REFUSAL = _("This link has been used, or it has expired. Ask for another one.")


def token_of(nonce: str, key: bytes) -> str:
    """The token, of 256 bits, in the link of a nonce."""
    mac = hmac.digest(key, f"mail link {nonce}".encode(), "sha256")
    return base64_encode(mac).decode()


def token_of_link(link: Any, keys: Iterable[bytes]) -> str:
    """Return the token of a stored link, by the key that was in use when it was made. Raises ValueError without it."""
    tokens = (token_of(link.nonce, key) for key in keys)
    matching = next((token for token in tokens if digest(token) == link.token_hash), None)
    if matching is None:
        raise ValueError("the link was made by a key that is not configured")
    return matching


def find(purpose: LinkPurpose, token: str) -> Any:
    """The id, user id and address of a link that works. Raises Invalid."""
    query = select(MailLink.id, MailLink.user_id, MailLink.email).join(User, User.id == MailLink.user_id)
    works = (MailLink.token_hash == digest(token), MailLink.purpose == purpose, MailLink.expires_at > now())
    link = db.session.execute(query.where(*works, User.status == AccountStatus.ACTIVE)).one_or_none()
    if link is None:
        raise Invalid.field("token", REFUSAL)
    return link


def use_up(link_id: int) -> None:
    """Delete a link, so that it works once. Raises Invalid if it has expired or another request has used it."""
    if not modify(delete(MailLink).where(MailLink.id == link_id, MailLink.expires_at > now())):
        raise Invalid.field("token", REFUSAL)


def end_all(user_id: int, *purposes: LinkPurpose) -> None:
    """Take all links of a user away, or those for some purposes."""
    ended = delete(MailLink).where(MailLink.user_id == user_id)
    if purposes:
        ended = ended.where(MailLink.purpose.in_(purposes))
    modify(ended)


def end_for_new_password(user: User) -> None:
    """Delete the links that end with the old password: those for a new password, and those to other addresses.

    Somebody who knew the old password may have requested the latter, and could take over the account with one.
    """
    end_all(user.id, LinkPurpose.RESET)
    to_others = (MailLink.user_id == user.id, MailLink.purpose == LinkPurpose.VERIFY, MailLink.email != user.email)
    modify(delete(MailLink).where(*to_others))


def purge(most: int) -> int:
    """Delete at most `most` links that have expired, and return how many."""
    return delete_some(MailLink, MailLink.expires_at < database_clock(), most)


def unsubscribe_token(user_id: int, key: bytes) -> str:
    """The token that switches off mail about decisions for a user. It is the same each time, and does nothing else."""
    mac = hmac.digest(key, f"mail off {user_id}".encode(), "sha256")
    return f"{user_id}-{base64_encode(mac).decode()}"


def unsubscribe(token: str, keys: Iterable[bytes]) -> None:
    """Mail no more decisions to the user of a token that one of the keys made. Raises NotFound."""
    number = token.partition("-")[0]
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0
    encoded = token.encode("utf-8", "replace")
    if not any(hmac.compare_digest(unsubscribe_token(user_id, key).encode(), encoded) for key in keys):
        raise NotFound
    modify(update(User).where(User.id == user_id).values(notify=False))
