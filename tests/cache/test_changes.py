"""The recent changes: a vote affects the answers that show the project or are ordered by votes, any other write all."""

from typing import Any

import pytest

from directory.cache.changes import MAX_PROJECTS, RecentChanges
from directory.db.snapshots import VoteChange
from directory.http.cache_policy import CacheTags


def changes_of(*seen: list[VoteChange] | None) -> RecentChanges:
    """Changes to which the first snapshot, the second and so on added these changes."""
    changes = RecentChanges()
    for number, moved in enumerate(seen, start=1):
        changes.add(number, moved)
    return changes


def test_a_vote_affects_the_answers_that_show_the_project_and_no_others() -> None:
    changes = changes_of([], [VoteChange(7, 3, 4)])
    assert not changes.is_unaffected(CacheTags((5, 7)), 1)
    assert changes.is_unaffected(CacheTags((5, 6)), 1)
    assert changes.is_unaffected(CacheTags((5, 7)), 2)
    assert changes.is_unaffected(CacheTags(()), 1)


@pytest.mark.parametrize(
    ("lowest", "highest", "unaffected"),
    [(5, 9, True), (4, 9, False), (3, 3, False), (1, 2, True), (0, 9, False), (4, 4, False), (0, 3, False)],
)
def test_a_vote_affects_a_page_in_the_order_of_votes_where_it_touches_its_range(
    lowest: int, highest: int, unaffected: bool
) -> None:
    assert changes_of([], [VoteChange(7, 3, 4)]).is_unaffected(CacheTags((1,), lowest, highest), 1) is unaffected


@pytest.mark.parametrize(
    ("of_vote", "of_page", "unaffected"),
    [(2, 1, True), (1, 1, False), (None, 1, False), (1, None, False), (None, None, False)],
)
def test_a_vote_in_another_category_does_not_affect_a_page_in_the_order_of_votes(
    of_vote: int | None, of_page: int | None, unaffected: bool
) -> None:
    changes = changes_of([], [VoteChange(7, 3, 4, of_vote)])
    assert changes.is_unaffected(CacheTags((1,), 3, 4, of_page), 1) is unaffected
    assert not changes.is_unaffected(CacheTags((7,), 3, 4, of_page), 1)


def test_an_unknown_change_affects_all_earlier_answers_and_no_later_ones() -> None:
    changes = changes_of([], [VoteChange(7, 3, 4)], None, [VoteChange(8, 1, 2)])
    assert not any(changes.is_unaffected(CacheTags(()), since) for since in (0, 1, 2))
    assert changes.is_unaffected(CacheTags((7,), 3, 4), 3)
    assert not changes.is_unaffected(CacheTags((8,)), 3)


def test_what_is_remembered_is_bounded_and_what_it_drops_counts_as_changed() -> None:
    changes = changes_of([], *([VoteChange(1, 5, 6)] for _ in range(2 * MAX_PROJECTS + 1)))
    assert len(changes._vote_changes) == MAX_PROJECTS + 1
    assert not changes.is_unaffected(CacheTags((), 100, 200), 1)
    assert changes.is_unaffected(CacheTags((), 100, 200), MAX_PROJECTS + 1)
    for number in range(MAX_PROJECTS + 2):
        changes.add(30_000 + number, [VoteChange(number, 5, 6)])
    assert len(changes._last_votes) < 2
    assert not changes.is_unaffected(CacheTags((-1,)), 30_000)


class RacingChanges(RecentChanges):
    """Changes to which another thread adds an unknown change just before `part` is read."""

    part = ""

    def __getattribute__(self, name: str) -> Any:
        if name == super().__getattribute__("part"):
            self.part = ""
            self.add(3, None)
        return super().__getattribute__(name)


@pytest.mark.parametrize("part", ["_last_unknown", "_last_votes", "_vote_changes", "_complete_since"])
@pytest.mark.parametrize("tags", [CacheTags((7,)), CacheTags((5,), 3, 4)])
def test_an_unknown_change_during_the_question_never_makes_an_affected_answer_valid(part: str, tags: CacheTags) -> None:
    changes = RacingChanges()
    changes.add(1, None)
    changes.add(2, [VoteChange(7, 3, 4)])
    changes.part = part
    assert not changes.is_unaffected(tags, 1)
