"""Related projects: what they share, weighed by a look at each project, and what it costs."""

import math
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category, Status, now
from directory.services.catalog import catalog, related
from directory.services.catalog.fields import filled
from directory.services.catalog.search_words import words
from directory.services.data import wholesale
from tests.pages.conftest import text_of, titles
from tests.support.factories import Api, World

TAGS = ["a", "b", "c", "d", "e", "f", "g"]
WORDS = ["lamp", "light", "lantern", "bulb", "torch", "candle", "neon"]


def written(world: World, app: Flask, projects: list[dict[str, Any]]) -> None:
    """Add projects as an import does: each with a category of `tools` and `games`, a status and its fields."""
    owner = world.user().id
    for slug in ("tools", "games"):
        world.category(slug)
    with app.app_context():
        ids = {each.slug: each.id for each in db.session.query(Category)}
        drafts = [
            wholesale.Draft(
                owner_id=owner,
                category_id=ids[each["category"]],
                fields=filled({"url": f"https://example.org/{n}", **each}),
                status=Status(each["status"]),
                submitted_at=now() - timedelta(days=9, minutes=-n),
                decided_at=None if each["status"] == "pending" else now() - timedelta(days=8, minutes=-n),
                rejection_reason="No." if each["status"] == "rejected" else None,
            )
            for n, each in enumerate(projects)
        ]
        transaction(lambda: wholesale.write(drafts, decided_by=None))
        db.session.remove()


def live() -> list[dict[str, Any]]:
    found = catalog.all_stored(list(range(1, 1_000)))
    return [each for each in found if each["status"] == "live"]


def expected(project: dict[str, Any], others: list[dict[str, Any]]) -> list[int]:
    """The related projects by a look at each, where no tag and no category has more than are looked at."""
    used = Counter(tag for each in others for tag in each["tags"])
    weights = {tag: 1000 + round(1000 * math.log(len(others) / used[tag])) for tag in project["tags"] if used[tag]}
    asked = related.asked(f"{project['title']} {project['tagline']}")
    texts = {each["id"]: {*words(" ".join([each["title"], each["tagline"], *each["tags"]]))} for each in others}
    few = [w for w in asked if sum(w in text for text in texts.values()) <= related.FEW]

    def key(each: dict[str, Any]) -> tuple[int, int, bool, int]:
        shared = sum(weights[tag] for tag in project["tags"] if tag in each["tags"])
        same = each["category"] == project["category"]
        return shared, sum(word in texts[each["id"]] for word in few), same, each["id"]

    ranked = sorted((each for each in others if each["id"] != project["id"]), key=key, reverse=True)
    return [each["id"] for each in ranked if key(each)[0] or key(each)[1] > 1 or key(each)[2]][: related.MOST]


@pytest.mark.parametrize("seed", range(3))
def test_they_are_what_a_look_at_each_project_gives(app: Flask, world: World, seed: int) -> None:
    rng = random.Random(seed)
    made = [
        {
            "title": " ".join(rng.sample(WORDS, 2)) if rng.random() < 0.5 else f"Thing {n}",
            "tagline": rng.choice(WORDS),
            "tags": sorted(set(rng.choices(TAGS, [40, 30, 9, 8, 5, 3, 1], k=rng.randrange(5)))),
            "category": rng.choice(["tools", "games"]),
            "status": rng.choices(["live", "pending", "rejected"], [8, 1, 1])[0],
        }
        for n in range(45)
    ]  # fmt: skip
    written(world, app, made)
    with app.app_context():
        others = live()
        for project in others:
            found = [each["id"] for each in related.of(project, viewer=None)]
            assert found == expected(project, others), project
            assert project["id"] not in found
        db.session.remove()


def test_a_word_that_many_have_leads_to_none_and_of_a_tag_the_newest_are_looked_at(app: Flask, world: World) -> None:
    one = {"tagline": "?", "category": "tools", "status": "live", "tags": []}
    made = [{**one, "title": "Lantern", "tags": ["a"]}]
    made += [{**one, "title": "Lantern", "category": "games"} for _ in range(related.FEW)]
    made += [{**one, "title": "Torch", "tags": ["a", "b"], "category": "games"}]
    made += [{**one, "title": "Torch", "tags": ["a"], "category": "games"} for _ in range(related.NEWEST)]
    written(world, app, made)
    with app.app_context():
        first, other = catalog.stored(1), catalog.stored(2)
        newest = [len(made) - n for n in range(related.MOST)]
        assert [each["id"] for each in related.of(first, viewer=None)] == newest
        assert related.of({**first, "tags": ["a", "b"]}, viewer=None)[0]["id"] == 52
        # The fifty-first with the word: it leads nowhere, and the category decides.
        assert [each["id"] for each in related.of({**other, "category_id": first["category_id"]}, viewer=None)] == [1]
        db.session.remove()


def test_votes_of_those_shown_change_the_answer_and_other_votes_do_not(world: World, api: Api) -> None:
    ada = world.user()
    shown, project = world.project(tags=["a"], title="Shown"), world.project(tags=["a"], title="One")
    path = f"/api/projects/{project}/related"
    before = api.get(path)
    assert [(each["id"], each["upvotes"], each["has_upvoted"]) for each in before.json["items"]] == [(shown, 0, None)]
    world.vote(project, ada)
    assert api.get(path).headers["ETag"] == before.headers["ETag"]
    world.vote(shown, ada)
    after = (api.get(path), world.caller(ada).get(path))
    assert [[(each["upvotes"], each["has_upvoted"]) for each in answer.json["items"]] for answer in after] == [
        [(1, None)], [(1, True)]
    ]  # fmt: skip
    page = f"/p/{project}/one"
    assert titles(api.get(page)) == ["Shown"]
    assert "Related projects" in text_of(api.get(page))
    world.caller(world.admin()).put(f"/api/admin/projects/{shown}/unpublish")
    assert api.get(path).json["items"] == []
    assert "Related projects" not in text_of(api.get(page))
    assert api.get(f"/api/projects/{shown}/related").status_code == 404


def test_one_word_alone_makes_no_project_related_without_a_category_or_a_tag(app: Flask, world: World) -> None:
    one = {"tagline": "?", "status": "live", "tags": []}
    made = [
        {**one, "title": "Lantern of node.js for the harbour", "category": "tools"},
        {**one, "title": "A lantern for the sea", "category": "games"},
        {**one, "title": "Node.js for the people of the world", "category": "games"},
        {**one, "title": "Harbour lantern", "category": "games"},
        {**one, "title": "Sea", "category": "tools"},
        {**one, "title": "For the of", "category": "games"},
    ]
    written(world, app, made)
    with app.app_context():
        found = [[each["id"] for each in related.of(catalog.stored(n), viewer=None)] for n in (1, 3, 6)]
        assert found == [[4, 5], [6, 4, 2], [4, 3, 2]]
        db.session.remove()
    assert related.asked("The e-mail of Node.js, for a php-client") == ["client", "nodejs", "email", "php"]
