"""Classifies database errors: a violated constraint, or a database that is unavailable or out of space."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from sqlalchemy.exc import DBAPIError, IntegrityError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.errors import DirectoryError, Unavailable
from directory.extensions import db

# Classes of SQLSTATE: connection, rollback after a conflict, resources, operator intervention (such as a shutdown or a
# cancelled statement), system error.
UNAVAILABLE_CLASSES = {"08", "40", "53", "57", "58"}
# Lock not available, read-only transaction, idle-in-transaction timeout.
UNAVAILABLE_STATES = {"55P03", "25006", "25P03"}
# BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
SQLITE_UNAVAILABLE = {5, 6, 7, 8, 10, 11, 13, 14, 26}

# What triggers (sql/*/duplicates.sql) refuse by the name of a unique constraint, and the columns SQLite would name.
BY_TRIGGER = {"uq_projects_owner_id_url_key": "projects.owner_id, projects.url_key"}

# Errors that need an operator, by SQLSTATE or SQLite's name of the error.
CAUSES = {
    "28P01": "the database refuses the password", "28000": "the database refuses the user",
    "3D000": "there is no database of that name", "53300": "the database has no connections left",
    "53100": "the disk of the database is full", "57P01": "the database was shut down",
    "57P03": "the database is starting up or shutting down", "57014": "a statement took too long",
    "55P03": "a lock was not free in time", "25006": "the database accepts no writes: it is a standby or read-only",
    "25P03": "a transaction was idle for too long", "40001": "conflicts with other transactions",
    "40P01": "conflicts with other transactions", "42501": "the database role lacks a privilege",
    "SQLITE_BUSY": "another process holds the lock of the database", "SQLITE_FULL": "the disk of the database is full",
    "SQLITE_CANTOPEN": "the database file cannot be opened", "SQLITE_READONLY": "the database file cannot be written",
    "SQLITE_NOTADB": "the file is not a database", "SQLITE_CORRUPT": "the database file is damaged",
    "SQLITE_IOERR": "the disk of the database fails",
}  # fmt: skip
NOT_UPGRADED = {"42883", "42P01", "42703"}  # the database lacks a function, table or column of this version
FULL = {"53100", "SQLITE_FULL"}  # the disk
LATE = "the database does not answer in time"
# A connection that fails has no SQLSTATE, only libpq's text. The server's part of it may be in another language.
CONNECTING = {
    "password authentication failed": CAUSES["28P01"], "no password supplied": "the database asks for a password",
    "failed to resolve host": "the host of the database is unknown",
    "no pg_hba.conf entry": "the database refuses this host or user",
    "Connection refused": "the database refuses connections: it is down, or the port is wrong",
    "No such file or directory": "the database refuses connections: it is down, or the socket is wrong",
    "No route to host": "the host of the database cannot be reached",
    "Network is unreachable": "the host of the database cannot be reached",
    "timeout expired": LATE, "did not answer": LATE, "does not answer": LATE,
    "session is read-only": CAUSES["25006"], "starting up": CAUSES["57P03"], "shutting down": CAUSES["57P03"],
    "too many clients": CAUSES["53300"], "too many connections": CAUSES["53300"],
    "server closed the connection": "the connection to the database was lost",
}  # fmt: skip
NO_DATABASE = re.compile(r"database \S+ does not exist")  # unlike: role "…" does not exist
OUT_OF_REACH = "the database cannot be reached"


Refusal = DirectoryError | Callable[[], DirectoryError]
is_refusing = ContextVar("directory.is_refusing", default=False)  # whether a block of `refusing` is to get the errors


@contextmanager
def refusing(**errors: Refusal) -> Iterator[None]:
    """Raise a domain error when the constraint of that name is violated. The transaction has failed in any case.

    An error can be a function, which is called after the rollback and can read the conflicting row. A read before the
    write would cost every writer a statement, and miss commits in between.

    For a unique constraint SQLite names the columns, not the constraint: "t.a, t.b" for `uq_t_a_b`. So that text is
    compared with the columns of the constraint.
    """
    token = is_refusing.set(True)
    try:
        yield
    except IntegrityError as error:
        for name, refusal in errors.items():
            if not _violates(error, name):
                continue
            if isinstance(refusal, DirectoryError):
                raise refusal from error
            db.session.rollback()
            raise refusal() from error
        raise
    finally:
        is_refusing.reset(token)


def _violates(error: IntegrityError, name: str) -> bool:
    diagnosis = getattr(error.orig, "diag", None)
    if diagnosis is not None:
        return str(diagnosis.constraint_name) == name
    message = str(error.orig)
    if name.startswith("fk_"):
        return "FOREIGN KEY" in message
    return message == f"UNIQUE constraint failed: {BY_TRIGGER.get(name) or _columns_of(name)}"


def _columns_of(name: str) -> str:
    constraint = next(c for t in db.metadata.tables.values() for c in t.constraints if c.name == name)
    return ", ".join(f"{constraint.table.name}.{c}" for c in list(constraint.columns.keys()))  # type: ignore[attr-defined]


def state_of(error: BaseException) -> str | None:
    """The database's own code for an error: an SQLSTATE, or SQLite's error name. None if the error has no code."""
    original = getattr(error, "orig", None)
    state = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    return None if state is None else str(state)


def cause_of(error: BaseException) -> str:
    """Return the reason why the database does not answer, in one line, without names, addresses and values."""
    if isinstance(error, PoolTimeout | TimeoutError):
        return LATE
    state = state_of(error) or ""
    if cause := CAUSES.get(state) or CAUSES.get("_".join(state.split("_")[:2])):
        return cause
    text = str(getattr(error, "orig", error))
    if NO_DATABASE.search(text):
        return CAUSES["3D000"]
    if "role" in text and "does not exist" in text:
        return CAUSES["28000"]
    return next((cause for words, cause in CONNECTING.items() if words in text), OUT_OF_REACH)


def is_unavailable(error: BaseException) -> bool:
    """Whether the database is unreachable, over a limit or out of space, which is not a bug in our code."""
    if isinstance(error, PoolTimeout | Unavailable):
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in SQLITE_UNAVAILABLE
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, OperationalError | InternalError)
    return state in UNAVAILABLE_STATES or state[:2] in UNAVAILABLE_CLASSES


def log_failure(
    log: logging.Logger, message: str, error: BaseException, *, level: int = logging.INFO,
    extra: Mapping[str, object] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Log what failed: by the database in a line of that level, by a fault of ours as an error with its trace."""
    if is_unavailable(error) or state_of(error) in NOT_UPGRADED:
        log.log(level, message, extra={**extra, "reason": state_of(error) or type(error).__name__})
    else:
        log.error(message, extra=extra, exc_info=error)


def is_undone(error: BaseException) -> bool:
    """Whether it is certain that nothing was done: nothing was sent, or the database reported the failure.

    After a lost connection the transaction may have been committed.
    """
    if isinstance(error, DBAPIError):
        return not error.connection_invalidated
    return isinstance(error, PoolTimeout | Unavailable)
