"""Take from a folder of installed packages what nothing there reads when it runs: python3 .ci/trim.py FOLDER.

That is what compiled libraries hold for debuggers alone, what a compiler or a type checker would read, and tests.
"""

import shutil
import struct
import sys
from pathlib import Path

SOURCES = {".c", ".cpp", ".h", ".pxd", ".pxi", ".pyi", ".pyx"}
TESTS = {"testing", "tests"}


def trim(folder: Path) -> None:
    """Trim all packages of the folder, in place."""
    for path in [*folder.glob("*/")]:
        for name in TESTS:
            shutil.rmtree(path / name, ignore_errors=True)
    for path in [*folder.rglob("*.*")]:
        if path.suffix in SOURCES:
            path.unlink()
        elif ".so" in path.suffixes:
            cut(path)


def cut(library: Path) -> None:
    """Cut off what follows the last part of a library that is loaded into memory: symbols, and lines of its sources.

    Where the last part is at the end, as in libraries that were changed after they were linked, this does nothing.
    """
    with library.open("r+b") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":  # of 64 bits, the lower byte first
            return
        (at,), (size, count) = struct.unpack_from("<Q", head, 0x20), struct.unpack_from("<HH", head, 0x36)
        file.seek(at)
        parts = [struct.unpack_from("<8xQ16xQ", file.read(size)) for _ in range(count)]
        end = max(at + size * count, *(start + length for start, length in parts))
        if end < library.stat().st_size:
            # The table of sections is among what goes; no program is loaded by it.
            file.seek(0x28)
            file.write(bytes(8))
            file.seek(0x3C)
            file.write(bytes(4))
            file.truncate(end)


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
