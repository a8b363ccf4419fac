"""Whether what was answered still holds: one cheap read of the database's mark tells what has changed since."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Engine

from directory.cache.snapshots import AT_ONCE, TIMEOUT, Moved, Probe, probe
from directory.db.statements import over

BESIDE = 0.02  # seconds that the event loop waits for a read already under way, which may find the database mute
REST = 1.0  # seconds for which the event loop leaves a database alone that did not answer in time
REMEMBERED = 2_000  # projects whose last vote is known, and twice that many votes at most


class Basis(NamedTuple):
    """What an answer rests on besides what only a decision, an edit or the like changes: the votes of some projects.

    Of a page in the order of votes, `low` and `high` are the ends of what it shows: a project that is not on it gets
    there, or past it, only by votes between them.
    """

    projects: tuple[int, ...]
    low: int | None = None
    high: int | None = None


class Changes:
    """What has changed, by the number of the moment at which it was seen. One thread writes, any read.

    A moment's number is handed out when all that it saw is written here, so who knows of a moment misses none of it.
    """

    def __init__(self) -> None:
        self._everything = 0
        self._votes: dict[int, int] = {}
        self._moves: list[tuple[int, int, int]] = []
        self._complete_since = 0

    def add(self, number: int, moved: Iterable[Moved] | None) -> None:
        """Take in what the moment `number` saw; None where anything may have changed."""
        if moved is None or len(self._votes) > REMEMBERED:
            self._everything = number
            self._votes, self._moves, self._complete_since = {}, [], number
            return
        for each in moved:
            self._votes[each.project_id] = number
            self._moves.append((number, each.low, each.high))
        if len(self._moves) > 2 * REMEMBERED:
            self._complete_since = self._moves[REMEMBERED - 1][0]
            self._moves = self._moves[REMEMBERED:]

    def spared(self, basis: Basis, since: int) -> bool:
        """Whether nothing that was seen after the moment `since` changes an answer of that moment."""
        votes, moves = self._votes, self._moves
        if self._everything > since:  # asked last: if the two were emptied meanwhile, it tells
            return False
        if any(votes.get(project, 0) > since for project in basis.projects):
            return False
        return basis.low is None or basis.high is None or self._passed_by(moves, basis.low, basis.high, since)

    def _passed_by(self, moves: list[tuple[int, int, int]], low: int, high: int, since: int) -> bool:
        """Whether no votes moved between two numbers; `moves` grows at its end, or is replaced."""
        if since < self._complete_since:
            return False
        for number, lowest, highest in reversed(moves):
            if number <= since:
                return True
            if lowest <= high and highest >= low:
                return False
        return True


class Moment(NamedTuple):
    """The database at an instant. Two with the same number saw the same rows."""

    number: int
    changes: Changes


class Guard:
    """Gives the database's present moment.

    A read that began after a caller asked is good for that caller. So callers that ask while one is under way share
    the next one: under load there is far less than one read for each of them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._begun = 0
        self._number = 0
        self._changes = Changes()
        self._mark: Any = None
        self._moment: Moment | None = None
        self._probe: Probe | None = None
        self._rests_until = 0.0  # by time.monotonic()

    def moment(self) -> Moment | None:
        """Some moment after this call began; None where the database does not tell in time."""
        return self._ask(TIMEOUT, TIMEOUT)

    def at_once(self) -> Moment | None:
        """The same, where there is a connection already and it tells at once."""
        return self._ask(BESIDE, AT_ONCE) if self._is_ready else None

    def _ask(self, turn: float, seconds: float) -> Moment | None:
        before = self._begun  # of these reads each began too early
        if not self._turn.acquire(timeout=turn):
            return None
        try:
            if self._begun == before:
                self._begun += 1
                self._moment = self._read(seconds)
            return self._moment
        finally:
            self._turn.release()

    @contextmanager
    def at_hand(self) -> Iterator[bool]:
        """Have this thread's statements run over the connection that there is; gives whether there is one.

        For what is answered at once: they share its turn, and the time of one look. Raises what they raise.
        """
        has_turn = self._is_ready and self._turn.acquire(timeout=BESIDE)
        if not has_turn:
            yield False
            return
        try:
            if self._probe is None:  # closed by whom it was waited for
                yield False
                return
            with over(self._probe.connection, AT_ONCE):
                yield True
        except Exception as error:
            if getattr(error, "connection_invalidated", False):
                self.close()
            raise
        except BaseException:  # while it may have been waited for, so that the answer is still to come
            self.close()
            raise
        finally:
            self._turn.release()

    @property
    def _is_ready(self) -> bool:
        return self._probe is not None and time.monotonic() >= self._rests_until

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, which may be lost already."""
        return self._probe is not None

    @property
    def latest(self) -> Moment | None:
        """The last moment that was read: what is read from the database from now on is no older."""
        return self._moment

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        probe, self._probe, self._mark = self._probe, None, None
        self._rests_until = time.monotonic() + REST
        if probe is not None:
            probe.close()

    def _read(self, seconds: float) -> Moment | None:
        """The moment. A new connection knows nothing of what an earlier one saw: anything may have changed."""
        if self._probe is None and seconds < TIMEOUT:  # closed by whom one has waited for; to open one takes longer
            return None
        try:
            if self._probe is None:
                self._probe = probe(self._engine)
            mark, moved = self._probe.read(self._mark, seconds)
        except Exception:
            self.close()
            return None
        if mark == self._mark and self._moment is not None:
            return self._moment
        self._number += 1
        self._changes.add(self._number, None if self._mark is None else moved)
        self._mark = mark
        return Moment(self._number, self._changes)
