"""The memo computes a value once until anything is written, whatever the value is."""

from types import SimpleNamespace
from typing import Any

import pytest

from directory.cache.changes import RecentChanges
from directory.cache.memo import Memo
from directory.cache.snapshot_source import Snapshot


@pytest.mark.parametrize("value", [b"a value", b""])
def test_a_value_is_computed_again_after_a_write_only(value: bytes) -> None:
    number, computed = [1], []
    source: Any = SimpleNamespace(snapshot=lambda: Snapshot(number[0], RecentChanges()))
    memo = Memo(source)

    def compute() -> bytes:
        computed.append(value)
        return value

    assert [memo.get("key", compute) for _ in range(2)] == [value] * 2
    assert len(computed) == 1
    number[0] = 2
    assert memo.get("key", compute) == value
    assert len(computed) == 2
