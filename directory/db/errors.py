"""What a database's error means: a broken rule, or a database that is unavailable or out of space."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.errors import DirectoryError, Unavailable
from directory.extensions import db

# Classes of SQLSTATE: connection, rollback after a conflict, resources, operator intervention (as a cancelled statement
# or a shutdown), system error.
UNAVAILABLE_CLASSES = {"08", "40", "53", "57", "58"}
# Lock not available, read-only transaction, idle-in-transaction timeout.
UNAVAILABLE_STATES = {"55P03", "25006", "25P03"}
# BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
SQLITE_UNAVAILABLE = {5, 6, 7, 8, 10, 11, 13, 14, 26}


Refusal = DirectoryError | Callable[[], DirectoryError]


@contextmanager
def refusing(**errors: Refusal) -> Iterator[None]:
    """Raise a domain error in place of the violation of the constraint of that name. The transaction has failed anyway.

    A function makes the error after the transaction is rolled back: it reads the row that the write conflicts with. A
    read before the write would cost every writer a statement, and miss what another transaction commits in between.

    For a unique constraint SQLite names the columns and not the constraint: "t.a, t.b" for `uq_t_a_b`. So the
    constraint's columns are compared with that text.
    """
    try:
        yield
    except IntegrityError as error:
        for name, refusal in errors.items():
            if _violates(error, name):
                raise _made(refusal) from error
        raise


def _made(refusal: Refusal) -> DirectoryError:
    if isinstance(refusal, DirectoryError):
        return refusal
    db.session.rollback()
    return refusal()


def _violates(error: IntegrityError, name: str) -> bool:
    diagnosis = getattr(error.orig, "diag", None)
    if diagnosis is not None:
        return str(diagnosis.constraint_name) == name
    message = str(error.orig)
    if name.startswith("fk_"):
        return "FOREIGN KEY" in message
    constraint = next(c for t in db.metadata.tables.values() for c in t.constraints if c.name == name)
    columns = ", ".join(f"{constraint.table.name}.{c}" for c in list(constraint.columns.keys()))  # type: ignore[attr-defined]
    return message == f"UNIQUE constraint failed: {columns}"


def state_of(error: BaseException) -> str | None:
    """The database's own code for an error: an SQLSTATE, or SQLite's name of it. None where the error has none."""
    original = getattr(error, "orig", None)
    state = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    return None if state is None else str(state)


def is_unavailable(error: BaseException) -> bool:
    """Whether the database is out of reach, over a limit or out of space, which is no fault of our code."""
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
