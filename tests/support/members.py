"""The answers to a caller by each way: the cache middleware, the event loop, the application without a cache."""

from typing import Any
from unittest.mock import patch

from flask import Flask

from directory.cache.responder import Responder
from directory.http.wsgi import Response
from tests.support.browsers import COOKIE, Browser
from tests.support.caching import as_made
from tests.support.factories import Api, World
from tests.support.reading import FastPath, in_loop, parsed

Answer = tuple[int, list[tuple[str, str]], bytes]


def bearer(world: World, user: Any) -> dict[str, str]:
    """The headers of a user with a fresh token."""
    return {"Authorization": f"Bearer {world.caller(user).token}"}


def cookie(app: Flask, username: str) -> dict[str, str]:
    """The headers of a browser in which a user has just signed in."""
    return {"Cookie": f"{COOKIE}={Browser(app).sign_in(username).cookie}", "Sec-Fetch-Site": "same-origin"}


def by_wsgi(app: Flask, path: str, headers: dict[str, str], method: str = "GET") -> Answer:
    """The answer of an application."""
    answer = Api(app).call(method, path, headers={"X-Request-ID": "mine", **headers})
    return answer.status_code, as_made(answer.headers), answer.data


def by_loop(fast: FastPath, path: str, headers: dict[str, str]) -> Answer | None:
    """The answer of the event loop; None where it has none."""
    response = in_loop(fast, parsed(path, **{"X-Request-ID": "mine", **headers}))
    return None if response is None else answer_of(response)


def answer_of(response: Response) -> Answer:
    """The parts of what the server sends."""
    lines = [line.partition(": ") for line in response.headers.decode().split("\r\n") if line]
    return int(response.status[:3]), as_made((name, value) for name, _, value in lines), response.body


class Personal:
    """Counts the personal responses that the cache makes; a caller that it refused once is tried again at once."""

    def __init__(self) -> None:
        self.made = 0
        self._patches = [
            patch("directory.cache.reads.BYPASS_SECONDS", -1.0),
            patch(
                "directory.cache.snapshot_source.LOOP_TIMEOUT", 0.9
            ),  # so that the loop answers on a busy machine too
            patch("directory.cache.responder.LOOP_QUERY_SECONDS", 60.0),
            patch.object(Responder, "_private", self._counted(Responder._private)),
        ]

    def _counted(self, make: Any) -> Any:
        def counted(*given: Any) -> Any:
            self.made += 1
            return make(*given)

        return counted

    def __enter__(self) -> "Personal":
        for each in self._patches:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._patches:
            each.stop()


MEMBERS = (
    "member by token",
    "member by cookie",
    "voter by token",
    "voter by cookie",
    "both",
    "other scheme and cookie",
    "owner",
    "owner by cookie",
    "administrator",
)


class Directory:
    """Three live projects, one pending, and callers of every kind: by name, what each of them sends."""

    def __init__(self, app: Flask, world: World) -> None:
        owner, voter, bob = world.user("ada"), world.user("eve"), world.user("bob")
        self.projects = [world.project(owner, tags=["x"], votes=n, title=f'"has_upvoted":null {n}') for n in range(3)]
        self.hidden = world.project(owner, "pending")
        for project in self.projects[1:]:
            world.vote(project, voter)
        suspended, revoked = world.user("mal"), world.user("rey")
        self.callers = {
            "member by token": bearer(world, bob), "member by cookie": cookie(app, "bob"),
            "voter by token": bearer(world, voter), "voter by cookie": cookie(app, "eve"),
            "owner": bearer(world, owner), "owner by cookie": cookie(app, "ada"),
            "administrator": bearer(world, world.admin()),
            "suspended": bearer(world, suspended), "suspended by cookie": cookie(app, "mal"),
            "revoked": bearer(world, revoked), "signed out": cookie(app, "rey"),
            "bad token": {"Authorization": "Bearer nonsense"}, "dead cookie": {"Cookie": f"{COOKIE}=dead"},
            "no cookie of ours": {"Cookie": "a=b"}, "other scheme": {"Authorization": "Basic YWRhOng="},
        }  # fmt: skip
        callers = self.callers
        callers["both"] = {**callers["voter by token"], **callers["member by cookie"]}
        callers["other scheme and cookie"] = {**callers["other scheme"], **callers["voter by cookie"]}
        callers["bad token and cookie"] = {**callers["bad token"], **callers["voter by cookie"]}
        secret = callers["voter by cookie"]["Cookie"].partition("=")[2]
        callers["secret of a session as a token"] = {"Authorization": f"Bearer {secret}"}
        callers["token as a cookie"] = {"Cookie": f"{COOKIE}={callers['voter by token']['Authorization'][7:]}"}
        for headers in callers.values():  # records the first use of each token
            Api(app).get("/api/auth/me", headers=headers)
        admin = world.caller(world.admin())
        assert admin.put(f"/api/admin/users/{suspended.id}", {"status": "suspended"}).status_code == 200
        again = Api(app, callers["revoked"]["Authorization"][7:])
        assert (
            again.delete(f"/api/auth/tokens/{again.get('/api/auth/tokens').json['items'][0]['id']}").status_code == 204
        )
        out = Api(app).post("/api/auth/logout", headers=callers["signed out"])
        assert out.status_code == 204

    def some_paths(self) -> list[str]:
        """One of each kind."""
        projects = (f"/api/projects/{project}" for project in (self.projects[1], self.hidden, 10**9))
        return ["/api/projects", "/api/projects?owner=me", *projects, "/api/categories"]

    def paths(self) -> list[str]:
        queries = (
            "", "?sort=upvotes&limit=2", "?sort=popular&limit=1&page=2", "?q=null", "?tag=x", "?category=tools",
            "?status=live", "?owner=ada", "?owner=me", "?status=pending", "?page=9", "?page=0", "?a=1",
        )  # fmt: skip
        projects = (f"/api/projects/{project}" for project in (*self.projects, self.hidden, 10**9))
        return [*(f"/api/projects{query}" for query in queries), *projects, "/api/categories", "/api/nothing"]
