"""Zipf's law: few get much, many get little."""

from collections.abc import Iterator
from itertools import accumulate

from directory.services.data.demo import weights


def shares(total: int, size: int, most: int) -> Iterator[int]:
    """`total` things divided by rank: whole numbers of at most `most` that sum up to just `total`.

    What a rank would have beyond `most` goes to those below it. `total` must not exceed `size * most`.
    """
    weight, passed, given = sum(weights(size)), 0.0, 0
    for below, own in zip(range(size - 1, -1, -1), weights(size), strict=True):
        if not passed and total * own > most * weight:
            share, total, weight = most, total - most, weight - own
        else:
            # Rounded in sum, not each: where things are fewer than ranks, they are not all left to the last ones.
            passed += own
            due = round(total * passed / weight) - given
            # At least so many that the ranks below need at most `most` each; and at most `most` here.
            share = min(most, max(due, total - given - below * most))
            given += share
        yield share


def cumulative(size: int) -> list[float]:
    """The weights summed up to each rank, as `random.choices` wants them."""
    return list(accumulate(weights(size)))
