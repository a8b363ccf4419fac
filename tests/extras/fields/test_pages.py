"""Own fields on pages: what a list can be narrowed to, rows of lists, and what programs read of a project's page."""

import html
import json
from typing import Any

from flask import Flask

from directory.db.transactions import transaction
from directory.services.data import demo, seeding
from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, PROJECT, SCORE, define
from tests.extras.fields.test_filters import FREE, NUMBER, SINCE
from tests.support.factories import Api, World

VALUES = {
    "license": "mit",
    "platforms": ["linux", "mac"],
    "price": 1.5,
    "since": "2026-01-01",
    "free": True,
    "score": 7,
}


def test_pages_narrow_lists_and_show_values(app: Flask, world: World) -> None:
    world.category("tools")
    admin, visitor = world.caller(world.admin("root")), Api(app)
    define(
        admin, {**LICENSE, "in_list": True}, {**PLATFORMS, "facet": True}, NUMBER, {**SINCE, "in_list": True}, FREE,
        SCORE, OTHERS[0],
    )  # fmt: skip
    for number, values in enumerate((VALUES, {"license": "gpl"})):
        given = {**PROJECT, "title": f"Lamp {number}", "url": f"https://{number}.example/", "fields": values}
        made = admin.post("/api/projects", given).json
        assert admin.put(f"/api/admin/projects/{made['id']}/approve").status_code == 200

    def page(address: str) -> str:
        answer = visitor.get(address)
        assert answer.status_code == 200, address
        return html.unescape(answer.text)

    first = page("/categories/tools")
    for shown in (
        '<a href="/categories/tools?field.license=mit" rel="nofollow"><span dir="auto">MIT</span> <span class="count">',
        'name="field.price.from" value=""', 'type="date" inputmode="decimal" name="field.since.to"',
        '<span><bdi>MIT</bdi></span>', '<span><bdi>Since: 2026-01-01</bdi></span>', ">Yes</span>",
    ):  # fmt: skip
        assert shown in first, shown
    assert "Score" not in first
    assert 'content="noindex' not in first
    narrowed = page("/?field.license=mit&field.price=1..2&q=lamp&utm=x")
    for shown in (
        '<input type="hidden" name="field.license" value="mit">', 'name="field.price.from" value="1"',
        'name="field.price.to" value="2"', "Licence: MIT", "Price: 1–2", "Lamp 0", "noindex",
        '<a href="/?q=lamp&field.price=1..2" rel="nofollow" aria-current="true">',
        '<input type="hidden" name="q" value="lamp">',
    ):  # fmt: skip
        assert shown in narrowed, shown
    assert "Lamp 1<" not in narrowed
    alone = page("/?field.license=mit")
    assert "<title>MIT" in alone
    assert 'href="/?field.license=gpl,mit" rel="nofollow"' in alone
    assert "<title>Price: ≤ 1.5, Since: ≥ 2026-01-01" in page("/?field.price=..1.5&field.since=2026-01-01..")
    in_category = page("/categories/tools?field.free=true&field.nothing=x")
    assert "projects.atom?category=tools&field.free=true" in in_category
    assert ": Yes" in in_category
    assert "Nothing found" in page("/?field.platforms=windows")
    assert 'aria-current="true"><span dir="auto">Windows</span> <span class="count">0' in page(
        "/?field.platforms=windows"
    )
    moved = visitor.get("/categories/tools?field.price.from=1,5&field.price.to=&field.since.from=&q=lamp")
    assert moved.status_code == 308
    assert moved.headers["Location"] == "/categories/tools?q=lamp&field.price=1.5.."
    project = page("/p/1/lamp-0")
    data = json.loads(project.partition('type="application/ld+json">')[2].partition("</script>")[0])
    software: dict[str, Any] = next(each for each in data if each["@type"] == "SoftwareApplication")
    named = [(each["name"], each["value"]) for each in software["additionalProperty"]]
    assert ("Licence", "MIT") in named
    assert ("Platforms", "Mac") in named
    assert "Score" not in [name for name, _value in named]
    for shown in ("field.price=1.5", "field.free=true", "field.since=2026-01-01"):
        assert f'<a href="/?{shown}" rel="nofollow">' in project
    admin.put(f"{FIELDS}/license", {"retired": True})
    assert "field.license" not in page("/categories/tools")


def test_the_demo_shows_what_fields_are_for(app: Flask) -> None:
    with app.app_context():
        story = demo.compose(1)
        transaction(lambda: seeding.plant(story))
    visitor = Api(app)
    first = visitor.get("/").text
    for label in ("Licence", "Platforms", "Free of charge"):
        assert f'<h2 dir="auto">{label}</h2>' in first
    assert ">Apache 2.0</bdi>" in first
    found = visitor.get("/api/projects?field.license=mit,bsd&field.free=true&field.platforms=web").json["items"]
    assert [each["title"] for each in found if "web" not in each["fields"]["platforms"]] == []
    for each in visitor.get("/api/projects/facets").json["fields"].values():
        assert len(each) > 1
