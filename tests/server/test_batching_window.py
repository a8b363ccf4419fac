"""Who is served together, and who waits for whom."""

import math

import pytest
from directory.server.crowd import HOLD, MOST, PAUSE, Crowd


@pytest.fixture
def crowd() -> Crowd[str]:
    return Crowd()


def test_who_finds_nobody_goes_at_once(crowd: Crowd[str]) -> None:
    assert crowd.left(10.0) == math.inf
    assert crowd.go(10.0, hold=True) == []
    crowd.add("a")
    assert crowd.left(10.0) == 0
    assert crowd.go(10.0, hold=True) == ["a"]


def test_who_comes_meanwhile_waits_and_goes_with_the_others(crowd: Crowd[str]) -> None:
    crowd.add("a")
    first = crowd.go(10.0, hold=True)
    crowd.add("b")
    crowd.add("c")
    assert crowd.go(10.01, hold=True) == []
    assert crowd.left(10.01) == pytest.approx(HOLD - 0.01)
    crowd.have_served(first, 10.02)
    crowd.add("d")
    assert crowd.left(10.02) == 0
    assert crowd.go(10.02, hold=True) == ["b", "c", "d"]


def test_a_crowd_that_was_answered_is_waited_for_but_not_for_long(crowd: Crowd[str]) -> None:
    crowd.add("a")
    crowd.add("b")
    first = crowd.go(10.0, hold=True)
    crowd.add("c")
    crowd.have_served(first, 10.02)
    crowd.add("a")
    assert crowd.left(10.02) == pytest.approx(PAUSE)
    assert crowd.go(10.02, hold=True) == []
    assert crowd.go(10.02 + PAUSE, hold=True) == ["c", "a"]


def test_one_after_the_other_waits_for_nothing(crowd: Crowd[str]) -> None:
    for n in range(3):
        crowd.add(str(n))
        gone = crowd.go(10.0, hold=True)
        assert gone == [str(n)]
        crowd.have_served(gone, 10.0)


def test_nobody_waits_long_for_those_that_are_stuck(crowd: Crowd[str]) -> None:
    crowd.add("stuck")
    stuck = crowd.go(10.0, hold=True)
    crowd.add("a")
    assert crowd.go(10.0 + HOLD, hold=True) == ["a"]
    crowd.add("b")
    crowd.have_served(stuck, 10.0 + HOLD)  # these hold nobody any more
    assert crowd.go(10.01 + HOLD, hold=True) == []


def test_of_those_that_went_some_end_sooner_and_the_rest_hold_nobody(crowd: Crowd[str]) -> None:
    crowd.add("a")
    crowd.add("b")
    gone = crowd.go(10.0, hold=True)
    crowd.have_served(gone, 10.01)
    crowd.have_served(gone, 10.05)
    crowd.add("c")
    assert crowd.left(10.05) == 0
    assert crowd.go(10.05, hold=True) == ["c"]


def test_a_large_crowd_goes_in_parts(crowd: Crowd[str]) -> None:
    for n in range(2 * MOST + 1):
        crowd.add(str(n))
    first = crowd.go(10.0, hold=True)
    assert first == [str(n) for n in range(MOST)]
    assert crowd.go(10.0, hold=True) == []
    crowd.have_served(first, 10.01)
    assert len(crowd.go(10.02, hold=False)) == MOST
    assert crowd.left(10.02) == 0
    assert crowd.go(10.02, hold=False) == [str(2 * MOST)]


def test_where_it_is_the_network_that_is_waited_for_nobody_waits(crowd: Crowd[str]) -> None:
    for name in ("a", "b"):
        crowd.add(name)
        assert crowd.go(10.0, hold=False) == [name]


def test_nobody_waits_for_those_who_go_each_for_himself(crowd: Crowd[str]) -> None:
    crowd.add("a")
    crowd.add("b")
    gone = crowd.go(10.0, hold=True)
    crowd.disperse()
    crowd.add("c")
    assert crowd.left(10.0) == 0
    crowd.have_served(gone, 10.0)
    assert crowd.go(10.0, hold=True) == ["c"]
