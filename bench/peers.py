"""Gives this service the rows of the peers' kit, so that both stand in one table, measured in one run.

    python -m bench.peers --source postgresql://peers:peers@127.0.0.1:5541/peers_100k --out /tmp/ours

makes the database `ours_peers_100k` next to the source, with the same ids and tokens, and writes what the kit's
`--target-config` wants. Then, with the service started on it:

    bench/bench.sh run --target ours=http://127.0.0.1:8000 --target-config ours=/tmp/ours/ours.json
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import flask_migrate
import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

import config
from directory import create_app
from directory.db.transactions import transaction
from directory.models import Status
from directory.services import bulk
from directory.services.catalog.fields import filled
from directory.services.data import wholesale

CHUNK = 5_000
COPIES = {
    "users (id, username, email, password_hash, role, status, created_at)": (
        "SELECT id, username, email, '!', CASE role WHEN 'admin' THEN 'admin' ELSE 'member' END, status, created_at "
        "FROM users ORDER BY id"
    ),
    "categories (id, slug, name, description, live_projects, pending_projects, rejected_projects)": (
        "SELECT id, slug, name, '', 0, 0, 0 FROM categories ORDER BY id"
    ),
    "upvotes (user_id, project_id, created_at)": "SELECT user_id, project_id, created_at FROM upvotes ORDER BY id",
}
# The votes that count are counted: the kit's own number may be another.
PROJECTS = """
    SELECT id, owner_id, category_id, title, tagline, description, url, repo_url, logo_url, status, rejection_reason,
        created_at, updated_at, published_at, (
            SELECT count(*) FROM upvotes v JOIN users u ON u.id = v.user_id
            WHERE v.project_id = p.id AND u.status = 'active'
        )
    FROM projects p ORDER BY id
"""


def token(user_id: int) -> str:
    """The kit's own bearer token of a user."""
    return "tok_" + hashlib.sha256(f"peer-kit-{user_id}".encode()).hexdigest()[:40]


def main() -> None:
    """Copy, and say what to run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    source = make_url(given.source)
    name = f"ours_{source.database}"
    with psycopg.connect(given.source, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    target = source.set(database=name)
    url = target.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    app = create_app(config.load({"DATABASE_URL": url, "LOG_LEVEL": "WARNING"}))
    with app.app_context():
        flask_migrate.upgrade()
        plain = target.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(given.source) as reader, psycopg.connect(plain) as writer:
            copy(reader, writer)
    given.out.mkdir(parents=True, exist_ok=True)
    # The kit looks into its own database for what a vote did; ours are checked against ours, by flask recount.
    kit = {"constant": True, "exact": False}
    (given.out / "ours.json").write_text(json.dumps(kit))
    print(f"DATABASE_URL={url}")


def copy(reader: Any, writer: Any) -> None:
    """All rows; the projects by the rules of an import, with their log, and triggers count the categories."""
    tables = list(COPIES.items())
    for into, rows in tables[:2]:
        pipe(reader, writer, into, rows)
    writer.commit()
    projects(reader)
    pipe(reader, writer, *tables[2])
    with writer.cursor() as cursor:
        with cursor.copy("COPY tokens (user_id, name, token_hash, created_at) FROM STDIN") as out:
            for (user_id,) in reader.execute("SELECT id FROM users WHERE id <= 1000").fetchall():
                digest = hashlib.sha256(token(user_id).encode()).hexdigest()
                out.write_row((user_id, "kit", digest, "2026-01-01T00:00:00Z"))
        for table in ("users", "categories", "projects"):
            cursor.execute(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
    writer.commit()
    writer.autocommit = True
    writer.execute("VACUUM ANALYZE")


def pipe(reader: Any, writer: Any, into: str, rows: str) -> None:
    """One table, as a stream."""
    with (
        reader.cursor().copy(f"COPY ({rows}) TO STDOUT") as out,
        writer.cursor().copy(f"COPY {into} FROM STDIN") as to,
    ):
        for data in out:
            to.write(data)


def projects(reader: Any) -> None:
    """The projects, each with its rank, its keys, its search entry and its log."""
    with reader.cursor("projects") as rows:
        rows.itersize = CHUNK
        rows.execute(PROJECTS)
        while chunk := rows.fetchmany(CHUNK):
            drafts = [draft(*row) for row in chunk]
            transaction(lambda drafts=drafts: write(drafts))


def write(drafts: list[wholesale.Draft]) -> None:
    """Write a chunk, which takes longer on a busy machine than a request's statement may."""
    bulk.begin()
    wholesale.write(drafts, decided_by=None)


def draft(*row: Any) -> wholesale.Draft:
    """A project of the kit, which was decided when it was published, or last changed."""
    number, owner, category, *texts, status, reason, created, updated, published, votes = row
    names = ("title", "tagline", "description", "url", "repository_url", "logo_url")
    return wholesale.Draft(
        id=number,
        owner_id=owner,
        category_id=category,
        fields=filled(dict(zip(names, texts, strict=True))),
        status=Status(status),
        submitted_at=created,
        decided_at=None if status == Status.PENDING else published or updated,
        upvotes=votes,
        rejection_reason=reason,
        updated_at=updated,
        published_at=published,
    )


if __name__ == "__main__":
    main()
