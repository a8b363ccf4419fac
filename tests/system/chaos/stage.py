"""Where a scenario plays: a migrated database, the service over it as it is shipped, its people, and a ledger."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy.engine import make_url

from directory.extensions import db
from directory.services.identity import Caller
from tests.conftest import ENVIRONMENT, build, migrate
from tests.support import pooler, replication, servers
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import World
from tests.support.ledger import Ledger, check
from tests.support.processes import Server
from tests.support.receiver import SECRET
from tests.support.replication import Pair
from tests.support.serving import Serving
from tests.system.chaos.load import Answer, call

# The outbox fills and nothing is delivered.
WEBHOOK = {"WEBHOOK_URL": "http://127.0.0.1:9/hook", "WEBHOOK_SECRET": SECRET, "WEBHOOK_WORKER": "false"}
MAKING = {"title": "A project", "tagline": "A thing that does things", "category": "tools"}


@dataclass
class Person:
    """An account and its token."""

    id: int
    token: str


@dataclass
class Stage:
    """All that a scenario acts on. `url` goes straight to the database, whatever the service goes through."""

    folder: Path
    url: str
    settings: dict[str, str]
    ledger: Ledger
    target: str = "wsgi:app"
    server: Server | None = None
    proxy: ChaosProxy | None = None
    pooler: Server | None = None
    pair: Pair | None = None
    service: Serving | None = None
    members: list[Person] = field(default_factory=list)
    admins: list[Person] = field(default_factory=list)
    projects: list[int] = field(default_factory=list)

    def ask(self, method: str, path: str, by: Person | None = None, body: Any = None) -> Answer:
        """One request to the service."""
        assert self.service is not None
        return call(self.service.port, method, path, by and by.token, body)

    def start(self) -> None:
        """Start the service, and return when it answers. Whoever calls meanwhile calls the one before it.

        Of very many callers at a port without a listener one may get that very port for its own end.
        """
        service = Serving(self.settings, self.folder / "service.log", self.target)
        try:
            service.wait_until_ready()
        except BaseException:
            service.stop()
            raise
        self.service = service

    def kill(self) -> None:
        """End the whole service as a power switch would: all its processes, by SIGKILL."""
        assert self.service is not None
        master = psutil.Process(self.service.process.pid)
        master.suspend()  # so that it starts no worker meanwhile
        family = [*master.children(recursive=True), master]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.service.process.wait()
        ended(family, 30)

    def stop(self) -> None:
        """Stop the service, where it runs, in good order."""
        if self.service is not None and self.service.process.poll() is None:
            psutil.wait_procs(self.service.stop(), 60)

    def settle(self, *, late: bool = False) -> None:
        """Compare the database with the ledger. AssertionError with what it has otherwise."""
        wrong = check(self.ledger.path, self.url, late=late)
        assert not wrong, f"{len(wrong)} wrong: {'; '.join(wrong[:3])}"


def ended(processes: list[psutil.Process], within: float) -> float:
    """Wait until none of these runs; for how many seconds. AssertionError where one still does.

    Who is dead and waits to be buried has ended: with an orphan it is process 1 that takes its time for that.
    """
    began = time.monotonic()
    while running := [process for process in processes if not _dead(process)]:
        assert time.monotonic() < began + within, f"still there after {within:.0f} s: {running}"
        time.sleep(0.01)
    return time.monotonic() - began


def _dead(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    return True


@contextmanager
def stage(
    kind: str,
    *,
    proxied: bool = False,
    pooled: bool = False,
    replicated: str = "",
    target: str = "wsgi:app",
    admins: int = 3,
    **settings: Any,
) -> Iterator[Stage]:
    """A stage on `sqlite`, or on a PostgreSQL of its own (behind a proxy, or behind a PgBouncer).

    With `replicated`, "synchronous" or "asynchronous", it has a standby. `target` is the application for gunicorn,
    `settings` its environment, where `{folder}` stands for the stage's own.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="directory-chaos-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ledger = Ledger(folder / "ledger")
        stack.callback(ledger.close)
        made = Stage(folder, f"sqlite:///{folder / 'test.db'}", {}, ledger, target)
        seen = _database(made, stack, kind, proxied=proxied, pooled=pooled, replicated=replicated)
        given = {name: str(value).replace("{folder}", str(folder)) for name, value in settings.items()}
        made.settings = {
            **ENVIRONMENT,
            **WEBHOOK,
            "LOG_LEVEL": "ERROR",
            "REVIEW_ON_EDIT": "never",
            "DATABASE_URL": seen,
            **given,
        }
        people(made, admins=admins)
        stack.callback(made.stop)
        made.start()
        projects(made)
        yield made


def _database(made: Stage, stack: ExitStack, kind: str, *, proxied: bool, pooled: bool, replicated: str) -> str:
    """Give the stage a migrated database; the address at which the service reaches it."""
    if replicated:
        made.pair = stack.enter_context(replication.pair(synchronous=replicated == "synchronous"))
        made.url = made.pair.primary.url
    elif kind == "postgresql":
        # A crash must lose nothing, as with PostgreSQL's defaults.
        made.server = stack.enter_context(servers.postgresql(synchronous_commit="on"))
        made.url = made.server.url
    migrate(made.url)
    if made.pair is not None:
        return made.pair.url
    if proxied:
        made.proxy = stack.enter_context(ChaosProxy(make_url(made.url).port or 0))
        return make_url(made.url).set(port=made.proxy.port).render_as_string(hide_password=False)
    if pooled:
        pooler.provide_settings(made.url)
        made.pooler = stack.enter_context(pooler.pgbouncer(made.url))
        return made.pooler.url
    return made.url


def people(made: Stage, members: int = 8, *, admins: int) -> None:
    """Accounts, each with a token."""
    app = build(made.url)
    world = World(app)
    world.category("tools")
    made.members = [_person(world, world.user()) for _ in range(members)]
    made.admins = [_person(world, world.admin()) for _ in range(admins)]
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


def _person(world: World, caller: Caller) -> Person:
    return Person(caller.id, world.caller(caller).token or "")


def submit(made: Stage, by: Person, name: str) -> int:
    """A project that waits for a decision."""
    answer = made.ask("POST", "/api/projects", by, {**MAKING, "url": f"https://example.org/{name}"})
    assert answer.status == 201, answer
    made.ledger.note("submit", 201, project=answer.json["id"])
    return int(answer.json["id"])


def live_project(made: Stage, by: Person, name: str) -> int:
    """A live project that belongs to no voter's choice."""
    project = submit(made, by, name)
    decided = made.ask("PUT", f"/api/admin/projects/{project}/approve", made.admins[0])
    made.ledger.note("approve", decided.status, project=project)
    assert decided.status == 200, decided
    return project


def projects(made: Stage, count: int = 6) -> None:
    """More live projects, made through the service and so with their notifications and lines in the ledger."""
    for number in range(len(made.projects), len(made.projects) + count):
        made.projects.append(live_project(made, made.members[number % len(made.members)], f"live/{number}"))
