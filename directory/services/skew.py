"""Zipf's law: few get much, many get little."""

from collections.abc import Iterator
from itertools import accumulate

EXPONENT = 0.9


def weights(size: int) -> Iterator[float]:
    """The weight of each rank, the first one's being 1."""
    return (rank**-EXPONENT for rank in range(1, size + 1))


def shares(total: int, size: int, most: int) -> Iterator[int]:
    """`total` things divided by rank: whole numbers of at most `most` that sum up to just `total`.

    What a rank would have beyond `most` goes to those below it. `total` must not exceed `size * most`.
    """
    weight = sum(weights(size))
    for below, own in zip(range(size - 1, -1, -1), weights(size), strict=True):
        share = min(most, int(total * own / weight + 0.5)) if below else total
        share = max(share, total - below * most)
        yield share
        total -= share
        weight -= own


def cumulative(size: int) -> list[float]:
    """The weights summed up to each rank, as `random.choices` wants them."""
    return list(accumulate(weights(size)))
