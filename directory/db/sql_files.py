"""The functions and triggers of both databases: written once, in the files of `sql/`, which migrations install.

The files are those of the newest version. A migration that adds a column adds it before it installs a file that names
it, and one that comes before that migration does not install the file.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import complete_statement

from sqlalchemy import Connection, MetaData

from directory.db import first_rows

FOLDER = Path(__file__).parent / "sql"
TABLES = "tables"  # the file of the tables without a model, for a new database alone
# Files whose table a migration makes: earlier ones cannot install them.
SINCE = {"messages": "0059", "reviews": "0066", "fields": "0069", "last_uses": "0071"}
_TRIGGER = re.compile(r"CREATE TRIGGER (\w+)")


def names(dialect: str, migration: str = "") -> list[str]:
    """The files with functions and triggers of a dialect: those that can be installed, now or at a migration."""
    stems = sorted(path.stem for path in (FOLDER / dialect).glob("*.sql") if path.stem != TABLES)
    return [name for name in stems if not migration or SINCE.get(name, "") <= migration]


def install(bind: Connection, *files: str) -> None:
    """Create the functions and triggers of the files, or replace them by what the files say now.

    A file that the dialect does not have is passed over: SQLite has no functions. On PostgreSQL the tables are locked
    against writers until the transaction ends. Raises ValueError for a file that no dialect has.
    """
    for file in files:
        if not any((FOLDER / dialect / f"{file}.sql").exists() for dialect in ("postgresql", "sqlite")):
            raise ValueError(f"no file {file}.sql in {FOLDER}")
        for statement in statements(bind.dialect.name, file):
            if match := bind.dialect.name == "sqlite" and _TRIGGER.match(statement):
                bind.exec_driver_sql(f"DROP TRIGGER IF EXISTS {match[1]}")
            _execute(bind, statement)


def create(bind: Connection, metadata: MetaData) -> None:
    """Make all tables, functions, triggers and first rows in an empty database, as a migrated one has them."""
    metadata.create_all(bind, checkfirst=False)
    for statement in statements(bind.dialect.name, TABLES):
        _execute(bind, statement)
    install(bind, *names(bind.dialect.name))
    first_rows.insert_rules(bind)
    first_rows.insert_replies(bind)


def statements(dialect: str, file: str) -> list[str]:
    """The statements of a file; PostgreSQL takes all at once. Empty if the dialect does not have the file."""
    path = FOLDER / dialect / f"{file}.sql"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [text] if dialect == "postgresql" else list(_split(text))


def _split(text: str) -> Iterator[str]:
    """The statements of SQLite, which takes one at a time, without the comments before each and the semicolon."""
    statement = ""
    for line in text.splitlines(keepends=True):
        if statement or (line.strip() and not line.startswith("--")):
            statement += line
        if statement and complete_statement(statement):
            yield statement.strip().removesuffix(";")
            statement = ""


def _execute(bind: Connection, statement: str) -> None:
    """Execute text of a file: psycopg would take a percent sign for a parameter."""
    bind.exec_driver_sql(statement.replace("%", "%%") if bind.dialect.name == "postgresql" else statement)
