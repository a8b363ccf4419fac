"""Features that an installation can do without. Each is a package here, with one value `extra`, and EXTRAS chooses.

An extra imports the core; the core imports no extra, and no extra imports another. What is off adds nothing, and its
data stay: the tables are the core's, so that each database has the same schema.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from flask import Blueprint, Flask

NAMES = ("observability", "vote_review")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a feature adds to the application.

    `blueprints` have routes of the API, and `pages` those of pages. The routes of a blueprint with the name of one of
    the core join that one: they are described, limited and answered as its own. `init_app` is called last, so that a
    middleware of an extra is the outermost one.
    """

    blueprints: Sequence[Blueprint] = ()
    pages: Sequence[Blueprint] = ()
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


def of(app: Flask) -> list[Extra]:
    """The extras that are on."""
    return [import_module(f"{__name__}.{name}").extra for name in chosen(app.config["EXTRAS"])]


def add_routes(app: Flask) -> None:
    """Add the routes of the extras that are on to those of the core."""
    app.extensions["extras_off"] = [name for name in NAMES if name not in chosen(app.config["EXTRAS"])]
    for extra in of(app):
        for blueprint in (*extra.blueprints, *(extra.pages if app.config["WEB_ENABLED"] else ())):
            if blueprint.name not in app.blueprints:
                app.register_blueprint(blueprint)
                continue
            state = blueprint.make_setup_state(app, {})
            for add in blueprint.deferred_functions:
                add(state)
