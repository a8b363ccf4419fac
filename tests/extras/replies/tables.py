"""What tests of the core, which walk all routes, know of saved replies."""

import re
from itertools import count
from typing import Any

from directory import events

_numbers = count(1)
REPLIES, REPLY = "/api/review/replies", "/api/review/replies/<id:reply_id>"
LIST, ADD, CHANGE, REMOVE = f"GET {REPLIES}", f"POST {REPLIES}", f"PUT {REPLY}", f"DELETE {REPLY}"
PAGE = "/admin/replies"


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    writes = {ADD: "201", CHANGE: "200", REMOVE: "204"}
    alone = {name: t.states(f"401 403 403 403 401 {status} 403 403 403") for name, status in writes.items()}
    return {LIST: t.REVIEW, **alone, f"GET {PAGE}": t.PUBLIC}


def for_administrators() -> dict[str, Any]:
    """Routes for reviewers' eyes, where administrators alone write (tests/api/test_access.py)."""
    return dict.fromkeys((ADD, CHANGE, REMOVE))


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_revisions_public.py)."""
    return {PAGE: [""]}


def console() -> dict[str, Any]:
    """What its page says in an empty directory (tests/web/test_console_pages.py)."""
    return {PAGE: re.compile("^Advertisement$|^No saved replies")}  # a new database has some


def hostile_texts(admin: Any, texts: list[str]) -> dict[str, Any]:
    """Make one of hostile texts."""
    reply = {"name": texts[0][:60], "decision": "reject", "text": re.sub("[{}]", "", "\n".join(texts)[:2000])}
    assert admin.post(REPLIES, reply).status_code == 201
    return {}


def causes() -> dict[Any, Any]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.REPLY_CREATED: _reply,
        events.REPLY_CHANGED: lambda scene: scene.admin.put(_reply(scene), {"name": "Never"}),
        events.REPLY_DELETED: lambda scene: scene.admin.delete(_reply(scene)),
    }


def _reply(scene: Any) -> str:
    given = {"name": "Soon", "decision": "reject", "text": "Not yet."}
    return f"{REPLIES}/{scene.admin.post(REPLIES, given).json['id']}"


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    number = next(_numbers)
    return {
        ADD: {"name": f"New {number}", "decision": "reject", "text": "New."},
        CHANGE: {"text": f"Changed {number}"},
    }


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {ADD: {"name", "decision", "text"}, CHANGE: {"name", "decision", "text"}}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    reply = {"id", "name", "decision", "text"}
    return {LIST: t.items(reply), ADD: reply, CHANGE: reply}
