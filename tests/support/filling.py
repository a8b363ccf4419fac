"""The application for gunicorn, on a disk that is full while the file named by PAGES is there: SQLite may not grow."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import event

from directory.extensions import db
from wsgi import app

__all__ = ["app"]
UNBOUND = 4_294_967_294

with app.app_context():
    engine = db.engine


@event.listens_for(engine, "checkout")
def bound(connection: Any, _record: Any, _proxy: Any) -> None:
    full = Path(os.environ["PAGES"]).exists()
    connection.execute(f"PRAGMA max_page_count={1 if full else UNBOUND}")
