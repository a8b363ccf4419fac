"""What several requests want done, done at once where one thread serves them: one transaction, one flush of the log."""

import logging
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import deadline
from directory.db.errors import state_of
from directory.errors import Unavailable

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Protocol):
    """What serves several requests in one thread: the server's batch of votes."""

    def share(self, together: Callable[[list[Any]], None], item: Any) -> None:
        """Wait until `together` has been called once, with this item and those of the other requests."""

    def run_in_thread(self, work: Callable[[], Any]) -> Any:
        """Run `work` in another thread, while the other requests go on. Raises what it raises."""


# Set by a server for the requests that it serves in one thread; without it each item is done alone.
batcher: ContextVar[Batcher | None] = ContextVar("directory.batcher", default=None)


class Combined(Generic[Item, Result]):
    """Work that is done `together` for some items, with a result for each, or `alone` for one.

    Together it is done for all or none of them; but where the result of one is Unavailable, it was not done for that.
    Nobody is refused for another's item, or waits for what another's waits for: work that failed together is done for
    each alone, apart from the others. Where it may have been done for all that, only what is `repeatable` is done
    again.
    """

    def __init__(
        self,
        alone: Callable[[Item], Result],
        together: Callable[[list[Item]], list[Result | Unavailable]],
        repeatable: Callable[[Item], bool],
    ) -> None:
        self._alone, self._together, self._repeatable = alone, together, repeatable

    def __call__(self, item: Item) -> Result:
        """The result for an item. Raises what the work does, and Unavailable where it does not end in time."""
        batch = batcher.get()
        if batch is None:
            return self._alone(item)
        mine = _Piece(item)
        batch.share(self._settle, mine)
        if mine.error is None:
            return mine.result  # type: ignore[no-any-return]
        if not (_is_undone(mine.error) or self._repeatable(item)):
            raise mine.error
        return batch.run_in_thread(partial(self._by_itself, mine))  # type: ignore[no-any-return]

    def _by_itself(self, piece: "_Piece") -> Result:
        """Do it alone, unless its time is over by now: nobody waits for the answer any more."""
        if time.monotonic() > piece.ends:
            raise Unavailable from piece.error
        return self._alone(piece.item)

    def _settle(self, pieces: list["_Piece"]) -> None:
        """Do the work of all of them, in the time that all of them have."""
        try:
            with deadline.expiring_at(min(piece.ends for piece in pieces)):
                results = self._together([piece.item for piece in pieces])
            for piece, result in zip(pieces, results, strict=True):
                if isinstance(result, Unavailable):
                    piece.error = result
                else:
                    piece.result = result
        except BaseException as error:
            log.info("not done together", extra={"reason": state_of(error) or type(error).__name__})
            for piece in pieces:
                piece.error = error


def _is_undone(error: BaseException) -> bool:
    """Whether nothing was done: nothing was sent, or the database said that it failed. If it fell silent who knows."""
    if isinstance(error, DBAPIError):
        return not error.connection_invalidated
    return isinstance(error, PoolTimeout | Unavailable)


class _Piece:
    """One request's piece of work, and what has become of it."""

    __slots__ = ("ends", "error", "item", "result")

    def __init__(self, item: Any) -> None:
        self.item, self.ends = item, deadline.expires_at()
        self.result: Any = None
        self.error: BaseException | None = None
