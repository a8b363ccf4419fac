"""The application for gunicorn, with a clock that is wrong by the seconds in the file named by SHIFT.

It does its housekeeping every second, because what a wrong clock deletes is what a test looks for.
"""

import os
import time
from pathlib import Path

from directory.runtime import housekeeping
from wsgi import app

__all__ = ["app"]
_true = time.time


def shift() -> float:
    path = Path(os.environ["SHIFT"])
    return float(path.read_text() or 0) if path.exists() else 0.0


housekeeping.FIRST = housekeeping.PERIOD = 1.0
time.time = lambda: _true() + shift()
