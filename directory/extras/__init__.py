"""Features that an installation can do without. Each is a package here, with one value `extra`, and EXTRAS chooses.

An extra imports the core; the core imports no extra, and no extra imports another. What is off adds nothing, and its
data stay: the tables are the core's, so that each database has the same schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask
from jinja2 import ChoiceLoader, FileSystemLoader
from marshmallow import Schema

from directory.db.paging import AnySelect
from directory.events import TABLE, Event
from directory.extensions import Condition, Listener
from directory.language.messages import Message
from directory.services.catalog.own_fields import Definitions, Reader
from directory.services.drafts import Judge

FOLDER = Path(__file__).parent
NAMES = (
    "appeals", "claims", "feed_keys", "fields", "links", "observability", "passkeys", "picks", "pictures", "previews",
    "providers", "replies", "reports", "spam_rules", "vote_review",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of a page: a template, and its values, by a function of what the page is about.

    `said` has by name what a section says after a form of it was accepted, or after something failed elsewhere.
    """

    template: str
    values: Callable[..., Mapping[str, Any]] = dict
    said: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Members:
    """Members of an answer: a schema of their fields, and the function that adds their values to each of some answers.

    The function gets the answers, which it changes, and `by`, the caller. Of a query they are its parameters, and the
    function adds to `added` the values of conditions of the list, by their names.
    """

    schema: Schema
    add: Callable[..., None]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number in the metrics: what it says, and the statement that counts it.

    With a label it is a counter, and the statement has a row with a value of the label for each of its numbers.
    """

    text: str
    count: Callable[[], AnySelect]
    label: str = ""


@dataclass(frozen=True, slots=True)
class OwnList:
    """A list of a member beside the own projects: its name, and the function that shows a page of it.

    It has a tab while `is_on` says so.
    """

    name: Message
    show: Callable[..., Any]
    is_on: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a feature adds to the application.

    `blueprints` have routes of the API, and `pages` those of pages. The routes of a blueprint with the name of one of
    the core join that one: they are described, limited and answered as its own. `commands` has by group, or under "",
    the names of commands and of their functions, in its module `commands`. `slots` are what it shows at places of
    pages. `answers` are the members that it adds to answers and queries of the core, by their schemas: to those that
    the core hands to `serialization.add_members`. `conditions` are those of lists that such a query asks for, by their
    names: functions of the column of the projects' ids, whose SQL has the value as the parameter of that name.
    `on_submit` judges what members submit, edit and register; one extra at most has it. `on_event` has a function for
    each event that it is to learn of: it is called when one is written to the log about projects, with their ids and
    who caused it, in the transaction of the change, before the rows of projects that leave the directory change.
    `definitions` reads the definitions of fields of the operator's own; one extra at most has it. `gauges` are its
    numbers in the metrics, by their names. `own_lists` are lists of members at `/mine`, by the parameters that ask for
    them. `init_app` is called last, so that a middleware of an extra is the outermost one. To `workers` of the
    application's extensions it may add functions that run in threads of the deliverer's process until the event that
    they get is set.
    """

    blueprints: Sequence[Blueprint] = ()
    pages: Sequence[Blueprint] = ()
    commands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    slots: Mapping[str, Slot] = field(default_factory=dict)
    answers: Mapping[type[Schema], Members] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    on_submit: Judge | None = None
    on_event: Mapping[Event, Listener] = field(default_factory=dict)
    definitions: Callable[[], Definitions] | None = None
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    own_lists: Mapping[str, OwnList] = field(default_factory=dict)
    init_app: Callable[[Flask], None] = lambda _app: None


def chosen(value: str) -> tuple[str, ...]:
    """The extras that a value of EXTRAS switches on. Raises ValueError.

    It is `all`, `none`, the names of some, or with a minus before each name those that are left out.
    """
    if value in ("all", "none"):
        return NAMES if value == "all" else ()
    names = [name.strip() for name in value.split(",") if name.strip()]
    left_out = {name.removeprefix("-") for name in names if name.startswith("-")}
    if unknown := next((name for name in names if name.removeprefix("-") not in NAMES), None):
        raise ValueError(f"{unknown.removeprefix('-')!r} is not one of {', '.join(NAMES)}")
    if left_out and len(left_out) < len({*names}):
        raise ValueError("name the extras that are on, or with a minus those that are off, but not both")
    return tuple(name for name in NAMES if (name not in left_out if left_out else name in names))


def of(app: Flask) -> dict[str, Extra]:
    """The extras that are on, by name."""
    return {name: import_module(f"{__name__}.{name}").extra for name in chosen(app.config["EXTRAS"])}


def add_to(app: Flask) -> None:
    """Add the extras that are on to the routes, pages and commands of the core."""
    on = of(app)
    app.extensions["extras_on"] = tuple(on)
    app.extensions["extras_off"] = tuple(name for name in NAMES if name not in on)
    slots: dict[str, list[Slot]] = {}
    commands: dict[str, dict[str, str]] = {}
    answers: dict[type[Schema], list[Members]] = {}
    app.extensions |= {"slots": slots, "extra_commands": commands, "answers": answers, "dumps": {}, "queries": {}}
    app.extensions["workers"] = []
    app.extensions["on_event"] = {
        event: [extra.on_event[event] for extra in on.values() if event in extra.on_event] for event in TABLE
    }
    app.extensions["judge"] = next((extra.on_submit for extra in on.values() if extra.on_submit), None)
    app.extensions["definitions"] = next(
        (Reader(extra.definitions) for extra in on.values() if extra.definitions), None
    )
    for point in ("conditions", "gauges", "own_lists"):
        app.extensions[point] = {key: value for extra in on.values() for key, value in getattr(extra, point).items()}
    templates = [FileSystemLoader(FOLDER / name / "templates") for name in on]
    app.jinja_loader = ChoiceLoader([*filter(None, [app.jinja_loader]), *templates])
    for name, extra in on.items():
        for place, slot in extra.slots.items():
            slots.setdefault(place, []).append(slot)
        for schema, members in extra.answers.items():
            answers.setdefault(schema, []).append(members)
        for group, some in extra.commands.items():
            paths = {command: f"{__name__}.{name}.commands:{function}" for command, function in some.items()}
            commands.setdefault(group, {}).update(paths)
        for blueprint in (*extra.blueprints, *(extra.pages if app.config["WEB_ENABLED"] else ())):
            _join(app, blueprint)


def _join(app: Flask, blueprint: Blueprint) -> None:
    """Register a blueprint, or add its routes to the one of the core that has its name."""
    if blueprint.name not in app.blueprints:
        app.register_blueprint(blueprint)
        return
    state = blueprint.make_setup_state(app, {})
    for add in blueprint.deferred_functions:
        add(state)
