"""A row that is known to be locked is waited for by one caller, and tried by one in a second."""

from unittest.mock import patch

import pytest

from directory.db import locked_rows
from directory.db.locked_rows import PAUSE, REMEMBERED, WAITING, LockedRows
from directory.errors import Unavailable


@pytest.fixture
def rows() -> LockedRows:
    return LockedRows()


@pytest.fixture
def clock() -> object:
    with patch.object(locked_rows.time, "monotonic", return_value=100.0) as clock:
        yield clock


def find(rows: LockedRows, row: int) -> None:
    with rows.waiting(row):
        pass


def is_refused(rows: LockedRows, row: int) -> bool:
    try:
        rows.admit(row)
    except Unavailable:
        return True
    return False


def test_a_row_that_was_not_found_locked_is_free(rows: LockedRows) -> None:
    find(rows, 2)
    assert not is_refused(rows, 1)


def test_after_a_pause_one_caller_tries(rows: LockedRows, clock: object) -> None:
    find(rows, 1)
    assert is_refused(rows, 1)
    clock.return_value += PAUSE  # type: ignore[attr-defined]
    assert [is_refused(rows, 1) for _ in range(3)] == [False, True, True]
    rows.note_free(1)
    assert [is_refused(rows, 1) for _ in range(3)] == [False] * 3


def test_while_one_waits_the_next_are_refused_however_long_it_takes(rows: LockedRows, clock: object) -> None:
    with rows.waiting(1):
        clock.return_value += 10 * PAUSE  # type: ignore[attr-defined]
        assert is_refused(rows, 1)
        with pytest.raises(Unavailable), rows.waiting(1):
            pass
    assert is_refused(rows, 1)


def test_the_number_of_waiting_callers_is_bounded(rows: LockedRows) -> None:
    waiting = [rows.waiting(row) for row in range(WAITING)]
    for each in waiting:
        each.__enter__()
    with pytest.raises(Unavailable), rows.waiting(WAITING):
        pass
    waiting[0].__exit__(None, None, None)
    find(rows, WAITING)


def test_a_row_that_is_freed_between_two_checks_is_free(rows: LockedRows) -> None:
    find(rows, 1)

    class Freeing:
        def __enter__(self) -> None:
            rows._found.clear()

        def __exit__(self, *_: object) -> None:
            pass

    with patch.object(rows, "_lock", Freeing()):
        assert not is_refused(rows, 1)


def test_rows_of_long_ago_are_forgotten(rows: LockedRows, clock: object) -> None:
    for row in range(REMEMBERED):
        find(rows, row)
    clock.return_value += PAUSE  # type: ignore[attr-defined]
    find(rows, REMEMBERED)
    assert [*rows._found] == [REMEMBERED]
