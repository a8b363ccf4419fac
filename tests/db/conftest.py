"""Fixtures of the tests that migrate."""

from collections.abc import Iterator

import flask_migrate
import pytest
from flask import Flask

from directory.db import schema_changes
from directory.extensions import db


@pytest.fixture
def at_head_afterwards(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Migrate with short pauses, and bring the database back to the newest schema."""
    monkeypatch.setattr(schema_changes, "PAUSE", 0.01)
    yield
    with app.app_context():
        db.session.remove()
        flask_migrate.upgrade()
