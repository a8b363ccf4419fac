"""The application for gunicorn, which ends with all its processes by SIGKILL between a commit and its answer.

It does so once the file named by DIES exists: at the first commit after that has something in the outbox.
"""

import os
import signal
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session

from directory.models import Delivery
from wsgi import app

__all__ = ["app"]


@event.listens_for(Session, "after_flush")
def note(session: Any, _context: Any) -> None:
    session.info["enqueued"] = any(isinstance(one, Delivery) for one in session.new)


@event.listens_for(Session, "after_commit")
def die(session: Any) -> None:
    if session.info.get("enqueued") and Path(os.environ["DIES"]).exists():
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
