"""The stored rank behind sort=popular."""

from datetime import datetime
from math import log10

WEEK = 7 * 24 * 3600.0


def hot(upvotes: int, listed_at: datetime) -> float:
    """log10(upvotes + 1) + listed_at in weeks: ten times the votes are worth one week.

    It does not depend on the current time, so a rank changes only with votes, and positions in the order stay valid.
    """
    return log10(upvotes + 1) + listed_at.timestamp() / WEEK
