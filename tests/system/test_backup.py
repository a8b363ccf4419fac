"""A back-up is made and restored by the very commands of the pages, and nothing is missing afterwards."""

import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from flask import Flask
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from directory.cli import backup
from directory.extensions import db
from tests.conftest import Database, build, migrate
from tests.support import servers
from tests.support.caching import close_snapshots
from tests.support.factories import Api, World
from tests.support.processes import Named
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
DEPLOY, OPERATIONS = ((ROOT / "docs" / name).read_text() for name in ("deploy.md", "operations.md"))


FLASK = f"{shlex.quote(sys.executable)} -m flask --app {shlex.quote(str(ROOT / 'wsgi.py'))}"


def section(page: str, title: str) -> str:
    """What stands under a heading of a page."""
    level = 3 if f"\n### {title}\n" in page else 2
    rest = page.partition(f"\n{'#' * level} {title}\n")[2]
    return re.split(rf"\n#{{2,{level}}} ", rest)[0]


def blocks(part: str) -> list[str]:
    """What is to be typed."""
    return [dedent(block) for block in re.findall(r"^ *```sh\n(.*?)^ *```", part, re.M | re.S)]


def replaced(script: str, *there_and_here: tuple[str, str]) -> str:
    """The commands with what stands for something replaced by it. Each of those must be there."""
    for there, here in there_and_here:
        assert there in script
        script = script.replace(there, here)
    return script


def run(script: str, cwd: Path, **environment: str) -> str:
    """What the commands say. All of them must succeed."""
    settings = {
        **os.environ,
        "SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e",
        "APP_ENV": "testing",
        **environment,
    }
    command = ["bash", "-euo", "pipefail", "-c", script]
    ran = subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@contextmanager
def world_of(url: str) -> Iterator[World]:
    """Makes rows in a database, and lets go of it."""
    app = build(url)
    try:
        yield World(app)
    finally:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
        close_snapshots(app)


def fill(url: str) -> None:
    """Some of everything that a back-up has to bring back."""
    with world_of(url) as world:
        owner = world.user()
        project = world.project(owner, votes=3, title="Observatory", tags=["stars"])
        world.revise(project, owner, title="Planetarium")
        world.vote(project, shill := world.user())
        world.discount(project, shill)
        world.project(status="rejected")
        world.caller(world.user("ada"))


def everything(url: str) -> dict[str, list[str]]:
    """The rows of every table, and what the database does by itself: its triggers and indexes."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            own = {
                "sqlite": "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL",
                "postgresql": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' UNION ALL"
                " SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal UNION ALL"
                " SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace",
            }[engine.dialect.name]
            listed = {
                "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
                "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
            }[engine.dialect.name]
            names = list(connection.scalars(text(listed)))
            held = {name: sorted(map(str, connection.execute(text(f'SELECT * FROM "{name}"')))) for name in names}
            return {**held, "": sorted(connection.scalars(text(own)))}
    finally:
        engine.dispose()


def lose(url: str) -> None:
    """What happens between the back-up and the day when it is needed."""
    with world_of(url) as world:
        world.project(title="Later")


def in_use(url: str) -> None:
    """Search, votes and new rows work: the triggers and the counts of ids are there."""
    with world_of(url) as world:
        found = Api(world.app).get("/api/projects?q=observatory").json
        assert [item["title"] for item in found["items"]] == ["Observatory"]
        world.vote(1, world.user())
        assert world.stored(1)["upvotes"] == 4
        assert world.project(title="After") > 2


# The pages' own commands run as they stand, by the user of the tests; so does `directory`, the function of the page.
HERE = f"""
sudo() {{ [ "$1" != -u ] || shift 2; "$@"; }}
directory() {{ {FLASK} "$@"; }}
"""
BACKUPS, CURRENT, SETTINGS = "/var/backups/directory", "/opt/directory/current", "ENV_FILE=/etc/directory/environment"


def scheduled(user: str) -> str:
    """The line of the schedule for the database of that user, as cron passes it to sh."""
    [line] = re.findall(rf"^17 \* \* \* \*  {user}  (.*)$", section(OPERATIONS, "Schedule"), re.M)
    return str(line).replace(r"\%", "%")


def old_file(folder: Path, suffix: str) -> Path:
    """A back-up that is kept no longer."""
    file = folder / f"2026-01-01T0017{suffix}"
    file.touch()
    os.utime(file, (0, 0))
    return file


def test_sqlite_is_backed_up_by_the_schedule_drilled_and_restored_as_the_page_says(tmp_path: Path) -> None:
    live, kept = tmp_path / "instance" / "directory.db", tmp_path / "kept"
    live.parent.mkdir()
    kept.mkdir()
    old = old_file(kept, ".db")
    url = f"sqlite:///{live}"
    migrate(url)
    fill(url)
    with closing(sqlite3.connect(live)) as reader:
        reader.execute("SELECT count(*) FROM projects").fetchone()  # keeps what is written next out of the file
        with world_of(url) as world:
            world.project(status="pending")
        before = everything(url)
        assert live.with_name("directory.db-wal").stat().st_size > 0
        line = replaced(scheduled("directory"), (f"{SETTINGS} .venv/bin/flask", FLASK), (BACKUPS, str(kept)))
        run(replaced(line, (CURRENT, str(ROOT))), tmp_path, DATABASE_URL=url)
        lose(url)
    [copy] = kept.iterdir()
    assert (old.exists(), copy.stat().st_mode & 0o777) == (False, 0o600)
    assert everything(url) != before

    [script] = blocks(section(OPERATIONS, "Restore drill"))[:1]
    here = ((f"{CURRENT} {SETTINGS}", str(ROOT)), (BACKUPS, str(kept)), ("-o directory -g directory ", ""))
    script = replaced(script, *here, ("/var/lib/directory", str(tmp_path)), (".venv/bin/flask", FLASK))
    said = run(HERE + script, tmp_path, DATABASE_URL=url)
    assert re.findall(r"Counted (\d) projects and .*: all is right", said) == ["3", "4"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["instance", "kept"]

    [restore] = [block for block in blocks(section(OPERATIONS, "Back-ups")) if "backup.db /var/lib" in block]
    stop, restore = restore.split("\n", 1)
    assert stop == "sudo systemctl stop directory directory-deliverer"
    files = (("-o directory -g directory ", ""), ("backup.db", str(copy)), ("/var/lib/directory/", f"{live.parent}/"))
    live.with_name("directory.db-wal").write_bytes(b"of the file before")
    assert "all is right" in run(HERE + replaced(restore, *files), ROOT, DATABASE_URL=url)
    assert live.stat().st_mode & 0o777 == 0o600
    assert everything(url) == before
    in_use(url)


@pytest.fixture
def server() -> Iterator[Named]:
    """A PostgreSQL of the test's own, with the names of the page on it."""
    with servers.or_skip():
        made = servers.postgresql()
    with made:
        yield made


@pytest.mark.postgresql
def test_postgresql_is_backed_up_drilled_and_restored_as_the_page_says(server: Named, tmp_path: Path) -> None:
    dump, restore, commands = blocks(section(DEPLOY, "Back-up and restore"))
    [install, *_] = blocks(section(DEPLOY, "1. PostgreSQL and Redis"))
    make = "\n".join(re.findall(r".* create(?:user|db) .*", install))
    admin = make_url(server.url)
    programs = servers._postgres_programs(os.environ.get("TEST_POSTGRES", ""))
    url = admin.set(username="directory", database="directory").render_as_string()
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PGHOST": str(admin.host),
        "PGPORT": str(admin.port),
        "PGUSER": str(admin.username),
        "DATABASE_URL": url,
    }
    run(HERE + replaced(make, ("--pwprompt ", "")), tmp_path, **environment)
    migrate(url)
    fill(url)
    before = everything(url)
    run(HERE + dump, tmp_path, **environment)
    kept = tmp_path / "kept"
    kept.mkdir()
    old = old_file(kept, ".dump")
    line = replaced(scheduled("postgres"), (BACKUPS, str(kept)))
    with pytest.raises(AssertionError, match="pg_dump: error"):
        run(line, tmp_path, **{**environment, "PGUSER": "nobody"})
    assert [path.name for path in kept.glob("*.dump")] == [old.name]
    run(line, tmp_path, **environment)
    [copy] = kept.iterdir()
    assert (old.exists(), copy.stat().st_mode & 0o777) == (False, 0o600)
    lose(url)
    assert everything(url) != before

    made, compared = blocks(section(OPERATIONS, "Restore drill"))[1:]
    run(HERE + replaced(made, (BACKUPS, str(kept))), tmp_path, **environment)
    drill = admin.set(username="directory", database="directory_drill").render_as_string()
    settings = (f"{CURRENT} ENV_FILE=/etc/directory/drill .venv", f"{ROOT} DATABASE_URL={shlex.quote(drill)} .venv")
    done = ("sudo rm /etc/directory/drill", "true")
    said = run(HERE + replaced(compared, settings, done, (".venv/bin/flask", FLASK)), tmp_path, **environment)
    assert re.findall(r"Counted (\d) projects and .*: all is right", said) == ["2", "3"]
    run("dropdb directory_drill", tmp_path, **environment)

    script = replaced(restore, ("directory.dump", shlex.quote(str(tmp_path / "directory.dump"))))
    with psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string()) as held:
        run(HERE + script, ROOT, **environment)
        with pytest.raises(psycopg.OperationalError):  # as of a pooler, which holds connections while nobody uses them
            held.execute("SELECT 1")
    assert "all is right" in run(HERE + commands, ROOT, **environment)
    assert everything(url) == before
    in_use(url)


def lasting(url: str) -> dict[str, list[str]]:
    """Everything but what PostgreSQL itself empties after a crash."""
    return {name: rows for name, rows in everything(url).items() if name != "changes"}


@pytest.mark.postgresql
def test_postgresql_is_restored_as_it_was_at_any_time_as_the_page_says(server: Named, tmp_path: Path) -> None:
    """Continuous archiving: to a time before a mistake and then, in spite of that, to the last change archived."""
    assert isinstance(server, servers.Server)
    part = section(OPERATIONS, "Continuous archiving")
    assert "add the line\n`recovery_target_timeline = 'current'` as well" in part
    configure, watch, restore, aim, finish = blocks(part)
    [line] = re.findall(r"^47 3 \* \* \*  postgres  (.*)$", part, re.M)
    admin = make_url(server.url)
    url = admin.set(database="directory").render_as_string()
    environment = {
        "PATH": f"{servers._postgres_programs(os.environ.get('TEST_POSTGRES', ''))}:{os.environ['PATH']}",
        "PGHOST": str(admin.host),
        "PGPORT": str(admin.port),
        "PGUSER": str(admin.username),
    }
    folder = Path(run("psql -Atc 'SHOW data_directory'", tmp_path, **environment).strip())
    archive = folder.with_name("archive")
    owner = f"chown -R --reference={folder}"
    place = ("/mnt/archive", str(archive))

    run("createdb --encoding UTF8 --template template0 directory", tmp_path, **environment)
    migrate(url)
    fill(url)
    configure, restart = replaced(configure, place, ("-o postgres ", "")).split("sudo systemctl ")
    assert restart == "restart postgresql\n"
    run(f"{HERE}{configure}{owner} {archive}", tmp_path, **environment)
    server.stop()
    server.start()
    old = archive / "base" / "2026-01-01T0347"
    old.mkdir()
    os.utime(old, (0, 0))
    expired = old_file(archive / "wal", ".gz")
    run(replaced(line, place).replace(r"\%", "%"), tmp_path, **environment)
    [base] = archive.glob("base/*")
    assert (base.stat().st_mode & 0o777, base.name, expired.exists()) == (0o700, base.name[:15], False)

    before = lasting(url)
    moment = run("psql -Atc 'SELECT clock_timestamp()'", tmp_path, **environment).strip()
    run("psql -qc 'DELETE FROM projects WHERE id = 1' directory", tmp_path, **environment)
    after = lasting(url)
    assert before != after
    last = run("psql -Atc 'SELECT pg_walfile_name(pg_switch_wal())'", tmp_path, **environment).strip()
    until(lambda: (archive / "wal" / f"{last}.gz").exists())
    assert last in run(HERE + replaced(watch, ("last_failed_wal", "last_archived_wal")), tmp_path, **environment)
    aim = replaced(aim, ("2026-11-26 03:12:44+00", moment))
    finish = replaced(finish, ("sudo systemctl start postgresql\n", ""))
    here = (
        ("/var/lib/postgresql/15/main", str(folder)),
        ("sudo systemctl stop postgresql\n", ""),
        ("-o postgres ", ""),
    )
    again = aim.replace(f"_time = '{moment}'", "_timeline = 'current'")
    for script, expected in ((restore + aim, before), (restore + again, after)):
        server.kill()
        run(f"{HERE}{replaced(script, place, *here)}{owner}.before $data", tmp_path, **environment)
        server.start()
        run(HERE + finish, tmp_path, **environment)
        assert lasting(url) == expected
        shutil.rmtree(folder.with_name(f"{folder.name}.before"))


def back_up(app: Flask, file: Path) -> Any:
    return app.test_cli_runner().invoke(args=["backup", str(file)])


def test_a_back_up_is_one_complete_private_file(app: Flask, world: World, database: Database, tmp_path: Path) -> None:
    project, file = world.project(votes=2), tmp_path / "backup.db"
    result = back_up(app, file)
    if database.backend == "postgresql":
        assert (result.exit_code, result.output) == (1, "Error: The database is PostgreSQL: use pg_dump -Fc.\n")
        assert list(tmp_path.iterdir()) == []
        return
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Wrote {file}, ")
    assert list(tmp_path.iterdir()) == [file]
    assert file.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(file)) as copy:
        assert copy.execute("SELECT upvotes FROM projects WHERE id = ?", [project]).fetchone() == (2,)


on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


@on_sqlite
def test_a_file_that_exists_is_not_overwritten(app: Flask, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    file.write_text("precious")
    result = back_up(app, file)
    assert (result.exit_code, result.output) == (1, f"Error: {file} exists already.\n")
    assert (file.read_text(), list(tmp_path.iterdir())) == ("precious", [file])


@on_sqlite
def test_a_damaged_copy_gets_no_name(app: Flask, world: World, database: Any, tmp_path: Path) -> None:
    world.project()
    with closing(sqlite3.connect(database.path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'ix_upvotes_created_at'")
        connection.commit()
    result = back_up(app, tmp_path / "backup.db")
    assert result.exit_code == 1
    assert "damaged" in result.output or "malformed" in result.output
    assert list(tmp_path.iterdir()) == []


@on_sqlite
def test_where_no_copy_can_be_made_that_is_one_line(app: Flask, database: Any, tmp_path: Path) -> None:
    result = back_up(app, tmp_path / "missing" / "backup.db")
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    database.path.unlink()
    result = back_up(app, tmp_path / "backup.db")
    assert (result.exit_code, result.output) == (1, f"Error: There is no database {database.path}.\n")


@on_sqlite
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["while it copies", "while it checks"])
def test_a_signal_that_ends_a_back_up_leaves_no_file(
    app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, when: str
) -> None:
    class Signalled(sqlite3.Connection):
        def backup(self, target: Any, **options: Any) -> None:
            if when == "while it copies":
                os.kill(os.getpid(), number)
            super().backup(target, **options)

        def execute(self, statement: str, *_: Any) -> Any:
            if "integrity_check" in statement:
                os.kill(os.getpid(), number)
            return super().execute(statement)

    connect = sqlite3.connect
    monkeypatch.setattr(backup, "STEPS_AT_ONCE", 1)
    inherited = signal.signal(number, signal.SIG_DFL)  # the suite may run under nohup
    try:
        with patch.object(sqlite3, "connect", lambda name: connect(name, factory=Signalled)):
            assert back_up(app, tmp_path / "backup.db").exit_code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, inherited)
    assert list(tmp_path.iterdir()) == []


@on_sqlite
def test_a_write_during_a_back_up_neither_waits_nor_restarts_it(app: Flask, world: World, tmp_path: Path) -> None:
    """The copy has the state of its start, though a write comes between any two portions of it."""
    for _ in range(3):
        world.project()
    written: list[int] = []

    class Source(sqlite3.Connection):
        def backup(self, target: Any, **options: Any) -> None:
            options.pop("pages")

            def between(*_: int) -> None:
                if len(written) < 3:
                    written.append(world.project())

            super().backup(target, pages=1, progress=between)

    connect = sqlite3.connect
    with patch.object(sqlite3, "connect", lambda name: connect(name, factory=Source)):
        assert back_up(app, tmp_path / "backup.db").exit_code == 0
    with closing(connect(tmp_path / "backup.db")) as copy:
        assert copy.execute("SELECT count(*) FROM projects").fetchone() == (3,)
    assert len(written) == 3
