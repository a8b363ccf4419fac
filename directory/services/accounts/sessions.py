"""Credentials: browser sessions and API tokens. Each is a row, found by the hash of a 256-bit secret.

`api_tokens` issues and revokes tokens.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Engine,
    FromClause,
    String,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)

from directory import events
from directory.db.batched_query import BatchedQuery
from directory.db.statements import Row
from directory.errors import NotFound, SignInAgain
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import (
    AccountStatus,
    Identity,
    LastUse,
    Message,
    Passkey,
    Role,
    Session,
    Token,
    User,
    now,
    role_of,
)
from directory.models.base import UtcDateTime
from directory.services import audit, permissions
from directory.services.clock import database_clock
from directory.services.deleting import delete_some, require_minority
from directory.services.identity import Caller

IDLE = timedelta(days=14)
LIFETIME = timedelta(days=30)
FRESH = timedelta(minutes=10)  # at which age a session is as good as a password
REST = timedelta(days=30)  # since the last sign-in, after which the tokens of an account without other ways in rest
TOUCH_EVERY = timedelta(minutes=5)  # last_seen_at and last_used_at are written only if they are older than this


def digest(secret: str) -> str:
    """The stored form of a secret. It has 256 random bits, so one round of SHA-256 is as good as a slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def begin(user_id: int, *, user_agent: str, by_passkey: bool = False, by_provider: bool = False) -> str:
    """Open a session of a locked account, and return the secret for its cookie.

    The log has the sign-ins of administrators.
    """
    secret = secrets.token_urlsafe(32)
    row = Session(user_id=user_id, token_hash=digest(secret), user_agent=user_agent[:300])
    row.by_passkey, row.by_provider = by_passkey, by_provider
    db.session.add(row)
    user = _see(user_id)
    if permissions.may(user, "administer"):
        audit.record(events.USER_SIGNED_IN, by=user, user_id=user_id)
    return secret


def _is_unconfirmed(user: FromClause) -> ColumnElement[bool]:
    """Whether the account has to confirm its address before it does anything else."""
    return and_(user.c.must_verify, user.c.email_verified_at.is_(None))


# The parts of the queries that find a caller by a credential.
_U = User.__table__.c
_HAS_UNREAD = select(Message.id).where(Message.unread_by == _U.id).correlate(User.__table__).exists()
_UNCONFIRMED = _is_unconfirmed(User.__table__).label("unconfirmed")
_WHO = (_U.id, _U.username, role_of(_U), _U.review_categories, _HAS_UNREAD.label("has_unread"), _UNCONFIRMED)
_SESSION, _TOKEN = Session.__table__.c, Token.__table__.c
_ACTIVE = User.__table__.c.status == AccountStatus.ACTIVE.value
_LIVE_SESSION = and_(
    _SESSION.last_seen_at > bindparam("idle_since"),
    _SESSION.created_at > bindparam("oldest"),
    or_(~_SESSION.by_provider, _SESSION.created_at > bindparam("oldest_by_provider")),
)
_LIVE_TOKEN = or_(_TOKEN.expires_at.is_(None), _TOKEN.expires_at > bindparam("now"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the settings demand of sessions and tokens.

    `passkeys_needed`: the condition `names_user` excludes administrators who need a passkey. `provider_lifetime`:
    sessions by a provider end at this age. `passwords`: accounts can be signed in to by a password.
    """

    passkeys_needed: bool = False
    provider_lifetime: timedelta = LIFETIME
    passwords: bool = True


_NO_DEMANDS = Policy()
_policies: WeakKeyDictionary[Engine, Policy] = WeakKeyDictionary()


def set_policy(engine: Engine, policy: Policy) -> None:
    """Have queries over this engine follow a policy."""
    _policies[engine] = policy


def _policy() -> Policy:
    return _policies.get(db.engine, _NO_DEMANDS)


def is_awake(user: FromClause) -> ColumnElement[bool]:
    """Whether the tokens of `user`, the table of users or an alias, work at present.

    The tokens of an account that is signed in to by providers alone rest if its last sign-in was REST ago: who has lost
    the account at the provider has no access here for ever. The condition has the `token_parameters`. The empty hash is
    part of the text: with another parameter PostgreSQL would plan each run of the statement.
    """
    c = user.c
    last = select(func.max(Identity.last_used_at)).where(Identity.user_id == c.id).correlate(user).scalar_subquery()
    return or_(
        and_(bindparam("passwords", type_=Boolean()), c.password_hash != literal_column("''")),
        exists().where(Passkey.user_id == c.id).correlate(user),
        func.coalesce(last, bindparam("now", type_=UtcDateTime())) > bindparam("awake_since"),
    )


def token_parameters() -> dict[str, Any]:
    """The parameters of the conditions for tokens, as of now."""
    at = now()
    return {"now": at, "awake_since": at - REST, "passwords": _policy().passwords}


def _session_parameters() -> dict[str, Any]:
    """The parameters of the condition for sessions, as of now."""
    at = now()
    oldest_by_provider = at - _policy().provider_lifetime
    return {"idle_since": at - IDLE, "oldest": at - LIFETIME, "oldest_by_provider": oldest_by_provider}


def reader_parameters() -> dict[str, Any]:
    """The parameters of the condition `names_user`: limits of time, as of now, and what the settings demand."""
    demands = {"touched": now() - TOUCH_EVERY, "passkeys_needed": _policy().passkeys_needed}
    return {**_session_parameters(), **token_parameters(), **demands}


_OF_COOKIES = (
    select(*_WHO, _SESSION.by_passkey, _SESSION.id, _SESSION.last_seen_at)
    .join_from(Session.__table__, User.__table__, User.__table__.c.id == _SESSION.user_id)
    .where(_LIVE_SESSION, _ACTIVE)
)
_OF_TOKENS = (
    select(*_WHO, _TOKEN.by_passkey, _TOKEN.id, _TOKEN.last_used_at)
    .join_from(Token.__table__, User.__table__, User.__table__.c.id == _TOKEN.user_id)
    .where(_LIVE_TOKEN, _ACTIVE, is_awake(User.__table__))
)
_FIND_BY_COOKIE = BatchedQuery(
    {"digest": String()}, lambda digest: _OF_COOKIES.where(_SESSION.token_hash == digest), _session_parameters
)
_FIND_BY_TOKEN = BatchedQuery(
    {"digest": String()}, lambda digest: _OF_TOKENS.where(_TOKEN.token_hash == digest), token_parameters
)


class Credential(NamedTuple):
    """The digest of the secret that identifies a caller, and the query that finds its session or token."""

    query: BatchedQuery
    key: str

    @property
    def digests(self) -> tuple[str, str]:
        """The digests of a session and of a token: this credential has one of them, and the other is empty."""
        return (self.key, "") if self.query is _FIND_BY_COOKIE else ("", self.key)


def names_user(reader: FromClause, session: ColumnElement[Any], token: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether `reader`, an alias of the users, is the active user of a session or a token, given by its digest.

    It is false for an administrator who needs a passkey, and for an account that has to confirm its address. It is also
    false if the recorded time of last use is some minutes old: then `caller_of` identifies the user, and `last_uses`
    records the present time. The condition has the `reader_parameters`.
    """
    by_session = _SESSION.token_hash == session, _LIVE_SESSION, _SESSION.last_seen_at >= bindparam("touched")
    by_token = _TOKEN.token_hash == token, _LIVE_TOKEN, _TOKEN.last_used_at >= bindparam("touched")

    def of_credential(column: str) -> ColumnElement[Any]:
        values = (
            select(table.c[column]).where(*conditions).correlate_except(table).scalar_subquery()
            for table, conditions in ((Session.__table__, by_session), (Token.__table__, by_token))
        )
        return func.coalesce(*values)

    any_way = ~bindparam("passkeys_needed", type_=Boolean())
    is_known = and_(reader.c.id == of_credential("user_id"), reader.c.status == AccountStatus.ACTIVE.value)
    # Outside of the lookup of the token, which would be done for each user if it depended on the user.
    is_usable = and_(or_(session != "", is_awake(reader)), ~_is_unconfirmed(reader))
    return and_(is_known, or_(any_way, reader.c.role != Role.ADMIN.value, of_credential("by_passkey")), is_usable)


Prefetched = Mapping[Credential, Row | None]  # the rows of credentials that were queried ahead; None: not found
_NONE: Prefetched = {}


def of_cookie(secret: str) -> Credential:
    """The credential of a session's cookie."""
    return Credential(_FIND_BY_COOKIE, digest(secret))


def of_token(secret: str) -> Credential:
    """The credential of an API token."""
    return Credential(_FIND_BY_TOKEN, digest(secret))


def prefetch(credentials: list[Credential]) -> Prefetched:
    """Query the rows of several credentials: on PostgreSQL by one statement for sessions and one for tokens."""
    rows: dict[Credential, Row | None] = {}
    for query in {credential.query for credential in credentials}:
        alike = [credential for credential in credentials if credential.query is query]
        rows |= zip(alike, query.all([(credential.key,) for credential in alike]), strict=True)
    return rows


def caller_of(credential: Credential, prefetched: Prefetched = _NONE) -> tuple[Caller, bool] | None:
    """The caller whom a live session or token names, and whether its last use is due; None if there is none."""
    row = prefetched[credential] if credential in prefetched else credential.query.one(credential.key)
    if row is None:
        return None
    user_id, username, role, categories, has_unread, unconfirmed, by_passkey, row_id, used_at = row
    stale = used_at is None or used_at < now() - TOUCH_EVERY
    id_field = "session_id" if credential.query is _FIND_BY_COOKIE else "token_id"
    some = None if categories is None else tuple(categories)
    details = {id_field: row_id, "by_passkey": bool(by_passkey), "has_unread": bool(has_unread)}
    details["unconfirmed"] = bool(unconfirmed)
    return Caller(user_id, username, role, review_categories=some, **details), stale


def _see(user_id: int) -> Caller:
    """Record that a user whose row is locked is seen now, which outlives the session or token. Returns the user."""
    who = (select(value).where(User.id == user_id).scalar_subquery() for value in (User.username, User.role))
    seeing = update(LastUse).where(LastUse.user_id == user_id).values(seen_at=now()).returning(LastUse.user_id, *who)
    return Caller(*db.session.execute(seeing, execution_options=UNSYNCHRONISED).one())


def listed(caller: Caller) -> list[dict[str, Any]]:
    """The caller's live sessions, newest first."""
    columns = (Session.id, Session.created_at, Session.last_seen_at, Session.user_agent)
    query = select(*columns, (Session.id == caller.session_id).label("current"))
    at = now()
    is_young = or_(~Session.by_provider, Session.created_at > at - _policy().provider_lifetime)
    query = query.where(Session.user_id == caller.id, _alive(at), is_young).order_by(Session.id.desc())
    return [row._asdict() for row in db.session.execute(query)]


def require_fresh(by: Caller, within: timedelta = FRESH) -> None:
    """Raise SignInAgain unless the caller's session was opened minutes ago. A token is not a session."""
    fresh = exists().where(Session.id == by.session_id, Session.created_at > now() - within)
    if by.session_id is None or not db.session.scalar(select(fresh)):
        raise SignInAgain


def end(session_id: int, *, by: Caller) -> None:
    """End one of the caller's sessions. Raises NotFound."""
    remove_one(Session, session_id, by=by)


def end_all(user_id: int, *, keep: int | None = None) -> int:
    """End all sessions of a user, except the session `keep`, and return how many ended."""
    ended = delete(Session).where(Session.user_id == user_id)
    if keep is not None:
        ended = ended.where(Session.id != keep)
    return modify(ended)


def end_everything(user_id: int) -> None:
    """End all sessions of a user, all tokens and the feed key."""
    end_all(user_id)
    revoke_tokens(user_id)


def record_end_of_all(model: type[Session] | type[Token], *, by: Caller | None) -> tuple[int, int]:
    """Write the entry of the end of all sessions, or tokens, of all users, and return their number and the highest id.

    It is written before they end (`end_portion`): if the work is interrupted, the log has it all the same.
    """
    number, newest = db.session.execute(select(func.count(), func.max(model.id))).one()
    action, name = (
        (events.USERS_SIGNED_OUT, "sessions") if model is Session else (events.USERS_TOKENS_REVOKED, "tokens")
    )
    audit.record(action, by=by, changes={name: {"from": str(number), "to": "0"}})
    return number, newest or 0


def end_portion(model: type[Session] | type[Token], last: int, most: int, *, but: int | None = None) -> list[int]:
    """End at most `most` sessions, or tokens, with ids up to `last`, the highest first, and return the ids.

    A token has a lower id than those made with it, which would end with it. `but` is an id that stays.
    """
    query = select(model.id).where(model.id <= last).order_by(model.id.desc()).limit(most)
    ids = list(db.session.scalars(query if but is None else query.where(model.id != but)))
    modify(delete(model).where(model.id.in_(ids)))
    return ids


def revoke_tokens(user_id: int) -> None:
    """Delete all tokens of a user, and the feed key, which also lets a program in."""
    modify(delete(Token).where(Token.user_id == user_id))
    end_feed_key(user_id)


def end_feed_key(user_id: int) -> bool:
    """Delete the feed key of a user, and return whether there was one."""
    ended = update(User).where(User.id == user_id, User.feed_key_hash.is_not(None)).values(feed_key_hash=None)
    return modify(ended) > 0


def end_feed_keys(most: int) -> int:
    """End at most `most` feed keys, and return how many ended."""
    query = select(User.id).where(User.feed_key_hash.is_not(None)).order_by(User.id).limit(most)
    ids = list(db.session.scalars(query.with_for_update(key_share=True)))
    return modify(update(User).where(User.id.in_(ids)).values(feed_key_hash=None)) if ids else 0


def end_for_removed_passkeys(user_id: int) -> None:
    """End all sessions of a user whose passkeys are removed, and the tokens that come from a session by passkey."""
    end_all(user_id)
    modify(delete(Token).where(Token.user_id == user_id, Token.by_passkey))


def _alive(at: datetime) -> Any:
    return and_(Session.last_seen_at > at - IDLE, Session.created_at > at - LIFETIME)


def purge(most: int, *, guarded: bool = True) -> int:
    """Delete at most `most` sessions that have ended by time, and return how many. Raises MostWouldGo."""
    return _purge(Session, ~_alive(database_clock()), most, guarded=guarded)


def purge_tokens(most: int, *, guarded: bool = True) -> int:
    """Delete at most `most` API tokens that have expired, and return how many. Raises MostWouldGo."""
    return _purge(Token, Token.expires_at <= database_clock(), most, guarded=guarded)


def _purge(model: Any, ended: ColumnElement[bool], most: int, *, guarded: bool) -> int:
    if guarded:
        require_minority(model, ended)
    return delete_some(model, ended, most)


def remove_one(model: type[Session] | type[Token], row_id: int, *, by: Caller) -> None:
    """Delete the session, or the token, of a caller by its id. Raises NotFound if it is not theirs."""
    if not modify(delete(model).where(model.id == row_id, model.user_id == by.id)):
        raise NotFound
