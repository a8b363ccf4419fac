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

FOLDER = Path(__file__).parent
NAMES = ("appeals", "observability", "passkeys", "pictures", "previews", "replies", "vote_review")


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of a page: a template, and its values, by a function of what the page is about.

    `said` has by name what a section says after a form of it was accepted.
    """

    template: str
    values: Callable[..., Mapping[str, Any]] = dict
    said: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a feature adds to the application.

    `blueprints` have routes of the API, and `pages` those of pages. The routes of a blueprint with the name of one of
    the core join that one: they are described, limited and answered as its own. `commands` has by group the names of
    commands and of their functions, in its module `commands`. `slots` are what it shows at places of pages.
    `init_app` is called last, so that a middleware of an extra is the outermost one.
    """

    blueprints: Sequence[Blueprint] = ()
    pages: Sequence[Blueprint] = ()
    commands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    slots: Mapping[str, Slot] = field(default_factory=dict)
    init_app: Callable[[Flask], None] = lambda _app: None


def chosen(value: str) -> tuple[str, ...]:
    """The extras that a value of EXTRAS switches on. Raises ValueError.

    It is `all`, `none`, the names of some, or with a minus before each name those that are left out.
    """
    if value in ("all", "none"):
        return NAMES if value == "all" else ()
    given = [each.strip() for each in value.split(",") if each.strip()]
    left_out = {each.removeprefix("-") for each in given if each.startswith("-")}
    if unknown := next((each for each in given if each.removeprefix("-") not in NAMES), None):
        raise ValueError(f"{unknown.removeprefix('-')!r} is not one of {', '.join(NAMES)}")
    if left_out and len(left_out) < len({*given}):
        raise ValueError("name the extras that are on, or with a minus those that are off, but not both")
    return tuple(each for each in NAMES if (each not in left_out if left_out else each in given))


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
    app.extensions |= {"slots": slots, "extra_commands": commands}
    templates = [FileSystemLoader(FOLDER / name / "templates") for name in on]
    app.jinja_loader = ChoiceLoader([*filter(None, [app.jinja_loader]), *templates])
    for name, extra in on.items():
        for place, slot in extra.slots.items():
            slots.setdefault(place, []).append(slot)
        for group, some in extra.commands.items():
            found = {command: f"{__name__}.{name}.commands:{function}" for command, function in some.items()}
            commands.setdefault(group, {}).update(found)
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
