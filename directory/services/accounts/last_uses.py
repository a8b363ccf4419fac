"""The last uses of sessions and tokens, and with them of accounts, accurate to five minutes (`sessions.TOUCH_EVERY`).

They are recorded before the response to a request, for several callers together: with votes in the votes' own
transaction, otherwise in one of their own. Nothing waits for a locked row. A credential is recorded only together with
its user, so that one that is left out is due again at its next use.
"""

from typing import Any

import orjson
from sqlalchemy import bindparam, text

from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql
from directory.models import now
from directory.models.base import UtcDateTime
from directory.services.accounts import sessions
from directory.services.accounts.sessions import TOUCH_EVERY, Credential
from directory.services.identity import Caller

TIMES: tuple[Any, ...] = tuple(bindparam(name, type_=UtcDateTime()) for name in ("used_at", "due"))

# Before a SELECT on PostgreSQL: it records the last uses in the same statement. PostgreSQL runs it after the SELECT, so
# a vote that waits for its project has none of these rows. Users come first, as in every transaction; who has locked a
# user may write the row in `last_uses`. Each row is looked at again when it is locked, so of several processes one
# records a use. The planner cannot count the elements of `ARRAY(SELECT …)`: otherwise it would plan each run
# (`db/batched_query.py`).
WITH_USES = """
    WITH seen AS MATERIALIZED (
        SELECT id FROM users WHERE id = ANY (ARRAY(SELECT unnest(CAST(:users AS bigint[]))))
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ), due_sessions AS MATERIALIZED (
        SELECT id FROM sessions WHERE id = ANY (ARRAY(SELECT unnest(CAST(:sessions AS bigint[]))))
            AND user_id IN (SELECT id FROM seen) AND last_seen_at < :due
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ), due_tokens AS MATERIALIZED (
        SELECT id FROM tokens WHERE id = ANY (ARRAY(SELECT unnest(CAST(:tokens AS bigint[]))))
            AND user_id IN (SELECT id FROM seen) AND (last_used_at IS NULL OR last_used_at < :due)
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ), used_sessions AS (
        UPDATE sessions s SET last_seen_at = :used_at FROM due_sessions d WHERE s.id = d.id RETURNING s.user_id
    ), used_tokens AS (
        UPDATE tokens t SET last_used_at = :used_at FROM due_tokens d WHERE t.id = d.id RETURNING t.user_id
    ), used_accounts AS (
        UPDATE last_uses SET seen_at = :used_at
            WHERE user_id IN (SELECT user_id FROM used_sessions UNION SELECT user_id FROM used_tokens)
    )
"""
_RECORD = Prepared(text(f"{WITH_USES} SELECT 1").bindparams(*TIMES))
_SESSIONS = Prepared(
    text(
        "UPDATE sessions SET last_seen_at = :used_at WHERE id IN (SELECT value FROM json_each(:sessions)) "
        "AND last_seen_at < :due RETURNING user_id"
    ).bindparams(*TIMES)
)
_TOKENS = Prepared(
    text(
        "UPDATE tokens SET last_used_at = :used_at WHERE id IN (SELECT value FROM json_each(:tokens)) "
        "AND (last_used_at IS NULL OR last_used_at < :due) RETURNING user_id"
    ).bindparams(*TIMES)
)
_USERS = Prepared(
    text(
        "UPDATE last_uses SET seen_at = :used_at WHERE user_id IN (SELECT value FROM json_each(:users)) "
        "RETURNING user_id"
    ).bindparams(TIMES[0])
)


def record(callers: list[Caller]) -> None:
    """Record that the callers' sessions and tokens are in use now, if that is due."""
    if on_postgresql():
        _RECORD.all(parameters(callers))
        return
    values = parameters(callers)
    values |= {name: orjson.dumps(values[name]).decode() for name in ("sessions", "tokens")}
    users = {user for update in (_SESSIONS, _TOKENS) for (user,) in update.all(values)}
    if users:
        _USERS.all({**values, "users": orjson.dumps([*users]).decode()})


def due_of(credentials: list[Credential]) -> list[Caller]:
    """The callers of these credentials, without those whose last use was recorded a short time ago."""
    prefetched = sessions.prefetch(credentials)
    callers = [
        caller for credential in credentials if (caller := sessions.caller_of(credential, prefetched)) is not None
    ]
    return [caller for caller, is_due in callers if is_due]


def parameters(callers: list[Caller]) -> dict[str, Any]:
    """The parameters of WITH_USES, as of now."""
    at = now()
    return {
        "users": sorted({caller.id for caller in callers}),
        "sessions": [caller.session_id for caller in callers if caller.session_id is not None],
        "tokens": [caller.token_id for caller in callers if caller.token_id is not None],
        "used_at": at,
        "due": at - TOUCH_EVERY,
    }
