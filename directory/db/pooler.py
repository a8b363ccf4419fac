"""Detects a connection pooler, such as PgBouncer in transaction mode, between us and PostgreSQL.

Behind a pooler each transaction may run in another of the server's sessions. So a transaction cannot rely on the
session state of the one before: no prepared statement, and no setting that the session did not begin with. A pooler
does not announce itself; it is detected by the process id of the session.
"""

from collections.abc import Mapping
from typing import Any

import psycopg

from directory.db import clock

# Written as the server shows them, because the settings of a pooler's session are compared with them.
POSTGRES_SETTINGS = {
    "statement_timeout": "4s",
    "lock_timeout": "1400ms",
    "idle_in_transaction_session_timeout": "10s",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "jit": "off",  # compiling takes 20 ms; with a million projects the planner would compile a search that takes 1 ms
    "max_parallel_workers_per_gather": "0",  # starting them takes 5 ms, and nothing needs them
}
# A value within the options of a connection escapes its spaces.
OPTIONS = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in POSTGRES_SETTINGS.items())
REFUSED = "unsupported startup parameter"  # PgBouncer's message, if its configuration does not ignore our options
CONNECTION_CLASS = "08"  # of SQLSTATE: the connection failed, or the pooler lost its server
SESSION = (
    f"SELECT {clock.STATEMENT}, pg_backend_pid(), quote_ident(session_user), quote_ident(current_database()), "
    + ", ".join(f"current_setting('{name}')" for name in POSTGRES_SETTINGS)
).encode()


class SettingsMissing(psycopg.OperationalError):
    """The sessions behind a pooler lack our settings; the message names the SQL that sets them."""


class Route:
    """Whether an engine's connections go through a pooler. Once detected, a pooler is always assumed."""

    def __init__(self) -> None:
        self.is_pooled = False

    def open(self, connect: Any, positional: Any, named: Mapping[str, Any]) -> Any:
        """A new connection, with our settings or, if a pooler refuses these, without. Raises psycopg.Error."""
        if not self.is_pooled:
            try:
                return connect(*positional, **named)
            except psycopg.OperationalError as error:
                if REFUSED not in str(error):
                    raise
        self.is_pooled = True
        return connect(*positional, **{name: value for name, value in named.items() if name != "options"})

    def examine(self, connection: Any) -> None:
        """Detect whether a new connection goes through a pooler, check its session's settings, and learn the time.

        Raises psycopg.Error, and SettingsMissing if it does not.
        """
        asked_at = clock.steady()
        connection.pgconn.send_query(SESSION)
        result = connection.result()
        epoch, pid, role, database, *values = (result.get_value(0, n).decode() for n in range(result.nfields))
        clock.learn(epoch, asked_at)
        self.is_pooled |= int(pid) != connection.pgconn.backend_pid
        settings = zip(POSTGRES_SETTINGS.items(), values, strict=True)
        wrong = ", ".join(name for (name, value), other in settings if value != other)
        if self.is_pooled and wrong:
            raise SettingsMissing(
                f"DATABASE_URL leads through a connection pooler, whose sessions lack our settings ({wrong}). "
                f"Run once, then reconnect the pooler (RECONNECT in PgBouncer): {role_settings(role, database)}"
            )


def role_settings(role: str, database: str) -> str:
    """The SQL that sets our settings for each session of this role in this database; both are quoted names."""
    alter = f"ALTER ROLE {role} IN DATABASE {database} SET"
    return " ".join(f"{alter} {name} = '{value}';" for name, value in POSTGRES_SETTINGS.items())


def is_lost(error: BaseException, *, is_pooled: bool) -> bool:
    """Whether a reported error means that the connection failed and the outcome is unknown.

    A pooler that loses its server reports an error of its own, although the server may have committed.
    """
    if not isinstance(error, psycopg.Error):
        return False
    return (error.sqlstate or "").startswith(CONNECTION_CLASS) or (is_pooled and error.diag.severity == "FATAL")
