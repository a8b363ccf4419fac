"""A category whose slug changes goes on being found by those that it had; no other category may take them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from directory.extensions import db
from tests.conftest import Database
from tests.support.factories import Api, World
from tests.support.waiting import until

ADD = text("INSERT INTO categories (slug, name, description, live_projects, pending_projects, rejected_projects) "
    "VALUES (:slug, 'X', '', 0, 0, 0)")  # fmt: skip
RENAME = text("UPDATE categories SET slug = :slug WHERE slug = :old")
WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


def rename(admin: Api, old: str, slug: str) -> Any:
    return admin.put(f"/api/admin/categories/{old}", {"slug": slug})


def found(caller: Api, path: str) -> list[int]:
    return [each["id"] for each in caller.get(path).json["items"]]


def test_a_slug_of_before_finds_the_category_everywhere(world: World, api: Api, admin: Api) -> None:
    ada = world.caller(world.user("ada"))
    live, waits = (
        world.project(category="old", title="Lamp", tags=["x"]),
        world.project(category="old", status="pending"),
    )
    before = api.get("/categories/old")
    assert (before.status_code, found(api, "/api/projects?category=old")) == (200, [live])
    for old, new in (("old", "newer"), ("newer", "newest")):
        assert rename(admin, old, new).status_code == 200
    for slug in ("old", "newer", "newest"):
        for query in ("", "&sort=upvotes", "&q=lamp", "&tag=x", "&owner=nobody"):
            page = api.get(f"/api/projects?category={slug}{query}").json
            expected = [] if "nobody" in query else [live]
            assert [each["id"] for each in page["items"]] == expected, (slug, query)
            assert page["pagination"]["total"] == len(expected)
        assert found(admin, f"/api/admin/projects?category={slug}&waiting=true") == [waits]
        facets = api.get(f"/api/projects/facets?category={slug}").json
        assert (facets["categories"], facets["tags"]) == ([], [{"tag": "x", "live_projects": 1}])
        assert api.get(f"/api/projects.atom?category={slug}").text.count("<entry>") == 1
    for slug in ("old", "newer", "newest"):
        body = {"title": slug, "tagline": "?", "url": f"https://{slug}.example", "category": slug}
        assert ada.post("/api/projects", body).json["category"]["slug"] == "newest"
    assert [each["slug"] for each in api.get("/api/categories").json["items"]] == ["newest"]
    assert found(api, "/api/projects?category=never") == []
    assert admin.put("/api/admin/categories/old", {"name": "Old"}).status_code == 404


def test_the_page_of_a_slug_of_before_leads_to_the_present_one(world: World, api: Api, admin: Api) -> None:
    world.project(category="old")
    assert api.get("/categories/old").status_code == 200
    rename(admin, "old", "new")
    for caller in (api, world.caller(world.user())):
        answer = caller.get("/categories/old?sort=upvotes&tag=x")
        assert (answer.status_code, answer.headers["Location"]) == (308, "/categories/new?sort=upvotes&tag=x")
        assert caller.get("/?category=old").headers["Location"] == "/categories/old"
        assert caller.get("/categories/new").status_code == 200
        assert caller.get("/categories/never").status_code == 404
    rename(admin, "new", "old")
    assert api.get("/categories/old").status_code == 200
    assert api.get("/categories/new").headers["Location"] == "/categories/old"


def test_no_other_category_takes_a_slug_of_before(app: Flask, world: World, api: Api, admin: Api) -> None:
    world.category("old")
    world.category("other")
    rename(admin, "old", "new")
    for taken in (rename(admin, "other", "old"), admin.post("/api/admin/categories", {"slug": "old", "name": "Old"})):
        assert (taken.status_code, taken.json["errors"][0]["pointer"]) == (409, "#/slug")
    with app.app_context():
        for statement, given in ((ADD, {"slug": "old"}), (RENAME, {"slug": "old", "old": "other"})):
            with pytest.raises(IntegrityError), db.engine.begin() as connection:
                connection.execute(statement, given)
    assert rename(admin, "new", "old").json["slug"] == "old"
    assert rename(admin, "other", "new").status_code == 409
    assert admin.delete("/api/admin/categories/old").status_code == 204
    assert rename(admin, "other", "new").status_code == 200


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_slug_that_is_being_given_up_is_not_taken_meanwhile(app: Flask, world: World, database: Database) -> None:
    world.category("old")

    def add() -> str:
        try:
            with app.app_context(), db.engine.begin() as connection:
                connection.execute(ADD, {"slug": "old"})
        except IntegrityError as error:
            return str(error.orig.diag.constraint_name)  # type: ignore[union-attr]
        return "added"

    def is_waiting() -> bool:
        with db.engine.connect() as looking:  # a transaction sees the same sessions until it ends
            return bool(looking.execute(WAITING).scalar())

    with app.app_context(), db.engine.connect() as connection, ThreadPoolExecutor(1) as pool:
        renaming = connection.execution_options(isolation_level="READ COMMITTED")
        renaming.execute(RENAME, {"slug": "new", "old": "old"})
        added = pool.submit(add)
        until(is_waiting)
        renaming.commit()
        assert added.result() == "uq_categories_slug"


@pytest.mark.parametrize("review", ["material", "always"])
def test_a_slug_of_before_in_an_edit_means_the_present_one(
    make_app: Any, world: World, admin: Api, review: str
) -> None:
    ada = world.user("ada")
    project = world.project(ada, category="old")
    world.category("other")
    rename(admin, "old", "new")
    rename(admin, "other", "another")
    owner, path = Api(make_app(REVIEW_ON_EDIT=review), world.caller(ada).token), f"/api/projects/{project}"
    same = owner.put(path, {"category": "old"}).json
    assert (same["category"]["slug"], same["version"], same["revision"]) == ("new", 2, None)
    changed = owner.put(path, {"category": "other"}).json
    if review == "always":
        assert changed["revision"]["changes"] == {"category": "another"}
        changed = admin.put(f"/api/admin/projects/{project}/approve").json
    assert changed["category"]["slug"] == "another"
    refused = owner.put(path, {"category": "never"})
    assert [error["pointer"] for error in refused.json["errors"]] == ["#/category"]


def test_an_import_finds_a_category_by_a_slug_of_before(app: Flask, world: World, admin: Api, tmp_path: Path) -> None:
    world.category("old")
    rename(admin, "old", "new")
    file = tmp_path / "projects.csv"
    file.write_text("title,tagline,url,category\nA,B,https://a.example,old\nC,D,https://c.example,new\n")
    run = app.test_cli_runner().invoke(args=["import", str(file), "--create-categories"])
    assert run.stdout == "imported 2, unchanged 0, refused 0\n"
    assert [each["slug"] for each in admin.get("/api/categories").json["items"]] == ["new"]
