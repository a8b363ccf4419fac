"""Several threads' work done at once by one of them: flat combining (Hendler, Incze, Shavit, Tzafrir, SPAA 2010).

Who finds nobody at work begins at once. Who comes meanwhile waits, and the first of those then does what has come by
then for all of them: one statement, one transaction, one flush of the log. So it costs nothing where there is no crowd,
and each the less the larger the crowd is.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory import patience
from directory.database import on_postgresql
from directory.errors import Unavailable
from directory.extensions import db
from directory.faults import state_of

log = logging.getLogger(__name__)
MOMENT = 0.1  # seconds to wait for one's turn
# A database takes less than NEAR seconds for the quickest of SOME answers, or its network takes more than the processor
# does; and for the network a crowd that goes one by one waits longer.
NEAR, SOME = 0.002, 50
LONGER = patience.GRACE + 0.1  # seconds after a request's time within which what was done for it has ended as well

Item = TypeVar("Item")
Result = TypeVar("Result")


class Combined(Generic[Item, Result]):
    """Work that is done `together` for some items, all or none of them, with a result for each; or `alone` for one.

    Nobody is refused for another's item, or waits for what another's waits for: work that failed together each thread
    does alone, and so does who has waited too long for a turn. Where it may have been done for all that, only what is
    `repeatable` is done again.
    """

    def __init__(
        self,
        alone: Callable[[Item], Result],
        together: Callable[[list[Item]], list[Result]],
        repeatable: Callable[[Item], bool],
    ) -> None:
        self._alone, self._together, self._repeatable = alone, together, repeatable
        self._queues: WeakKeyDictionary[Engine, _Queue] = WeakKeyDictionary()

    def __call__(self, item: Item) -> Result:
        """The result for an item. Raises what the work does, and Unavailable where it does not end in time."""
        queue = self._queues.get(db.engine) or self._queues.setdefault(db.engine, _Queue())
        if queue.far and on_postgresql():
            with queue.timed():
                return self._alone(item)
        mine = _Piece(item)
        if not queue.join(mine):
            return self._alone(item)
        if mine.leads:
            self._lead(queue, mine)
        if mine.error is None:
            return mine.result  # type: ignore[no-any-return]
        if not (_is_undone(mine.error) or self._repeatable(item)):
            raise mine.error
        if time.monotonic() > mine.ends:
            raise Unavailable from mine.error
        return self._alone(item)

    def _lead(self, queue: "_Queue", mine: "_Piece") -> None:
        """Do what has come, in the time that all of them have. Whatever becomes of it, the others are told."""
        pieces = queue.take(mine)
        try:
            with queue.timed(), patience.until(min(piece.ends for piece in pieces)):
                results = self._together([piece.item for piece in pieces])
            for piece, result in zip(pieces, results, strict=True):
                piece.result = result
        except Exception as error:
            log.info("not done together", extra={"reason": state_of(error) or type(error).__name__})
            for piece in pieces:
                piece.error = error
        except BaseException:  # ends this thread, and none of the others
            for piece in pieces:
                piece.error = _Unknown()
            raise
        finally:
            queue.pass_on(pieces)


def _is_undone(error: BaseException) -> bool:
    """Whether nothing was done: nothing was sent, or the database said that it failed. If it fell silent who knows."""
    if isinstance(error, DBAPIError):
        return not error.connection_invalidated
    return isinstance(error, PoolTimeout | Unavailable) and not isinstance(error, _Unknown)


class _Unknown(Unavailable):
    """The thread that was to tell what became of it has ended."""


class _Piece:
    """One thread's piece of work, and what has become of it."""

    __slots__ = ("ends", "error", "item", "leads", "result", "turn")

    def __init__(self, item: Any) -> None:
        self.item, self.ends = item, patience.end()
        self.result: Any = None
        self.error: BaseException | None = None
        self.leads = False
        self.turn = Lock()  # released when it is done, or to lead
        self.turn.acquire()


class _Queue:
    """Who waits while somebody is at work."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: list[_Piece] = []
        self._busy = self.far = False
        self._quickest, self._answers = math.inf, 0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time an answer: by the quickest of some it is known whether the database is far."""
        began = time.perf_counter()
        yield
        self._quickest = min(self._quickest, time.perf_counter() - began)
        self._answers += 1
        if self._answers >= SOME:
            self.far = self._quickest > NEAR
            self._quickest, self._answers = math.inf, 0

    def join(self, mine: _Piece) -> bool:
        """Wait until the piece is done, or is to lead; False where its turn did not come in a moment.

        Raises Unavailable where what another does for it does not end within this request's time.
        """
        with self._guard:
            if not self._busy:
                self._busy = mine.leads = True
                return True
            self._waiting.append(mine)
        if mine.turn.acquire(timeout=MOMENT):
            return True
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return False
        if not mine.turn.acquire(timeout=patience.left(TIMEOUT_MAX - 1) + LONGER):
            raise Unavailable
        return True

    def take(self, mine: _Piece) -> list[_Piece]:
        """The piece that leads and all that wait."""
        with self._guard:
            waiting, self._waiting = self._waiting, []
        return [mine, *waiting]

    def pass_on(self, pieces: list[_Piece]) -> None:
        """Wake those whose pieces are done, and whoever is to lead next."""
        with self._guard:
            for piece in pieces[1:]:
                piece.turn.release()
            self._busy = bool(self._waiting)
            if self._waiting:
                piece = self._waiting.pop(0)
                piece.leads = True
                piece.turn.release()
