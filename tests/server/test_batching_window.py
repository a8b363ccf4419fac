"""Which requests are served together, and which wait for which."""

import math
from typing import Any

import pytest

from directory.server.vote_batching import BATCH_MAX, PAUSE_SECONDS, WINDOW_SECONDS, BatchingWindow


@pytest.fixture
def window() -> Any:
    return BatchingWindow()


def test_a_request_that_finds_no_batch_goes_at_once(window: Any) -> None:
    assert window.timeout(10.0) == math.inf
    assert window.take(10.0) == []
    window.add("a")
    assert window.timeout(10.0) == 0
    assert window.take(10.0) == ["a"]


def test_requests_that_come_meanwhile_wait_and_go_together(window: Any) -> None:
    window.add("a")
    first = window.take(10.0)
    window.add("b")
    window.add("c")
    assert window.take(10.01) == []
    assert window.timeout(10.01) == pytest.approx(WINDOW_SECONDS - 0.01)
    window.end(first, 10.02)
    window.add("d")
    assert window.timeout(10.02) == 0
    assert window.take(10.02) == ["b", "c", "d"]


def test_clients_that_were_answered_are_waited_for_but_not_for_long(window: Any) -> None:
    window.add("a")
    window.add("b")
    first = window.take(10.0)
    window.add("c")
    window.end(first, 10.02)
    window.add("a")
    assert window.timeout(10.02) == pytest.approx(PAUSE_SECONDS)
    assert window.take(10.02) == []
    assert window.take(10.02 + PAUSE_SECONDS) == ["c", "a"]


def test_requests_one_after_the_other_wait_for_nothing(window: Any) -> None:
    for n in range(3):
        window.add(str(n))
        gone = window.take(10.0)
        assert gone == [str(n)]
        window.end(gone, 10.0)


def test_a_batch_that_is_stuck_delays_the_next_for_a_moment_only(window: Any) -> None:
    window.add("stuck")
    stuck = window.take(10.0)
    window.add("a")
    assert window.take(10.0 + WINDOW_SECONDS) == ["a"]
    window.add("b")
    window.end(stuck, 10.0 + WINDOW_SECONDS)  # these delay no request any more
    assert window.take(10.01 + WINDOW_SECONDS) == []


def test_a_batch_ends_once(window: Any) -> None:
    window.add("a")
    window.add("b")
    gone = window.take(10.0)
    window.end(gone, 10.01)
    window.end(gone, 10.05)
    window.add("c")
    assert window.timeout(10.05) == 0
    assert window.take(10.05) == ["c"]


def test_many_requests_go_in_several_batches(window: Any) -> None:
    for n in range(2 * BATCH_MAX + 1):
        window.add(str(n))
    first = window.take(10.0)
    assert first == [str(n) for n in range(BATCH_MAX)]
    assert window.take(10.0) == []
    window.end(first, 10.01)
    second = window.take(10.02)
    assert len(second) == BATCH_MAX
    window.end(second, 10.03)
    assert window.take(10.03 + PAUSE_SECONDS) == [str(2 * BATCH_MAX)]
