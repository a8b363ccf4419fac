"""flask copy: what it refuses in one line, and what it finds that is not the same; nothing is kept then."""

import gc
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import DataError, OperationalError

from directory.db.transactions import writing
from directory.extensions import db
from directory.services import bulk, health
from directory.services.catalog import categories
from directory.services.data import copying, seeding
from tests.conftest import Database, build
from tests.support.copies import change, emptied, held, nothing, run, target
from tests.support.factories import World

__all__ = ["emptied", "run", "target"]


def refused(result: Any) -> str:
    """The one line that says why."""
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return str(result.stderr)


def test_a_database_with_anything_in_it_is_not_filled(app: Flask, target: Flask, world: World, run: Any) -> None:
    world.project()
    World(target).category("odd")
    assert refused(run()) == "Error: The database to fill is not empty; it has categories.\n"
    assert [len(held(target)[name]) for name in ("categories", "users", "projects")] == [1, 0, 0]


@pytest.mark.parametrize("side", ["copy", "fill"])
def test_a_database_of_another_version_is_neither_copied_nor_filled(
    app: Flask, target: Flask, run: Any, side: str
) -> None:
    other = app if side == "copy" else target
    for revision, said in (("0001", "at migration 0001"), ("9999", "at migration 9999")):
        change(other, "UPDATE alembic_version SET version_num = :to", to=revision)
        said = f"The database to {side} is {said}: set DATABASE_URL to it and run `flask db upgrade`"
        assert said in refused(run())
    change(other, "UPDATE alembic_version SET version_num = :to", to=health.heads()[0])


def test_a_file_is_looked_for_where_the_service_would_look(app: Flask, target: Flask, run: Any, tmp_path: Path) -> None:
    target.instance_path = str(tmp_path)
    assert refused(run("sqlite:///old.db")) == f"Error: There is no file {tmp_path / 'old.db'}.\n"
    (tmp_path / "old.db").touch()
    assert "The database to copy is not migrated: " in refused(run("sqlite:///old.db"))


def test_a_file_that_is_no_database_is_said_to_be_none(app: Flask, run: Any, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is no database." * 100)
    assert "file is not a database" in refused(run(f"sqlite:///{tmp_path / 'text.db'}"))


def test_a_database_without_tables_is_not_copied(run: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert "The database to copy is not migrated: " in refused(run(f"sqlite:///{tmp_path / 'empty.db'}"))


def test_a_file_that_is_not_there_is_said_and_not_made(run: Any, tmp_path: Path) -> None:
    assert refused(run(f"sqlite:///{tmp_path / 'nope.db'}")) == f"Error: There is no file {tmp_path / 'nope.db'}.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_said(run: Any) -> None:
    assert "The database does not answer: " in refused(run("postgres://nobody@127.0.0.1:1/nowhere"))


@pytest.mark.parametrize("url", ["mysql://ada:geheim@host/name", "geheim", "", "sqlite://ada:geheim@[x"])
def test_what_is_no_database_is_refused_without_repeating_a_password(run: Any, url: str) -> None:
    result = run(url)
    assert result.exit_code == 2
    assert "is neither sqlite:////path/to/file nor postgresql+psycopg://" in result.stderr
    assert "geheim" not in result.output


def test_a_counter_that_was_wrong_already_is_found(app: Flask, target: Flask, world: World, run: Any) -> None:
    world.project(votes=1)
    change(app, "UPDATE projects SET upvotes = 7")
    result = run()
    assert result.exit_code == 1
    assert "project 1: upvotes 7 instead of 1\nRecounted 1 project and 1 vote: 1 fault.\n" in result.stdout
    assert "nothing was committed" in result.stderr
    assert nothing(target)


def test_what_was_written_meanwhile_is_missed(
    target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.project()
    copy = copying.copy

    def slow(source: Any, each: Any, advance: Any) -> Any:
        if each.name == "projects":
            world.user("late")  # of a service that was not stopped; the users went over before
        return copy(source, each, advance)

    monkeypatch.setattr(copying, "copy", slow)
    result = run()
    assert result.exit_code == 1
    assert ["users", "2", "1", "DIFFERENT"] in [line.split() for line in result.stdout.splitlines()]
    assert nothing(target)


def test_a_value_that_changed_on_the_way_is_found(
    target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.project(title="Right")
    load = bulk.load

    def careless(each: Any, names: Any, rows: Any) -> None:
        wrong = {"Right": "Wrong"} if each.name == "projects" else {}
        load(each, names, [tuple(wrong.get(v, v) if isinstance(v, str) else v for v in row) for row in rows])

    monkeypatch.setattr(bulk, "load", careless)
    result = run()
    assert result.exit_code == 1
    assert ["projects", "1", "1", "DIFFERENT"] in [line.split() for line in result.stdout.splitlines()]
    assert nothing(target)


def test_what_is_cut_off_leaves_nothing_and_can_be_begun_again(
    target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.project(votes=2)
    number_on = copying.number_on
    monkeypatch.setattr(copying, "number_on", lambda source: (number_on(source), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        run()
    assert nothing(target)
    monkeypatch.undo()
    assert run().exit_code == 0
    assert World(target).user().id == 4


def test_what_the_one_database_takes_and_the_other_does_not_is_said(
    app: Flask, target: Flask, database: Database, emptied: Database, world: World, run: Any
) -> None:
    world.user("ada")
    if database.backend == "postgresql":  # which is the stricter one, so it has nothing that is refused
        with pytest.raises(DataError):
            change(app, "UPDATE users SET username = :long", long="a" * 40)
        return
    change(app, "UPDATE users SET username = :long", long="a" * 40)
    result = run()
    if emptied.backend == "postgresql":
        assert refused(result) == "Error: users: value too long for type character varying(32)\n"
        assert nothing(target)
    else:
        assert result.exit_code == 0


def test_a_row_that_the_target_refuses_ends_the_reading_too(
    target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor of PostgreSQL that is left open warns, and a warning fails the suite."""
    world.user("ada"), world.user("grace")
    monkeypatch.setattr(copying, "READ_AT_ONCE", 1)
    load = bulk.load

    def twice(each: Any, names: Any, rows: Any) -> None:
        load(each, names, [*rows, *rows] if each.name == "users" else rows)

    monkeypatch.setattr(bulk, "load", twice)
    assert refused(run()).startswith("Error: users: ")
    gc.collect()
    assert nothing(target)


def test_nobody_else_writes_to_the_target_meanwhile(target: Flask, emptied: Database) -> None:
    service = build(emptied.url)
    with target.app_context(), writing():
        copying.begin()
        with service.app_context(), pytest.raises(OperationalError, match="lock"), writing(wait=False):
            categories.add({"slug": "tools", "name": "Tools"}, by=None)
        with service.app_context():
            assert seeding.is_empty()
            db.session.rollback()
            db.engine.dispose()


def test_a_database_that_goes_away_meanwhile_is_said(
    target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        raise OperationalError("COPY", None, Exception("the connection is lost"), connection_invalidated=True)

    world.user()
    monkeypatch.setattr(bulk, "load", gone)
    assert refused(run()) == "Error: The database does not answer: the connection is lost\n"
    assert nothing(target)
