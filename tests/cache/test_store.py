"""The store keeps to its capacity, and gives a response only while it is valid."""

from directory.cache.changes import RecentChanges
from directory.cache.snapshot_source import Snapshot
from directory.cache.store import Store
from directory.db.snapshots import VoteChange
from directory.http.cache_policy import CacheTags


def test_the_least_recently_used_response_is_dropped_first() -> None:
    store: Store[str] = Store(10)
    snapshot = Snapshot(1, RecentChanges())
    assert store.get("a", snapshot) is None
    store.put("a", snapshot, "A", 4)
    store.put("b", snapshot, "B", 4, CacheTags((1,)))
    assert store.get("a", snapshot) == "A"
    assert store.peek("b", snapshot) == "B", "which is no use of it"
    store.put("c", snapshot, "C", 4)
    assert [store.get(key, snapshot) for key in "abc"] == ["A", None, "C"]


def test_a_response_without_tags_is_invalid_at_a_later_snapshot() -> None:
    store: Store[str] = Store(10)
    changes = RecentChanges()
    first, second = Snapshot(1, changes), Snapshot(2, changes)
    store.put("a", first, "A", 4)
    store.put("c", second, "newer", 4)
    store.put("c", first, "late", 4)
    assert (store.get("c", second), store.get("a", second)) == ("newer", None)


def test_a_response_with_tags_is_valid_until_a_vote_changes_it() -> None:
    store: Store[str] = Store(10)
    changes = RecentChanges()
    store.put("a", Snapshot(1, changes), "A", 4, CacheTags((7,)))
    changes.add(2, [VoteChange(8, 1, 2)])
    assert store.get("a", Snapshot(2, changes)) == "A"
    changes.add(3, [VoteChange(7, 1, 2)])
    assert store.get("a", Snapshot(3, changes)) is None
