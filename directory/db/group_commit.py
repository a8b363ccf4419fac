"""Group commit: the writes of several requests that one thread serves, in one transaction with one flush of the log."""

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
    """Serves several requests in one thread: the server's batch of votes."""

    def wait_for_group(self, together: Callable[[list[Any]], None], item: Any) -> None:
        """Wait until `together` has been called once, with this item and those of the other requests."""

    def run_in_thread(self, work: Callable[[], Any]) -> Any:
        """Run `work` in another thread, while the other requests go on. Raises what it raises."""


# Set by a server for the requests that it serves in one thread; without it each item is done alone.
batcher: ContextVar[Batcher | None] = ContextVar("directory.batcher", default=None)


class GroupCommit(Generic[Item, Result]):
    """Work that is done `together` for some items, with a result for each, or `alone` for one.

    Together it is done for all items or for none; an item whose result is Unavailable is left out. No request fails or
    waits because of another's item: work that failed together is done again for each item alone, in a thread of its
    own. Where the database may have committed it, only `repeatable` items are done again.
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
        batch.wait_for_group(self._settle, mine)
        if mine.error is None:
            return mine.result  # type: ignore[no-any-return]
        if not (_is_undone(mine.error) or self._repeatable(item)):
            raise mine.error
        return batch.run_in_thread(partial(self._retry_alone, mine))  # type: ignore[no-any-return]

    def _retry_alone(self, piece: "_Piece") -> Result:
        """Do the work for one item. Raises Unavailable where its deadline has passed."""
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
    """Whether nothing was done for certain: nothing was sent, or the database reported the failure.

    After a lost connection the transaction may have been committed.
    """
    if isinstance(error, DBAPIError):
        return not error.connection_invalidated
    return isinstance(error, PoolTimeout | Unavailable)


class _Piece:
    """One request's item and deadline, and the result or error."""

    __slots__ = ("ends", "error", "item", "result")

    def __init__(self, item: Any) -> None:
        self.item, self.ends = item, deadline.expires_at()
        self.result: Any = None
        self.error: BaseException | None = None
