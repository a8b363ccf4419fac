"""Pages from the response cache are as exact as those without it, and cost the API's lists and one read more."""

import random
import re

import pytest
from sqlalchemy import event, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.services.catalog import search_frequency
from tests.conftest import Statements
from tests.support.extras import ON
from tests.support.factories import Api
from tests.support.lists import ORDERS, THIS_YEAR

PUBLIC = [
    "/", *(f"/?sort={each}" for each in ORDERS), "/?q=lamp", "/?q=lamp&sort=upvotes", "/categories/tools", "/tags/blue",
    "/tags/blue?sort=upvotes", "/users/ada", "/?page=2", "/sign-in", "/sign-up", "/admin",
    "/best", f"/best/{THIS_YEAR}?page=2",
]  # fmt: skip


@pytest.fixture
def filled(world):
    """A directory with lamps of ada and of others, and the addresses of its pages."""
    ada = world.user("ada")
    own = [world.project(ada, title=f"Lamp {number}", tags=["blue"], votes=number % 3) for number in range(12)]
    others = [world.project(title=f"Lantern {number}", tags=["blue"], votes=number % 4) for number in range(12)]
    paths = [f"/p/{each}/{world.stored(each)['slug']}" for each in (*own[:3], *others[:3])]
    return ada, own + others, [*PUBLIC, *paths]


@pytest.fixture
def uncached(make_app):
    """An application without the cache, and the statements that it runs."""
    app, statements = make_app(RESPONSE_CACHE="false"), Statements()
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", statements.note)
        search_frequency.estimates()  # which a process reads once in ten minutes
        db.session.rollback()
    return app, statements


@pytest.mark.response_cache
def test_an_answer_from_the_cache_equals_one_without_it_whoever_reads_in_between(make_app, app, world, filled):
    ada, projects, paths = filled
    plain = make_app(RESPONSE_CACHE="false")
    people = {"ada": world.caller(ada).token, "bob": world.caller(world.user("bob")).token, "admin": None}
    people["admin"] = world.caller(world.admin()).token
    voters = [world.caller(world.user()) for _ in range(4)]
    chance, stale = random.Random(7), []
    owner, admin = Api(app, people["ada"]), Api(app, people["admin"])
    for step in range(60):
        project = chance.choice(projects)
        write = chance.randrange(5)
        if write < 3:
            chance.choice(voters).call(chance.choice(("PUT", "DELETE")), f"/api/projects/{project}/upvote")
        elif write == 3:
            owner.put(f"/api/projects/{project}", {"tagline": f"Changed {step}"})
        else:
            admin.put(f"/api/admin/projects/{project}/{chance.choice(('unpublish', 'approve'))}")
        for path in chance.sample(paths, 6):
            for name in chance.sample(["", *people], 3):
                token = people.get(name)
                cached, made = Api(app, token).get(path), Api(plain, token).get(path)
                facts = [(a.status_code, a.headers.get("ETag"), a.headers["Cache-Control"]) for a in (cached, made)]
                same = without_ids(cached) == without_ids(made)
                if facts[0] != facts[1] or not same:
                    stale.append((step, path, name, facts))
                if name and cached.status_code == 200:
                    assert cached.headers["Cache-Control"] == "private, no-cache"
    assert stale == []


def without_ids(answer):
    return re.sub("Request [0-9a-f]{32}", "", answer.text)


@pytest.mark.response_cache
def test_pages_come_from_the_cache_until_something_changes_and_are_known_by_their_etag(app, api, filled, statements):
    _, projects, paths = filled
    for _ in range(20):  # other databases of the server move the snapshot, on which a page that depends on all depends
        first = {path: api.get(path) for path in paths}
        statements.clear()
        for path, before in first.items():
            answer = api.get(path)
            assert (answer.status_code, answer.text) == (200, before.text)
            assert answer.headers["Content-Security-Policy"] == before.headers["Content-Security-Policy"]
            again = api.get(path, headers={"If-None-Match": answer.headers["ETag"]})
            assert (again.status_code, again.data) == (304, b"")
        if not statements:
            break
    assert statements == []
    with app.app_context():
        transaction(
            lambda: db.session.execute(update(Project).where(Project.id == projects[0]).values(title="Renamed"))
        )
    assert "Renamed" in api.get(paths[-6]).text


@pytest.mark.response_cache
@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)  # SQLite tells that something was written, not what
def test_a_vote_leaves_those_pages_valid_that_do_not_show_it(app, world, api, filled, statements):
    world.category("games")
    far = world.project(category="games", title="Far away")
    kept = ["/categories/tools", "/users/ada", "/sign-in", "/admin"]
    voter = world.caller(world.user())
    assert voter.get("/api/auth/me").status_code == 200  # its first use is recorded
    for path in kept:
        api.get(path)
    assert voter.put(f"/api/projects/{far}/upvote").status_code == 200
    statements.clear()
    for path in kept:
        assert api.get(path).status_code == 200
    assert statements == []


@pytest.mark.parametrize(
    ("page", "reads"),
    [
        ("/", ["/api/projects", "/api/projects/facets"]),
        ("/?sort=popular", ["/api/projects?sort=popular", "/api/projects/facets"]),
        ("/?q=lamp", ["/api/projects?q=lamp", "/api/projects/facets?q=lamp"]),
        ("/categories/tools?sort=upvotes", [
            "/api/projects?category=tools&sort=upvotes", "/api/projects/facets?category=tools",
        ]),
        ("/tags/blue", ["/api/projects?tag=blue", "/api/projects/facets?tag=blue"]),
        ("/users/ada", ["/api/users/ada", "/api/projects?owner=ada"]),
        ("project", ["project"]),
    ],
)  # fmt: skip
def test_a_members_page_takes_the_statements_of_the_api_and_one(uncached, world, filled, page, reads):
    app, statements = uncached
    _, projects, _ = filled
    bob = world.caller(world.user("bob"))
    project = projects[0]
    page = f"/p/{project}/{world.stored(project)['slug']}" if page == "project" else page
    reads = [f"/api/projects/{project}" if read == "project" else read for read in reads]

    def cost(path):
        Api(app, bob.token).get(path)  # the first one may prepare
        statements.clear()
        assert Api(app, bob.token).get(path).status_code == 200
        assert statements
        return len([each for each in statements if "SELECT" in each])

    # Each call of the API looks the caller up again.
    more = 4 + ("picks" in ON) if page == "/" else 1  # the ids and projects of its shelves, and how many came
    assert cost(page) <= sum(cost(read) for read in reads) - (len(reads) - 1) + more


def test_statements_do_not_grow_with_the_rows(uncached, world):
    app, statements = uncached
    found = []
    for size in (2, 10):
        for _ in range(size):
            world.project(tags=["blue"])
        for path in ("/", "/tags/blue", "/categories/tools", "/best"):
            Api(app).get(path)
            statements.clear()
            assert Api(app).get(path).status_code == 200
            assert statements
            found.append((path, len(statements)))
    assert found[:4] == found[4:]


def test_a_page_never_has_another_members_name_or_votes(app, world, filled):
    _, projects, paths = filled
    callers = {name: world.caller(world.user(name)) for name in ("carol", "dave")}
    assert callers["carol"].put(f"/api/projects/{projects[0]}/upvote").status_code == 200
    for path in paths:
        for name, other in (("carol", "dave"), ("dave", "carol")):
            text = callers[name].get(path).text
            assert other not in text
        assert "carol" not in Api(app).get(path).text
    assert 'aria-pressed="true"' not in callers["dave"].get("/?sort=upvotes").text
