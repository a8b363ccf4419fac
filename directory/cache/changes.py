"""Remembers the latest changes of votes and the last other write: they decide whether a response is still valid."""

from collections.abc import Iterable

from directory.db.snapshots import VoteChange
from directory.http.cache_policy import CacheTags

MAX_PROJECTS = 2_000  # with more projects all is forgotten; with twice as many vote changes, the oldest of them are


class RecentChanges:
    """The latest changes of the database, each with the number of the first snapshot that shows it.

    One thread at a time adds changes, under the lock of the snapshot source; any thread asks, without a lock. All
    changes of a snapshot are added before its number is given out, so a thread that has a snapshot sees all of them.
    """

    def __init__(self) -> None:
        self._last_unknown = 0  # the last snapshot that may have changed anything
        self._last_votes: dict[int, int] = {}  # by project, the last snapshot that changed its votes
        self._vote_changes: list[tuple[int, VoteChange]] = []  # with the snapshot that shows it first
        self._complete_since = 0  # the snapshot after which all vote changes are remembered

    def add(self, number: int, changes: Iterable[VoteChange] | None) -> None:
        """Add the changes that the snapshot `number` shows first; None where anything may have changed."""
        if changes is None or len(self._last_votes) > MAX_PROJECTS:
            self._last_unknown = number
            self._last_votes, self._vote_changes, self._complete_since = {}, [], number
            return
        for change in changes:
            self._last_votes[change.project_id] = number
            self._vote_changes.append((number, change))
        if len(self._vote_changes) > 2 * MAX_PROJECTS:
            self._complete_since = self._vote_changes[MAX_PROJECTS - 1][0]
            self._vote_changes = self._vote_changes[MAX_PROJECTS:]

    def is_unaffected(self, tags: CacheTags, since: int) -> bool:
        """Whether a response with these tags, valid at the snapshot `since`, is still valid."""
        # `add` sets `_last_unknown` before it empties these, so read these first.
        last_votes, vote_changes = self._last_votes, self._vote_changes
        if self._last_unknown > since:
            return False
        if any(last_votes.get(project, 0) > since for project in tags.projects):
            return False
        if tags.lowest is None or tags.highest is None:
            return True
        return self._no_vote_between(vote_changes, tags.lowest, tags.highest, tags.category_id, since)

    def _no_vote_between(
        self, changes: list[tuple[int, VoteChange]], lowest: int, highest: int, category_id: int | None, since: int
    ) -> bool:
        """Whether no later vote, for a project of the category, moved a number into, out of or across the range.

        `changes` only grows at its end, or is replaced.
        """
        if since < self._complete_since:
            return False
        for number, change in reversed(changes):
            if number <= since:
                return True
            may_be_shown = None in (category_id, change.category_id) or category_id == change.category_id
            if may_be_shown and change.lowest <= highest and change.highest >= lowest:
                return False
        return True
