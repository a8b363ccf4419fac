"""What a database has: tables, columns, indexes, constraints, triggers and functions, without the order of columns."""

import re
from typing import Any

from sqlalchemy import Connection, text

Schema = dict[str, set[tuple[Any, ...]]]

OF_POSTGRESQL = {
    "tables": "SELECT relname, relkind, relpersistence, reloptions FROM pg_class c WHERE relkind IN ('r', 'S')",
    "columns": (
        "SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attgenerated, attidentity, "
        "attcollation::regcollation::text, pg_get_expr(adbin, adrelid) "
        "FROM pg_attribute JOIN pg_class c ON c.oid = attrelid "
        "LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
        "WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped"
    ),
    "indexes": (
        "SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE true"
    ),
    "constraints": (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(o.oid), convalidated "
        "FROM pg_constraint o JOIN pg_class c ON c.oid = conrelid WHERE contype <> 't'"
    ),
    "triggers": (
        "SELECT pg_get_triggerdef(t.oid), tgenabled FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid "
        "WHERE NOT tgisinternal"
    ),
}
FUNCTIONS = "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
OURS = " AND c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE 'alembic_version%'"


def schema(connection: Connection) -> Schema:
    """The schema of a database of either kind, without Alembic's table."""
    if connection.dialect.name == "postgresql":
        return _of_postgresql(connection)
    return _of_sqlite(connection)


def _of_postgresql(connection: Connection) -> Schema:
    queries = {kind: f"{query}{OURS}" for kind, query in OF_POSTGRESQL.items()} | {"functions": FUNCTIONS}
    return {kind: {tuple(map(str, row)) for row in connection.execute(text(query))} for kind, query in queries.items()}


def _of_sqlite(connection: Connection) -> Schema:
    found: Schema = {kind: set() for kind in ("columns", "keys", "indexes", "checks", "triggers", "virtual")}
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").all()
    for kind, name, table, sql in rows:
        if name.startswith(("sqlite_", "alembic_version")) or table == "alembic_version":
            continue
        if kind == "trigger":
            found["triggers"].add((name, sql))
        elif kind == "index":
            found["indexes"].add((table, " ".join(sql.replace('"', "").split())))
        elif "VIRTUAL" in sql:
            found["virtual"].add((name, sql))
        elif not re.match("project_search(_brief)?_", name) or name == "project_search_removals":
            _add_table(connection, found, name, sql)
    return found


def _add_table(connection: Connection, found: Schema, table: str, sql: str) -> None:
    def pragma(what: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in connection.exec_driver_sql(f"PRAGMA {what}").all()]

    found["columns"] |= {(table, *row[1:]) for row in pragma(f"table_xinfo({table})")}
    found["columns"].add((table, "AUTOINCREMENT" in sql))
    found["keys"] |= {(table, *row[2:]) for row in pragma(f"foreign_key_list({table})")}
    for _, index, unique, origin, _ in pragma(f"index_list({table})"):
        if origin != "c":
            columns = tuple(row[2] for row in pragma(f"index_info({index})"))
            found["keys"].add((table, origin, unique, columns))
    checks = re.findall(r"CONSTRAINT (\w+) CHECK \((.*)\)", sql)
    generated = re.findall(r"GENERATED ALWAYS AS .*? STORED", sql)
    found["checks"] |= {(table, *each) for each in checks} | {(table, each) for each in generated}
