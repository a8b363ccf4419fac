"""The rules refuse by themselves what a route refuses first: a category may go, or a token expire, in between."""

from datetime import timedelta

import pytest

from directory.errors import Invalid
from directory.models import now
from directory.services.accounts import api_tokens
from directory.services.review import submissions


def test_a_token_that_has_expired_is_not_made(app, world):
    with app.app_context(), pytest.raises(Invalid) as refused:
        api_tokens.issue("late", now() - timedelta(seconds=1), by=world.user())
    assert [error["pointer"] for error in refused.value.errors] == ["#/expires_at"]


def test_a_project_is_not_submitted_to_a_category_that_does_not_exist(app, world):
    fields = {"title": "A", "tagline": "b", "url": "https://example.org", "category": "gone"}
    with app.app_context(), pytest.raises(Invalid) as refused:
        submissions.submit(fields, by=world.user(), notify=[])
    assert [error["pointer"] for error in refused.value.errors] == ["#/category"]
