"""The counters of own fields: exact whatever changes at once, and locked in one order."""

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category, FieldCount, Project, ProjectField
from directory.services.catalog import own_values
from directory.services.data import counter_checks
from directory.services.review import moderation
from tests.db.test_tag_counts import decided_at_once, slow_counting, stated
from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, define
from tests.support.factories import Api, World

MIT, BOTH = {"license": "mit", "free": True, "team": "Core"}, {"license": "gpl", "platforms": ["linux", "mac"]}


def stored(app: Flask) -> dict[str, int]:
    """The counters that are not zero, by category, field and value. They are what their rows give."""
    with app.app_context():
        assert counter_checks.FIELDS.look() == []
        rows = select(Category.slug, FieldCount.field, FieldCount.value, FieldCount.live_projects)
        rows = rows.join(Category, Category.id == FieldCount.category_id).where(FieldCount.live_projects > 0)
        return {f"{slug} {field} {value}": number for slug, field, value, number in db.session.execute(rows)}


def run(app: Flask, *statements: str) -> None:
    with app.app_context():
        transaction(lambda: [db.session.execute(text(each)) for each in statements])


@pytest.fixture
def admin(world: World) -> Api:
    world.category("tools")
    world.category("games")
    admin = world.caller(world.admin())
    define(admin, LICENSE, PLATFORMS, *OTHERS)
    return admin


def written(world: World, values: dict[str, Any], **facts: Any) -> int:
    return world.project(**{"status": "live", "category": "tools", "fields": values, **facts})


@pytest.mark.usefixtures("admin")
def test_the_database_counts_whatever_the_statement(app: Flask, world: World) -> None:
    one, two = written(world, MIT), written(world, BOTH, status="pending")
    assert stored(app) == {"tools license mit": 1, "tools free true": 1}
    stated(app, two, "live")
    run(app, "UPDATE projects SET status = 'live', published_at = submitted_at")
    assert stored(app)["tools platforms mac"] == 1
    run(app, f"UPDATE projects SET category_id = (SELECT id FROM categories WHERE slug = 'games') WHERE id = {two}")
    of_two = {f"games {each}": 1 for each in ("license gpl", "platforms linux", "platforms mac")}
    assert stored(app) == {"tools license mit": 1, "tools free true": 1} | of_two
    run(app, f"""UPDATE projects SET fields = '{{"license": "gpl", "free": false}}' WHERE id = {one}""")
    assert stored(app) == {"tools license gpl": 1, "tools free false": 1} | of_two
    # All of it in one statement.
    moved = "status = 'live', published_at = submitted_at, category_id = (SELECT min(id) FROM categories)"
    run(app, f"""UPDATE projects SET {moved}, fields = '{{"license": "mit"}}'""")
    with app.app_context():
        slug = db.session.scalar(select(Category.slug).order_by(Category.id).limit(1))
    assert stored(app) == {f"{slug} license mit": 2}
    stated(app, one, "rejected")
    run(app, f"UPDATE projects SET status = 'rejected' WHERE id = {one}")
    run(app, f"UPDATE projects SET fields = NULL WHERE id = {one}", f"UPDATE projects SET upvotes = 7 WHERE id = {two}")
    assert stored(app) == {f"{slug} license mit": 1}
    run(app, f"""UPDATE projects SET fields = '{{"license": "gpl"}}' WHERE id = {one}""", "DELETE FROM projects")
    assert stored(app) == {}


@pytest.mark.usefixtures("admin")
def test_counters_are_checked_and_repaired(app: Flask, world: World) -> None:
    written(world, MIT)
    command = app.test_cli_runner(catch_exceptions=False).invoke
    for damage, said in (
        ("UPDATE field_counts SET live_projects = 5 WHERE field = 'license'", "license mit in category"),
        ("DELETE FROM field_counts WHERE field = 'free'", "free true in category"),
    ):
        run(app, damage)
        found = command(args=["recount", "--check"])
        assert (found.exit_code, said in found.output) == (1, True), found.output
        assert command(args=["recount"]).exit_code == 1
        assert "all is right" in command(args=["recount", "--check"]).output
    assert stored(app) == {"tools license mit": 1, "tools free true": 1}


def test_a_category_that_goes_takes_its_counters_along(app: Flask, world: World, admin: Api) -> None:
    project = written(world, MIT, category="games")
    assert admin.delete(f"/api/projects/{project}").status_code == 204
    assert admin.delete("/api/admin/categories/games").status_code == 204
    with app.app_context():
        assert db.session.scalars(select(FieldCount.field)).all() == []


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_approvals_and_edits_that_share_values_never_wait_for_each_other_in_a_ring(
    app: Flask, world: World, admin: Api
) -> None:
    """Alone and many at once, in two categories, with tags in every order, beside deletions and direct changes."""
    root, owner = world.admin("decides"), world.user()
    orders = [[*each] for each in permutations("abc")]
    facts = [
        {"tags": order, "category": ("tools", "games")[n % 2], "fields": (MIT, BOTH)[n // 2 % 2]}
        for n, order in enumerate(orders * 5)
    ]
    pending = [world.project(owner, "pending", **each) for each in facts[:18]]
    live = [world.project(owner, "live", **each) for each in facts[18:]]

    def alone(project: int) -> Callable[[], Any]:
        return lambda: moderation.decide(project, "approve", by=root, notify=[])

    def together(*projects: int) -> Callable[[], Any]:
        return lambda: moderation.decide_many("approve", dict.fromkeys(projects), by=root, notify=[])

    def edited(project: int, order: list[str]) -> Callable[[], Any]:
        change = "UPDATE projects SET tags = CAST(:tags AS jsonb), fields = CAST(:fields AS jsonb) WHERE id = :id"
        values = {"tags": str([*order, "d"]).replace("'", '"'), "fields": '{"license": "mit", "free": false}'}
        return lambda: db.session.execute(text(change), {**values, "id": project})

    with slow_counting(app):
        edits = [edited(project, orders[n % 6]) for n, project in enumerate(live)]
        batches = [together(*pending[n:12:3]) for n in range(3)]
        assert decided_at_once(app, [*batches, *map(alone, pending[12:]), *edits]) == []
    found = Counter[str]()
    with app.app_context():
        of_category = Category.id == Project.category_id
        for slug, values in db.session.execute(select(Category.slug, Project.fields).join(Category, of_category)):
            for name, held in values.items():
                chosen = [] if name == "team" else held if isinstance(held, list) else [held]
                found.update(f"{slug} {name} {str(value).lower()}" for value in chosen)
    assert stored(app) == found


def test_of_threads_that_change_values_at_once_each_is_counted(app: Flask, world: World, admin: Api) -> None:
    rng, owner = random.Random(7), world.user()
    projects = [written(world, {"license": "mit"}, owner=owner, url=f"https://{n}.example/") for n in range(6)]

    def changes(number: int) -> Callable[[], Any]:
        project, value = rng.choice(projects), rng.choice(["mit", "gpl"])
        other = json.dumps({"license": value, "free": rng.random() < 0.5})
        statements = (
            f"UPDATE projects SET fields = '{other}' WHERE id = {project}",
            f"UPDATE projects SET category_id = (SELECT id FROM categories WHERE slug = 'games') WHERE id = {project}",
        )
        return lambda: [db.session.execute(text(each)) for each in statements[: 1 + number % 2]]

    assert decided_at_once(app, [changes(number) for number in range(16)]) == []
    counted = stored(app)
    assert sum(number for name, number in counted.items() if " license " in name) == len(projects)


def test_a_deleted_field_leaves_no_counters_above_zero(app: Flask, world: World, admin: Api) -> None:
    written(world, MIT)
    assert admin.delete(f"{FIELDS}/license").status_code == 204
    with app.app_context():
        transaction(lambda: own_values.purge(100))
        assert db.session.scalars(select(ProjectField.field).order_by("field")).all() == ["free", "team"]
    assert stored(app) == {"tools free true": 1}
