"""The application for gunicorn, which is killed with all its processes once the file named by DIES exists.

Where the file is empty it does so between a commit and its answer: the first commit that has something in the outbox.
Where it has a number, it does so at that moment of an approval: before its first statement (1), its second and so on,
before its commit, and before its answer.
"""

import os
import signal
from itertools import count
from pathlib import Path
from typing import Any

from flask import Response, has_request_context, request
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from directory.extensions import db
from directory.services.delivery import outbox
from wsgi import app

__all__ = ["app"]

SWITCH = Path(os.environ["DIES"])


def end() -> None:
    """End all processes."""
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


add_row_later = outbox.add_row_later


def add_and_note(model: Any, row: Any) -> None:
    """Add a row, and note that there is something in the outbox."""
    db.session.info["enqueued"] = True
    add_row_later(model, row)


outbox.add_row_later = add_and_note


@event.listens_for(Session, "after_commit")
def die_after_commit(session: Any) -> None:
    if session.info.pop("enqueued", False) and SWITCH.exists() and not SWITCH.read_text():
        end()


@event.listens_for(Engine, "before_cursor_execute")
@event.listens_for(Engine, "commit")
def die_within(*_: Any) -> None:
    if has_request_context() and request.path.endswith("/approve") and SWITCH.exists():
        moments = request.environ.setdefault("moments", count(1))
        if str(next(moments)) == SWITCH.read_text():
            end()


@app.after_request
def die_before_answer(response: Response) -> Response:
    die_within()
    return response
