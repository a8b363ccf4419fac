"""Ways back into an account by mail: a new password, and addresses that are verified."""

from sqlalchemy import select

from directory.db.errors import refusing
from directory.errors import AccountDeleted, Duplicate, Invalid, WrongPassword
from directory.extensions import db
from directory.models import AccountStatus, LinkPurpose, User, now
from directory.services.accounts import accounts, mail_links, sessions
from directory.services.delivery.channels import MailServer
from directory.services.delivery.mail import link_mails
from directory.services.identity import Caller
from directory.services.sign_in import ways_in


def reachable(user: User | None) -> User | None:
    """The account, if it gets links for a new password: an active one."""
    return user if user is not None and user.status == AccountStatus.ACTIVE else None


def forgot(user: User | None, server: MailServer) -> None:
    """Mail a link for a new password to an active account. Otherwise the same statements run, and nothing is mailed."""
    known = reachable(user)
    link_mails.queue(LinkPurpose.RESET, known, known.email if known else "", server)


def owner_of(token: str) -> User:
    """The account that a link for a new password opens. The link stays as it is. Raises Invalid."""
    return accounts.get(mail_links.find(LinkPurpose.RESET, token).user_id)


def reset(token: str, new_hash: str, *, revoke_tokens: bool, server: MailServer) -> None:
    """Give the account of a link a new password, which ends all its sessions and, if asked, revokes all its tokens.

    It uses up all links for a new password, and those to addresses that the account does not have. The link was mailed
    to the account's address, which is verified now, and gets a notice. If it was not verified before, the account may
    have been opened by someone else in the owner's name: then all ways to sign in that were added before are removed.
    Raises Invalid.
    """
    user, email = _opened(LinkPurpose.RESET, token)
    if email != user.email:
        raise Invalid.field("token", mail_links.REFUSAL)
    user.password_hash = new_hash
    if not user.email_verified:
        ways_in.end_all(user.id)
        sessions.revoke_tokens(user.id)
    user.email_verified_at = user.email_verified_at or now()
    db.session.flush()
    accounts.record_password(user)
    mail_links.end_for_new_password(user)
    sessions.end_all(user.id)
    if revoke_tokens:
        sessions.revoke_tokens(user.id)
    tell_of_password(user, server)


def tell_of_password(user: User, server: MailServer) -> None:
    """Mail a notice of a new password to the account."""
    link_mails.queue(LinkPurpose.PASSWORD_CHANGED, user, user.email, server)


def ask_to_verify(user: User, server: MailServer, *, next_path: str | None = None) -> None:
    """Mail a link that verifies the address of an account. Its page leads back to `next_path`."""
    link_mails.queue(LinkPurpose.VERIFY, user, user.email, server, next_path=next_path)


def propose_email(by: Caller, email: str, *, known_hash: str, server: MailServer) -> User:
    """Mail a link to a new address. It becomes the address of the account when the link is used.

    Raises Duplicate, WrongPassword, AccountDeleted.
    """
    user = accounts.locked(by.id)
    if user.deleted_at is not None:
        raise AccountDeleted
    if user.password_hash != known_hash:
        raise WrongPassword
    require_free(email, by=by)
    link_mails.queue(LinkPurpose.VERIFY, user, email, server)
    return user


def require_free(email: str, *, by: Caller) -> None:
    """Raise Duplicate if another account has the address."""
    if db.session.scalar(select(User.id).where(User.email == email, User.id != by.id)) is not None:
        raise Duplicate(["email"], accounts.TAKEN)


def replaced_by(token: str) -> User | None:
    """The account whose address a link to verify another replaces; None for its own address. Raises Invalid."""
    link = mail_links.find(LinkPurpose.VERIFY, token)
    user = accounts.get(link.user_id)
    return user if user.email != link.email else None


def verify(token: str, server: MailServer | None) -> None:
    """Verify the address of a link, and make it the address of the account.

    All other links to verify an address of the account end. An address that is replaced gets a notice if `server` is
    given, and links for a new password that were mailed to it end.
    Raises Invalid, Duplicate.
    """
    user, email = _opened(LinkPurpose.VERIFY, token)
    before, is_new = user.email, user.email != email
    user.email, user.email_verified_at = email, now()
    with refusing(uq_users_email=Duplicate(["email"], accounts.TAKEN)):
        db.session.flush()
    mail_links.end_all(user.id, *((LinkPurpose.VERIFY, LinkPurpose.RESET) if is_new else (LinkPurpose.VERIFY,)))
    if is_new:
        accounts.record_email(user)
    if is_new and server is not None:
        link_mails.queue(LinkPurpose.EMAIL_CHANGED, user, before, server)


def _opened(purpose: LinkPurpose, token: str) -> tuple[User, str]:
    """The locked account of a link, and the link's address; the link is used up. Raises Invalid."""
    link = mail_links.find(purpose, token)
    user = accounts.locked(link.user_id)  # the account is always locked before its links
    mail_links.use_up(link.id)
    if user.status != AccountStatus.ACTIVE:
        raise Invalid.field("token", mail_links.REFUSAL)
    return user, link.email
