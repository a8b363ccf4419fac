"""Which requests are served together, and which wait for which."""

import math
from typing import Any

import pytest

from directory.server.tuning import BATCH_MAX, PAUSE_SECONDS, WINDOW_SECONDS
from directory.server.vote_batching import BatchingWindow


@pytest.fixture
def window() -> Any:
    return BatchingWindow()


def test_a_request_that_finds_no_batch_goes_at_once(window: Any) -> None:
    assert window.timeout(10.0) == math.inf
    assert window.take(10.0, hold=True) == []
    window.add("a")
    assert window.timeout(10.0) == 0
    assert window.take(10.0, hold=True) == ["a"]


def test_requests_that_come_meanwhile_wait_and_go_together(window: Any) -> None:
    window.add("a")
    first = window.take(10.0, hold=True)
    window.add("b")
    window.add("c")
    assert window.take(10.01, hold=True) == []
    assert window.timeout(10.01) == pytest.approx(WINDOW_SECONDS - 0.01)
    window.end(first, 10.02)
    window.add("d")
    assert window.timeout(10.02) == 0
    assert window.take(10.02, hold=True) == ["b", "c", "d"]


def test_clients_that_were_answered_are_waited_for_but_not_for_long(window: Any) -> None:
    window.add("a")
    window.add("b")
    first = window.take(10.0, hold=True)
    window.add("c")
    window.end(first, 10.02)
    window.add("a")
    assert window.timeout(10.02) == pytest.approx(PAUSE_SECONDS)
    assert window.take(10.02, hold=True) == []
    assert window.take(10.02 + PAUSE_SECONDS, hold=True) == ["c", "a"]


def test_requests_one_after_the_other_wait_for_nothing(window: Any) -> None:
    for n in range(3):
        window.add(str(n))
        gone = window.take(10.0, hold=True)
        assert gone == [str(n)]
        window.end(gone, 10.0)


def test_a_batch_that_is_stuck_delays_the_next_for_a_moment_only(window: Any) -> None:
    window.add("stuck")
    stuck = window.take(10.0, hold=True)
    window.add("a")
    assert window.take(10.0 + WINDOW_SECONDS, hold=True) == ["a"]
    window.add("b")
    window.end(stuck, 10.0 + WINDOW_SECONDS)  # these delay no request any more
    assert window.take(10.01 + WINDOW_SECONDS, hold=True) == []


def test_a_batch_ends_once(window: Any) -> None:
    window.add("a")
    window.add("b")
    gone = window.take(10.0, hold=True)
    window.end(gone, 10.01)
    window.end(gone, 10.05)
    window.add("c")
    assert window.timeout(10.05) == 0
    assert window.take(10.05, hold=True) == ["c"]


def test_many_requests_go_in_several_batches(window: Any) -> None:
    for n in range(2 * BATCH_MAX + 1):
        window.add(str(n))
    first = window.take(10.0, hold=True)
    assert first == [str(n) for n in range(BATCH_MAX)]
    assert window.take(10.0, hold=True) == []
    window.end(first, 10.01)
    assert len(window.take(10.02, hold=False)) == BATCH_MAX
    assert window.timeout(10.02) == 0
    assert window.take(10.02, hold=False) == [str(2 * BATCH_MAX)]


def test_where_the_network_is_what_is_waited_for_no_request_waits_for_a_batch(window: Any) -> None:
    for name in ("a", "b"):
        window.add(name)
        assert window.take(10.0, hold=False) == [name]
