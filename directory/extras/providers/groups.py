"""A sign-in by a provider: who is admitted by the person's groups, and the role that these give."""

import logging

from directory import events
from directory.errors import LastAdmin
from directory.extras.providers import identities
from directory.extras.providers.provider import Claims
from directory.extras.providers.refusals import NotAdmitted
from directory.models import User
from directory.services import audit
from directory.services.accounts import sessions
from directory.services.drafts import Judge
from directory.services.identity import Caller
from directory.services.people import administration

log = logging.getLogger(__name__)


def sign_in(
    claims: Claims,
    *,
    user_agent: str,
    registration_open: bool,
    domains: tuple[str, ...] = (),
    judge: Judge | None = None,
) -> tuple[User, str, bool] | None:
    """The account of an identity, the secret of a new session, and whether the account was opened just now.

    It is None if the person's groups are not admitted any more: then the account has lost its sessions and tokens, and
    the transaction has to be committed. Raises the errors of `identities.account_of`.
    """
    try:
        user, is_new = identities.account_of(claims, registration_open=registration_open, domains=domains, judge=judge)
    except NotAdmitted:
        _log_refusal(claims)
        raise
    _follow(user, claims)
    if identities.is_refused(claims):
        _log_refusal(claims)
        _end_access(user, claims)
        return None
    return user, sessions.begin(user.id, user_agent=user_agent, by_provider=True), is_new


def _log_refusal(claims: Claims) -> None:
    """Say in one line why somebody is not admitted, and no names of groups: they are the person's."""
    membership = claims.membership
    reason = "domain" if membership is None or membership.opens_account else membership.unknown or "unlisted"
    log.warning("not admitted", extra={"provider": claims.provider, "reason": reason})


def _end_access(user: User, claims: Claims) -> None:
    """End the sessions and tokens of an account whose user is not admitted any more."""
    sessions.end_everything(user.id)
    audit.record(events.USER_SIGNED_OUT, by=None, user_id=user.id, reason=claims.provider)


def _follow(user: User, claims: Claims) -> None:
    """Give a locked account the role that the groups of its user give, or end the one that they gave.

    A claim that does not say the groups changes nothing. The last active administrator stays one.
    """
    membership = claims.membership
    if membership is None:
        return
    facts = {"provider": claims.provider, "user_id": user.id}
    if membership.unknown:
        log.warning("role unknown", extra={**facts, "reason": membership.unknown})
        by = Caller(user.id, user.username, user.role)
        audit.record(
            events.USER_ROLE_UNKNOWN, by=by, user_id=user.id, to_state=claims.provider, reason=membership.unknown
        )
        return
    if membership.role == (user.role if user.role_source == claims.provider else None):
        return
    try:
        administration.administer(user.id, role=membership.role, status=None, by=None, provider=claims.provider)
    except LastAdmin:
        log.warning("the last administrator keeps the role", extra=facts)
