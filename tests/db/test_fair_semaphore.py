"""The fair semaphore: who is let in, in which order, and that no place is lost."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import Any

from directory.http import password_checks
from directory.http.password_checks import FairSemaphore
from tests.support.waiting import until

WITHIN = 30.0


def waiting(semaphore: FairSemaphore, number: int) -> None:
    until(lambda: len(semaphore._waiting) == number)


def test_it_lets_so_many_in_and_one_more_for_each_that_leaves() -> None:
    semaphore = FairSemaphore(2)
    assert semaphore.acquire(0)
    assert semaphore.acquire(0)
    assert not semaphore.acquire(0)
    semaphore.release()
    assert semaphore.acquire(0)
    assert not semaphore.acquire(0)


def test_the_first_to_come_is_let_in_first() -> None:
    semaphore, order = FairSemaphore(1), []
    semaphore.acquire(0)

    def enter(name: str) -> None:
        assert semaphore.acquire(WITHIN)
        order.append(name)
        semaphore.release()

    with ThreadPoolExecutor(5) as pool:
        for number, name in enumerate("abcde", 1):
            pool.submit(enter, name)
            waiting(semaphore, number)
        semaphore.release()
    assert order == ["a", "b", "c", "d", "e"]
    assert semaphore.acquire(0)


def test_a_caller_whose_wait_ends_takes_no_place_from_another() -> None:
    semaphore = FairSemaphore(1)
    semaphore.acquire(0)
    with ThreadPoolExecutor(2) as pool:
        patient = pool.submit(semaphore.acquire, WITHIN)
        waiting(semaphore, 1)
        assert not semaphore.acquire(0.01)
        waiting(semaphore, 1)
        semaphore.release()
        assert patient.result(WITHIN)
    assert not semaphore.acquire(0)


def test_a_caller_that_is_let_in_as_its_wait_ends_is_in(monkeypatch: Any) -> None:
    semaphore = FairSemaphore(1)
    semaphore.acquire(0)

    class Late:
        """An event that is set once the wait for it has ended."""

        there = False

        def wait(self, _seconds: float) -> bool:
            semaphore.release()
            return False

        def set(self) -> None:
            self.there = True

        def is_set(self) -> bool:
            return self.there

    with monkeypatch.context() as patch:
        patch.setattr(password_checks, "Event", Late)
        assert semaphore.acquire(0)
    assert not semaphore.acquire(0)


def test_however_many_come_and_give_up_no_more_are_in_than_there_are_places() -> None:
    semaphore, inside, most, lock, start = FairSemaphore(3), [0], [0], Lock(), Barrier(16)

    def enter(number: int) -> int:
        start.wait(WITHIN)
        entered = 0
        for _ in range(200):
            if semaphore.acquire(0.001 if number % 2 else WITHIN):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                entered += 1
                with lock:
                    inside[0] -= 1
                semaphore.release()
        return entered

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(enter, range(16)))
    assert most[0] <= 3
    assert all(found[number] == 200 for number in range(0, 16, 2))
    assert [semaphore.acquire(0) for _ in range(4)] == [True, True, True, False]
