"""The files in which the processes of a server share their metrics, with room for them reserved before it is used.

The client library maps a file into memory that is larger than what is stored of it. Where the disk, usually /dev/shm,
has no room left, the system then ends the process at its next write to that memory. So each page is reserved first. If
there is no room for one, this process counts in its own memory, where no scrape sees it, and answers requests as ever.
"""

import logging
import mmap
import os
from typing import Any

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

SIZE = 1 << 16  # bytes of a new file, as the client library has it
ENTRY_MAX = 32  # bytes that an entry takes at most in addition to its key
BEGINNING = 8  # bytes before the first entry, of which four are the number of bytes in use
log = logging.getLogger(__name__)


def reserve_room() -> None:
    """Have the client library reserve the room for its files."""
    values.MmapedDict = ReservedFile  # type: ignore[attr-defined]


class ReservedFile(MmapedDict):
    """The values of one kind of metrics of a process, in its file or, without room for that, in its memory."""

    _f: Any
    _m: Any

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        try:
            _create(filename)
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]
        except OSError as error:
            _report(error)
            self._f, self._positions, self._used = None, {}, BEGINNING
            self._capacity, self._m = SIZE, mmap.mmap(-1, SIZE)

    def _init_value(self, key: str) -> None:
        while self._used + len(key.encode()) + ENTRY_MAX > self._capacity:
            self._grow(self._capacity * 2)
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _grow(self, capacity: int) -> None:
        memory = None
        if self._f is not None:
            try:
                os.posix_fallocate(self._f.fileno(), 0, capacity)
                memory = mmap.mmap(self._f.fileno(), capacity)
            except OSError as error:
                _report(error)
                self._f.close()  # scrapes go on reading what is in it
                self._f = None
        if memory is None:
            memory = mmap.mmap(-1, capacity)
            memory[: self._used] = self._m[: self._used]
        self._m, self._capacity = memory, capacity


def _create(filename: str) -> None:
    """Make a file with its room reserved, unless there is one. Raises OSError, and leaves no empty file."""
    with open(filename, "ab") as file:
        if os.fstat(file.fileno()).st_size:
            return
        try:
            os.posix_fallocate(file.fileno(), 0, SIZE)
        except OSError:
            os.unlink(filename)  # a scrape could not read it
            raise


_reported: set[int] = set()  # the processes that have


def _report(error: OSError) -> None:
    """Log once in a process that it gives up its metrics."""
    if os.getpid() not in _reported:
        _reported.add(os.getpid())
        log.error("metrics are given up until this process is restarted: %s", error.strerror or error)
