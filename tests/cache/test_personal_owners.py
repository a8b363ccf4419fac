"""Owners and administrators who read in turns with others get what the application makes, after each change."""

from random import Random
from typing import Any

import pytest
from flask import Flask

from tests.support.factories import World
from tests.support.lists import ORDERS
from tests.support.members import Personal, bearer, by_loop, by_wsgi
from tests.support.reading import fast_path

pytestmark = pytest.mark.response_cache
SEEN_BY_OWNERS = (b"rejection_reason", b"revision", b"queue_position", b"description_html")


class Site:
    """Projects of two owners, and what their owners and the administrators do to them."""

    def __init__(self, world: World, chance: Random) -> None:
        ada, bob, admin = world.user("ada"), world.user("bob"), world.admin()
        self.projects = [world.project(owner, votes=n, tags=["x"]) for n, owner in enumerate([ada, bob, ada, bob])]
        self.projects.append(world.project(ada, "pending"))
        world.category("games")
        self.callers: dict[str, dict[str, str]] = {
            "ada": bearer(world, ada), "bob": bearer(world, bob), "administrator": bearer(world, admin),
            "member": bearer(world, world.user()), "anonymous": {},
        }  # fmt: skip
        self.chance, self.owners, self.admin = chance, [world.caller(ada), world.caller(bob)], world.caller(admin)

    def change(self) -> tuple[str, int]:
        """Do something, whether it is allowed or not; what it was, and its status."""
        does = self.chance.choice([self.edit, self.set_category, self.withdraw, self.decide, self.decide, self.vote])
        return does.__name__, does(f"/api/projects/{self.chance.choice(self.projects)}").status_code

    def edit(self, path: str) -> Any:
        changes = {"title": f'"version":1 {self.chance.random()}', "tagline": "\u2028 new"}
        return self.chance.choice([*self.owners, self.admin]).put(path, changes)

    def set_category(self, path: str) -> Any:
        return self.chance.choice(self.owners).put(path, {"category": self.chance.choice(["tools", "games"])})

    def withdraw(self, path: str) -> Any:
        return self.chance.choice(self.owners).delete(f"{path}/revision")

    def decide(self, path: str) -> Any:
        decision = self.chance.choice(["approve", "approve", "reject", "unpublish"])
        reason = {} if decision == "approve" else {"reason": 'because "revision":null'}
        return self.admin.put(f"/api/admin{path.removeprefix('/api')}/{decision}", reason)

    def vote(self, path: str) -> Any:
        return self.chance.choice([*self.owners, self.admin]).post(f"{path}/upvote")


def test_each_reads_what_is_theirs_whoever_read_before(make_app: Any, world: World) -> None:
    chance = Random(1)
    site = Site(world, chance)
    app: Flask = make_app(REVIEW_ON_EDIT="always")
    uncached: Flask = make_app(RESPONSE_CACHE="false", REVIEW_ON_EDIT="always")
    fast, done, seen = fast_path(app), list[Any](), set[bytes]()
    for headers in site.callers.values():  # records the first use
        by_wsgi(app, "/api/auth/me", headers)
    with Personal() as counted:
        for _ in range(9):
            done.append(site.change())
            listed = f"/api/projects?sort={chance.choice(ORDERS)}&limit={chance.choice([2, 9])}"
            paths = [listed, f"/api/projects/{chance.choice(site.projects)}", f"/api/projects/{site.projects[-1]}"]
            for name, headers in chance.sample([*site.callers.items()], len(site.callers)):
                for path in paths:
                    expected = by_wsgi(uncached, path, headers)
                    by_thread = by_wsgi(app, path, headers)
                    assert by_thread == expected, (done, name, path)
                    assert by_loop(fast, path, headers) in (expected, None), (done, name, path)
                    seen |= {member for member in SEEN_BY_OWNERS if member in expected[2]}
                    private = name in ("anonymous", "member") and any(
                        member in by_thread[2] for member in SEEN_BY_OWNERS
                    )
                    assert not private, (done, name, path)
    assert seen == {*SEEN_BY_OWNERS}
    assert counted.made > 60
