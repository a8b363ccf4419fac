"""The site that is audited: the service as `make run` serves it, with the demo, and callers who are signed in."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

import config
from directory import create_app
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category, Project, Role, Status, User
from directory.services.accounts import sessions
from tests.support.processes import free_port
from tests.support.serving import serving

VISITOR, MEMBER, ADMIN = "visitor", "member", "administrator"


@dataclass(frozen=True, slots=True)
class Page:
    """A page to audit. `caller` opens it; `indexed` says whether search engines may list it."""

    path: str
    caller: str = VISITOR
    kind: str = "public"
    indexed: bool = True


@dataclass(frozen=True, slots=True)
class Site:
    """A running service: its address and process, its pages, and the cookie of each caller, "" of a visitor."""

    address: str
    pid: int
    pages: list[Page]
    cookies: dict[str, str]


@contextmanager
def site(folder: Path, projects: Path | None) -> Iterator[Site]:
    """Serve a fresh database with the demo, and with the projects of a file if there is one, while the block runs."""
    port = str(free_port())
    environment = {
        "PORT": port,
        "SITE_URL": f"http://127.0.0.1:{port}",  # a canonical address that is relative fails an audit
        "DATABASE_URL": f"sqlite:///{folder}/directory.db",
        "SECRET_KEY": "audits" * 8,
        "RATELIMIT_ENABLED": "false",  # all pages are opened from one address
        "FLASK_SKIP_DOTENV": "1",
    }
    os.environ |= environment
    commands = [("db", "upgrade"), ("seed",)]
    if projects:
        commands.append(("import", "--create-categories", "--status", "live", str(projects.resolve())))
    for command in commands:
        subprocess.run([sys.executable, "-m", "flask", *command], check=True, capture_output=True)
    pages, cookies = _prepare()
    with serving(environment, folder / "server.log") as server:
        yield Site(f"http://127.0.0.1:{server.port}", server.process.pid, pages, cookies)


def _prepare() -> tuple[list[Page], dict[str, str]]:
    """The pages with their ids in the demo, and sessions for its callers."""
    app = create_app(config.load())
    with app.app_context():
        admin = db.session.scalars(select(User).where(User.role == Role.ADMIN)).one()
        live = select(Project).where(Project.status == Status.LIVE)
        owners = live.with_only_columns(Project.owner_id)
        pending = _first(select(Project).where(Project.status == Status.PENDING, Project.owner_id.in_(owners)))
        live = _first(live.where(Project.owner_id == pending.owner_id))
        name = app.config["COOKIE_NAME"]
        cookies = {VISITOR: ""}
        for caller, user_id in ((MEMBER, pending.owner_id), (ADMIN, admin.id)):
            secret = transaction(lambda user_id=user_id: sessions.begin(user_id, user_agent="Lighthouse"))
            cookies[caller] = f"{name}={secret}"
        owner = db.session.get_one(User, live.owner_id).username
        category = db.session.get_one(Category, live.category_id).slug
        return _pages(live, pending, owner, category), cookies


def _first(query):
    return db.session.scalars(query.order_by(Project.id).limit(1)).one()


def _pages(live: Project, pending: Project, owner: str, category: str) -> list[Page]:
    shown = [
        Page("/"),
        Page("/?q=data", indexed=False),
        Page(f"/p/{live.id}/{live.slug}"),
        Page(f"/users/{owner}"),
        Page(f"/categories/{category}"),
        Page(f"/tags/{live.tags[0]}"),
        Page("/best"),
        Page("/sign-in", indexed=False),
        Page("/", MEMBER),
    ]
    own = [
        Page("/submit", MEMBER, "member"),
        Page(f"/mine/{pending.id}/edit", MEMBER, "member", indexed=False),
        Page("/mine", MEMBER, "member", indexed=False),
        Page("/account", MEMBER, "member", indexed=False),
    ]
    console = ("", "/queue", f"/queue/{pending.id}", "/projects", "/users", f"/users/{live.owner_id}")
    console += ("/categories", "/deliveries", "/audit")
    return shown + own + [Page(f"/admin{path}", ADMIN, "console", indexed=False) for path in console]
