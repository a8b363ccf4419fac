"""What tests of the core, which walk all routes, know of own fields."""

from itertools import count
from typing import Any

from flask import Flask

from directory import events
from directory.services.identity import Caller
from tests.support.factories import World

_numbers = count(1)
ALL, FIELDS = "/api/fields", "/api/admin/fields"
FIELD, ORDER = f"{FIELDS}/<field:field>", f"{FIELDS}/order"
SHOW_ALL, LIST, ADD = f"GET {ALL}", f"GET {FIELDS}", f"POST {FIELDS}"
SHOW, CHANGE, REMOVE, SORT = f"GET {FIELD}", f"PUT {FIELD}", f"DELETE {FIELD}", f"PUT {ORDER}"
PAGES = ("/admin/fields", "/admin/fields/new", "/admin/fields/of/<field:field>")
TEXT = {"label": "A field", "kind": "text"}


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    return {
        SHOW_ALL: t.PUBLIC, LIST: t.ADMIN, SHOW: t.ADMIN, CHANGE: t.ADMIN, ADD: t.states("401 403 403 403 401 201"),
        REMOVE: t.states("401 403 403 403 401 204"), SORT: t.ADMIN,
        **dict.fromkeys((f"GET {page}" for page in PAGES), t.PUBLIC),
    }  # fmt: skip


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_revisions_public.py)."""
    return {ALL: [""], **{page: ["/field" if "<" in page else ""] for page in PAGES}}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    number = next(_numbers)
    return {
        ADD: {**TEXT, "name": f"new_{number}", "categories": []},  # so that no form asks for it
        CHANGE: {"label": f"Changed {number}"},
        SORT: {"order": ["a_field"]},
    }


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    field = {"name", "label", "help", "kind", "choices", "required", "material", "audience", "facet", "in_list"}
    field |= {"search", "categories", "retired"}
    return {ADD: field, CHANGE: field, SORT: {"order"}}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    shown = {"name", "label", "help", "kind", "choices", "required", "facet", "in_list", "categories", "audience"}
    field = shown | {"material", "search", "retired", "projects"}
    alone = dict.fromkeys((ADD, SHOW, CHANGE), field)
    return {SHOW_ALL: t.items(shown), LIST: t.items(field), SORT: t.items(field), **alone}


def elsewhere(t: Any) -> dict[str, set[str]]:
    """Members that are declared, and absent in those answers, which have no choices (there)."""
    choice = {"value", "label"}
    more = choice | {"retired", "projects"}
    return {
        SHOW_ALL: t.below("items[].choices[]", *choice),
        **dict.fromkeys((LIST, SORT), t.below("items[].choices[]", *more)),
        **dict.fromkeys((ADD, SHOW, CHANGE), t.below("choices[]", *more)),
    }


def asking() -> dict[str, Any]:
    """Who asks its routes there: an administrator, with a field."""
    return {FIELDS: Asking, ALL: Asking}


class Asking:
    """An administrator, who asks each route about the one field that there is."""

    def __init__(self, app: Flask, admin: Caller) -> None:
        self.world = World(app)
        self.caller = self.world.caller(admin)

    def ask(self, name: str) -> Any:
        """The answer."""
        field, (method, path) = self.world.field(), name.split()
        body = {**bodies(), SORT: {"order": [field]}}.get(name)
        return self.caller.call(method, path.replace("<field:field>", field), body).json


def writes() -> dict[Any, Any]:
    """Writes of administrators (tests/services/test_audit_completeness.py)."""
    return {
        ("POST", "fields"): lambda *_: ("fields", {**TEXT, "name": "new"}),
        ("PUT", "fields/order"): _ordering,
        ("PUT", "fields/<field:field>"): lambda w, _: (f"fields/{w.field()}", {"label": "Other"}),
        ("DELETE", "fields/<field:field>"): lambda w, _: (f"fields/{w.field()}", None),
    }


def _ordering(world: Any, _admin: Any) -> tuple[str, Any]:
    first, second = world.field(), world.field("another", keep=True)
    return "fields/order", {"order": [second, first]}


def unlogged_commands() -> dict[str, str]:
    """Commands that leave no entry of their own, and why."""
    return {
        "fields import": "each field has an entry (test_commands.py)",
        "fields export": "it writes nothing",
    }


def console() -> dict[str, Any]:
    """What its page says in an empty directory (tests/web/test_console_pages.py)."""
    return {PAGES[0]: "No fields yet"}


def hostile_texts(admin: Any, texts: list[str]) -> dict[str, Any]:
    """Make one of hostile texts."""
    choices = [{"value": f"v-{number}", "label": text[:60]} for number, text in enumerate(texts)]
    field = {"name": "hostile", "label": texts[0][:60], "help": texts[1][:200], "kind": "choice", "choices": choices}
    assert admin.post(FIELDS, field).status_code == 201
    return {}


def causes() -> dict[Any, Any]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.FIELD_CREATED: lambda scene: scene.admin.post(FIELDS, {**TEXT, "name": "new"}),
        events.FIELD_CHANGED: lambda scene: scene.admin.put(f"{FIELDS}/{_added(scene)}", {"label": "Other"}),
        events.FIELD_DELETED: lambda scene: scene.admin.delete(f"{FIELDS}/{_added(scene)}"),
    }


def _added(scene: Any) -> str:
    name = f"added_{next(_numbers)}"
    assert scene.admin.post(FIELDS, {**TEXT, "name": name}).status_code == 201
    return name
