"""Designs of experiments: few rows of settings that are on or off, in which any two meet in all four combinations."""

from collections.abc import Iterable


def assert_pairwise(design: Iterable[str], settings: int) -> None:
    """Compare each two of so many columns of the rows, which are "+" and "-", with all four combinations."""
    rows = [*design]
    for one in range(settings):
        for other in range(one):
            assert sorted({row[one] + row[other] for row in rows}) == ["++", "+-", "-+", "--"]
