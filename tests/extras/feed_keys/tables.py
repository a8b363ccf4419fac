"""What tests of the core, which walk all routes, know of feed keys."""

from collections.abc import Callable
from typing import Any

from directory import events
from directory.extras.feed_keys import page

KEY = "/api/auth/feed-key"


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    return {
        f"POST {KEY}": t.states("401 201 201 201 401 201"),
        f"DELETE {KEY}": t.states("401 204 204 204 401 204"),
        "POST /account/feed-key": t.states("401 200 200 200 401 200"),
        "POST /account/feed-key/delete": t.states("401 303 303 303 401 303"),
    }


def answers(_t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    return {f"POST {KEY}": {"key"}}


def account_forms() -> dict[str, Any]:
    """Forms of the account (tests/support/walk.py)."""
    return {"feed-key": [{"nothing": ""}], "feed-key/delete": [{"nothing": ""}]}


def said() -> dict[str, Any]:
    """What the account says after its forms (tests/support/walk.py)."""
    return page.SAID


def causes() -> dict[str, Callable[[Any], Any]]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.USER_FEED_KEY_MADE: lambda scene: scene.owner.post(KEY),
        events.USER_FEED_KEY_DELETED: lambda scene: (scene.owner.post(KEY), scene.owner.delete(KEY)),
    }
