"""What rows, indexes and the log take, measured at three sizes by `python -m bench.scaling.rows`; and what follows."""

from typing import NamedTuple

SIZES = (1_000, 100_000, 1_000_000)
VOTES, USERS = 10, 0.5  # of a project, as the bench seeds them


class Bytes(NamedTuple):
    """Of one project, user or vote."""

    rows: float
    indexes: float

    @property
    def total(self) -> float:
        """Both."""
        return self.rows + self.indexes


class Written(NamedTuple):
    """What one operation takes of PostgreSQL: statements, bytes of records in the log, and of whole pages there."""

    statements: float
    records: float
    images: float


# By entity, at each of SIZES.
TAKES: dict[str, tuple[Bytes, ...]] = {
    "project": (Bytes(7692, 8036), Bytes(1967, 2447), Bytes(1967, 2171)),
    "user": (Bytes(475, 688), Bytes(318, 377), Bytes(287, 351)),
    "vote": (Bytes(79, 112), Bytes(52, 88), Bytes(52, 85)),
}
# By operation, at each of SIZES.
WRITES: dict[str, tuple[Written, ...]] = {
    "vote, pages not touched since the checkpoint": (
        Written(2, 1041, 2643),
        Written(2, 1126, 40940),
        Written(2, 1080, 49196),
    ),
    "vote, the same projects again": (
        Written(2, 1050, 107),
        Written(2, 1251, 2985),
        Written(2, 1225, 16903),
    ),
    "vote, one project": (
        Written(2, 983, 422),
        Written(2, 1011, 264),
        Written(2, 1010, 1067),
    ),
    "submission": (
        Written(10, 6177, 2346),
        Written(10, 5986, 24306),
        Written(10, 5896, 33625),
    ),
    "approval": (
        Written(8, 6557, 105),
        Written(8, 6119, 8702),
        Written(8, 6183, 8958),
    ),
    "registration": (
        Written(6, 2049, 3622),
        Written(6, 2415, 6682),
        Written(6, 2065, 7869),
    ),
}
REDIS_BYTES = 660  # of a voter's first vote
DASHBOARD_MS = {
    10_000: 9.8,
    1_000_000: 23.4,
    10_000_000: 127.0,
}  # that is in nobody's memory, by votes: bench/README.md


def directory(projects: int) -> float:
    """The bytes of a directory of so many projects, with the bytes of the largest size measured."""
    project, user, vote = (TAKES[entity][-1].total for entity in ("project", "user", "vote"))
    return projects * (project + USERS * user + VOTES * vote)


def dashboard_seconds(votes: int) -> float:
    """How long the dashboard takes: as between a million and ten million votes, so much more for each."""
    (fewer, less), (more, most) = ((votes_, ms / 1000) for votes_, ms in list(DASHBOARD_MS.items())[1:])
    return most + (votes - more) * (most - less) / (more - fewer)
