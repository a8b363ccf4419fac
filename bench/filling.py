"""The subjects of requests to a directory: credentials, words and cursors, added or collected before a run."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from sqlalchemy import create_engine, select, text
from sqlalchemy.engine import make_url

import config
from bench.load import Subjects
from directory import create_app
from directory.db.paging import Position
from directory.extensions import db
from directory.http import pagination as cursors
from directory.http.exchange import anonymous
from directory.models import Project
from directory.services.accounts.sessions import digest
from directory.services.catalog import search_index

ROOT = Path(__file__).parent.parent
MEMBERS, CROWD = 999, 20_000
TOKENS = (
    "tokens WHERE name = :name",
    "tokens (user_id, name, token_hash, created_at, last_used_at) VALUES (:u, :name, :h, :at, :at)",
)
SESSIONS = (
    "sessions WHERE user_agent = :name",
    "sessions (user_id, user_agent, token_hash, created_at, last_seen_at) VALUES (:u, :name, :h, :at, :at)",
)
AGING = (
    "UPDATE tokens SET last_used_at = :at WHERE name IN ('bench', 'crowd')",
    "UPDATE sessions SET last_seen_at = :at WHERE user_agent IN ('bench', 'crowd')",
)


def prepare(url: str, environment: dict[str, str]) -> Subjects:
    """Tokens and sessions for the first thousand users, one of them an administrator, and what there is to ask for.

    The last CROWD users have others.
    """
    engine = create_engine(url)
    with engine.begin() as connection:
        ids = list(connection.scalars(text("SELECT id FROM users ORDER BY id LIMIT :n"), {"n": MEMBERS + 1}))
        connection.execute(text("UPDATE users SET role = 'admin' WHERE id = :id"), {"id": ids[0]})
        crowd = list(connection.scalars(text("SELECT id FROM users ORDER BY id DESC LIMIT :n"), {"n": CROWD}))
        for name, users in (("bench", ids), ("crowd", crowd)):
            rows = [{"u": user, "name": name, "h": digest(f"{name}-{user}"), "at": stamp()} for user in users]
            for credentials in (TOKENS, SESSIONS):
                # Those of an earlier run over the same database go.
                connection.execute(text(f"DELETE FROM {credentials[0]}"), {"name": name})
                connection.execute(text(f"INSERT INTO {credentials[1]}"), rows)
        live = list(connection.scalars(text("SELECT id FROM projects WHERE status = 'live' ORDER BY id DESC")))
        slugs = list(connection.scalars(text("SELECT slug FROM categories ORDER BY id")))
    engine.dispose()
    on_postgresql(url, "VACUUM ANALYZE", "CHECKPOINT")
    words, cursors = rare(environment, live), anywhere(environment, live)
    secrets = [f"bench-{user}" for user in ids]
    name = create_app(config.load(environment)).config["COOKIE_NAME"]
    cookies = [f"{name}={secret}" for secret in secrets[1:]]
    many = [f"crowd-{user}" for user in crowd]
    return Subjects(
        live, slugs, secrets[1:], cookies, secrets[0], cursors, words, many, [f"{name}={secret}" for secret in many]
    )


def age(url: str, ago: timedelta) -> None:
    """Have the tokens and sessions of `prepare` be used for the last time so long ago."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for update in AGING:
            connection.execute(text(update), {"at": stamp(ago)})
    engine.dispose()
    on_postgresql(url, "VACUUM tokens", "VACUUM sessions")


def stamp(ago: timedelta = timedelta()) -> str:
    """A time as both databases take it."""
    return f"{datetime.now(UTC) - ago:%Y-%m-%d %H:%M:%S.%f}"


def on_postgresql(url: str, *statements: str) -> None:
    """Run statements outside of a transaction; on SQLite nothing."""
    if make_url(url).get_backend_name() == "postgresql":
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


def rare(environment: dict[str, str], live: list[int]) -> list[str]:
    """Words of one project each: they are made its title, and indexed."""
    chosen = {f"zyx{n}w": project for n, project in enumerate(live[:: max(1, len(live) // 50)])}
    app = create_app(config.load(environment))
    with app.app_context():
        for word, project in chosen.items():
            found = db.session.get_one(Project, project)
            found.title = word
            search_index.index([found])
        db.session.commit()
        db.engine.dispose()
    return list(chosen)


def anywhere(environment: dict[str, str], live: list[int]) -> list[str]:
    """Cursors from the list's beginning to its end, as the service signs them."""
    app = create_app(config.load(environment))
    with app.app_context():
        anonymous("/api/projects")
        listed = {"status": "live", "sort": "newest"}
        cursors.window({"limit": 20}, listed)
        rows = db.session.execute(
            select(Project.listed_at, Project.id).where(Project.id.in_(live[:: max(1, len(live) // 200)])),
        )
        signed = [str(cursors._encode(Position((at, number), forward=True))) for at, number in rows]
        db.session.remove()
        db.engine.dispose()
    return signed


def flask(environment: dict[str, str], *command: str) -> None:
    """A flask command; what it prints is shown where it fails."""
    quiet = {**environment, "LOG_LEVEL": "WARNING"}
    done = subprocess.run(
        [sys.executable, "-m", "flask", *command], env=quiet, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"flask {' '.join(command)}: {done.stdout}{done.stderr}")
