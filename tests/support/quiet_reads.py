"""Reads a snapshot until nothing was written for a while, and then a change."""

from collections.abc import Callable
from typing import Any

import pytest

from directory.db.snapshots import QUIET_READS


def check(monkeypatch: pytest.MonkeyPatch, reader: Any, write: Callable[[], object]) -> None:
    """The reader asks a quiet database for the snapshot alone, and still finds the change of project 7 by `write`."""
    asked: list[str] = []
    for name in ("_send_snapshot", "_send_changes"):
        monkeypatch.setattr(reader, name, noting(getattr(reader, name), name, asked))
    state, _ = reader.read(None, 5.0)
    for _ in range(20_000):  # other databases of the server move the snapshot as well
        state, changes = reader.read(state, 5.0)
        if asked[-1] == "_send_snapshot":
            break
    assert asked[-1] == "_send_snapshot"
    assert {*asked[-QUIET_READS - 1 : -1]} == {"_send_changes"}
    assert changes == []
    asked.clear()
    write()
    state, [change] = reader.read(state, 5.0)
    assert change.project_id == 7
    assert asked == ["_send_snapshot", "_send_changes"]
    reader.read(state, 5.0)
    assert asked[2:] == ["_send_changes"]


def noting(send: Callable[..., None], name: str, asked: list[str]) -> Callable[..., None]:
    def wrapped(*arguments: Any) -> None:
        asked.append(name)
        send(*arguments)

    return wrapped
