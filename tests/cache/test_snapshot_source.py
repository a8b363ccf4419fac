"""The snapshot source gives each caller a snapshot that was read after it asked, and knows what changed since."""

from datetime import UTC, datetime, timedelta
from threading import Event, Lock, Thread
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import text

from directory.cache import snapshot_source
from directory.cache.snapshot_source import THREAD_TIMEOUT, SnapshotSource
from directory.db.snapshots import open_reader
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http.cache_policy import CacheTags
from directory.models import Project
from tests.conftest import Database
from tests.support.factories import World
from tests.support.waiting import until

NO_VOTES = CacheTags(())


@pytest.fixture
def source(app: Flask) -> Any:
    """A source of the application's database, in addition to the application's own."""
    with app.app_context():
        made = SnapshotSource(db.engine)
    yield made
    made.close()


def test_every_column_of_a_project_is_recorded_by_a_trigger(app: Flask, database: Database) -> None:
    if database.backend == "sqlite":
        assert_sqlite_knows_no_details(app)
        return
    query = text(
        "SELECT t.tgname, array_agg(a.attname) FROM pg_trigger t JOIN pg_attribute a "
        "ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr) WHERE t.tgname = 'projects_noted' GROUP BY 1"
    )
    with app.app_context():
        [(_, noted)] = db.session.execute(query).all()
        always = db.session.execute(text("SELECT tgname, tgenabled FROM pg_trigger WHERE tgname LIKE '%noted'")).all()
    assert {*noted, "upvotes", "hot", "listed_at", "repository_key", "domain", "text_key"} == {
        column.name for column in Project.__table__.columns
    }
    assert len(always) == 11
    assert {how for _, how in always} <= {"A", b"A"}


def assert_sqlite_knows_no_details(app: Flask) -> None:
    """SQLite says that there was a write, and so that anything may have changed."""
    with app.app_context():
        reader = open_reader(db.engine)
    assert reader.read(None, 1.0)[1] is None
    reader.close()


def test_a_write_that_no_answer_shows_affects_none(source: SnapshotSource, world: World, database: Database) -> None:
    owner = world.user()
    project = world.project(owner)
    before = source.snapshot()
    assert before is not None
    world.caller(owner)
    after = source.snapshot()
    assert after is not None
    assert after.number > before.number
    assert after.changes.is_unaffected(CacheTags((project,)), before.number) is (database.backend == "postgresql")


def test_when_the_day_ends_everything_counts_as_changed(
    source: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 11, 29, 23, 59, 59, 999_999, UTC)
    monkeypatch.setattr(snapshot_source, "now", lambda: at)
    before = source.snapshot()
    again = source.snapshot()
    at += timedelta(microseconds=1)
    after = source.snapshot()
    assert before is not None
    assert again is not None
    assert after is not None
    assert again.number == before.number
    assert not after.changes.is_unaffected(NO_VOTES, before.number)
    assert source.snapshot() == after


def test_after_a_closed_connection_everything_counts_as_changed(source: SnapshotSource, world: World) -> None:
    world.project()
    before = source.snapshot()
    source.close()
    after = source.snapshot()
    assert before is not None
    assert after is not None
    assert not after.changes.is_unaffected(NO_VOTES, before.number)


def test_after_a_lost_connection_the_next_call_opens_another(source: SnapshotSource) -> None:
    # Not compared by number: other transactions of the same server, its housekeeping included, make new snapshots.
    first = source.snapshot()
    assert first is not None
    assert source.snapshot() is not None
    assert first.changes.is_unaffected(NO_VOTES, first.number)
    source._reader.close()  # type: ignore[union-attr]
    assert source.snapshot() is None
    other = source.snapshot()
    assert other is not None
    assert other.number > first.number
    assert not other.changes.is_unaffected(NO_VOTES, first.number)
    source.close()
    source.close()


def test_the_event_loop_opens_no_connection(source: SnapshotSource) -> None:
    assert source.snapshot() is not None

    class Lock:
        """Was held until now by a thread that closed the connection."""

        def acquire(self, timeout: float) -> bool:
            source.close()
            return timeout < 1

        def release(self) -> None:
            pass

    with patch.object(source, "_lock", Lock()):
        assert source.snapshot(in_loop=True) is None
    assert source._reader is None
    assert source.snapshot() is not None


class CountedLock:
    """A lock that notes who asked for it."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._lock = Lock()

    def acquire(self, timeout: float) -> bool:
        self.asked.append(timeout)
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        self._lock.release()


def test_callers_that_wait_share_one_read(source: SnapshotSource, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, go, lock = [], Event(), CountedLock()
    monkeypatch.setattr(snapshot_source, "THREAD_TIMEOUT", 60.0)
    monkeypatch.setattr(source, "_lock", lock)

    class SlowReader:
        def read(self, _since: Any, _seconds: float) -> tuple[int, None]:
            reads.append(len(reads))
            go.wait(60)
            return len(reads), None

        def close(self) -> None:
            pass

    source._reader = SlowReader()  # type: ignore[assignment]
    snapshots: list[Any] = []

    first, *others = [Thread(target=lambda: snapshots.append(source.snapshot())) for _ in range(10)]
    first.start()
    until(lambda: reads)
    for thread in others:
        thread.start()
    until(lambda: len(lock.asked) == 10)
    go.set()
    for thread in (first, *others):
        thread.join()
    # The first read serves the caller that began it, and the second one all callers that came while the first ran.
    assert len(snapshots) == 10
    assert len(reads) == 2


def test_a_caller_gives_up_where_another_thread_reads_for_too_long(
    source: SnapshotSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_source, "THREAD_TIMEOUT", 0.05)
    answered, snapshots = Event(), []
    monkeypatch.setattr(source, "_read_snapshot", lambda _: ("snapshot", []) if answered.wait(20) else None)
    reading = Thread(target=lambda: snapshots.append(source.snapshot()))
    reading.start()
    until(source._lock.locked, 20)
    assert source.snapshot() is None
    answered.set()
    reading.join()
    assert snapshots == [source.snapshot()] == ["snapshot"]


@pytest.mark.parametrize("in_loop", [True, False])
def test_a_thread_shares_a_failed_read_only_if_that_had_as_much_time(
    source: SnapshotSource, caplog: pytest.LogCaptureFixture, in_loop: bool
) -> None:
    assert source.snapshot() is not None
    caplog.set_level("INFO", "directory.cache.snapshot_source")

    class Lock:
        """Was held until now by a caller whose read failed."""

        def acquire(self, timeout: float) -> bool:
            source._reader.close()  # type: ignore[union-attr]
            source._reads_begun += 1
            source.latest, _ = source._read_snapshot(in_loop)
            return timeout == THREAD_TIMEOUT

        def release(self) -> None:
            pass

    with patch.object(source, "_lock", Lock()):
        assert (source.snapshot() is not None) == in_loop
    assert [each.message for each in caplog.records] == ["snapshot not read"]


def test_the_table_of_changes_is_pruned_and_a_late_reader_learns_that_anything_may_have_changed(
    app: Flask, source: SnapshotSource, world: World, database: Database
) -> None:
    project = world.project()
    if database.backend == "sqlite":
        assert_sqlite_knows_no_details(app)
        return
    with app.app_context():
        first = source.snapshot()
        for _ in range(3):
            transaction(lambda: db.session.execute(text("UPDATE projects SET upvotes = upvotes + 1")))
        late, current = SnapshotSource(db.engine), source.snapshot()
        assert current is not None
        late._state, late.latest, late._number = source._state, current, current.number
        prune()
        rows = db.session.execute(text("SELECT project_id FROM changes")).all()
        learned = late.snapshot()
        late.close()
    assert first is not None
    assert learned is not None
    assert current.changes._last_votes == {project: current.number}
    assert rows == [(None,)]
    assert not learned.changes.is_unaffected(NO_VOTES, current.number)


def prune() -> None:
    """Record unknown changes, until one of them deletes the rows before it."""
    recording = text(
        "DO $$ BEGIN LOOP UPDATE categories SET name = name WHERE false; "
        "EXIT WHEN NOT EXISTS (SELECT 1 FROM changes WHERE project_id IS NOT NULL); END LOOP; END $$"
    )
    transaction(lambda: db.session.execute(recording))
