"""Members read in one process what other callers and they themselves write in another, each right after its answer."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event
from typing import Any

import pytest
from flask import Flask

from directory.cache import snapshot_source
from directory.cache.personal_body import ShownProjects
from directory.cache.responder import PendingRead
from directory.cache.snapshot_source import Snapshot
from directory.db.transactions import transaction
from directory.services.accounts import sessions
from tests.conftest import Database
from tests.support.browsers import COOKIE
from tests.support.caching import cache_of, request_for, source_of
from tests.support.factories import Api, World
from tests.support.members import Answer, Personal, bearer, by_loop, by_wsgi
from tests.support.other_process import OtherProcess
from tests.support.reading import fast_path

pytestmark = pytest.mark.response_cache
Read = Callable[[str, dict[str, str]], Answer]
SESSIONS, VOTES = 2, 6  # of each member


class Member:
    """A member who votes other_process and reads here, by one session or token after another."""

    def __init__(self, app: Flask, world: World, other_process: OtherProcess, projects: list[int], seed: int) -> None:
        self.user, self.other_process, self.projects = world.user(), other_process, projects
        self.admin = bearer(world, world.admin())
        self.chance, self.votes, self.wrong = Random(seed), set[int](), list[Any]()
        self.credentials = [self.session(app) for _ in range(SESSIONS)] + [bearer(world, self.user)]

    def session(self, app: Flask) -> dict[str, str]:
        """The headers of a browser that has been signed in."""
        with app.app_context():
            secret = transaction(lambda: sessions.begin(self.user.id, user_agent=""))
        return {"Cookie": f"{COOKIE}={secret}", "Sec-Fetch-Site": "same-origin"}

    def play(self, read: Read) -> None:
        """Vote and read by each credential; then end it, by a sign-out or a suspension, and read again."""
        for headers in self.credentials:
            for _ in range(VOTES):
                self.vote(headers)
                self.look(read, headers, "as voted")
            if "Cookie" in headers:
                self.told(headers, "POST", "/api/auth/logout", 204)
                self.look(read, headers, "anonymous")
            else:
                self.change(role="admin")
                self.look(read, headers, "administrator")
                self.change(role="member")
                self.look(read, headers, "as voted")
                self.change(status="suspended")
                self.look(read, headers, "refused")

    def vote(self, headers: dict[str, str]) -> None:
        project, casts = self.chance.choice(self.projects), self.chance.random() < 0.6
        self.told(headers, "PUT" if casts else "DELETE", f"/api/projects/{project}/upvote", 200)
        (self.votes.add if casts else self.votes.discard)(project)

    def change(self, **fields: str) -> None:
        self.told(self.admin, "PUT", f"/api/admin/users/{self.user.id}", 200, fields)

    def told(self, headers: dict[str, str], method: str, path: str, status: int, body: Any = None) -> None:
        answered = self.other_process.call(headers, method, path, body)
        assert answered == status, (method, path, answered)

    def look(self, read: Read, headers: dict[str, str], wanted: str) -> None:
        """Read a page and a project, and note what is not as it has to be."""
        for path in ("/api/projects", f"/api/projects/{self.chance.choice(self.projects)}"):
            status, _, body = read(path, headers)
            if wanted == "refused":
                if status != 401:
                    self.wrong.append((path, wanted, status))
                continue
            answer = json.loads(body)
            for item in answer.get("items", [answer]):
                expected = None if wanted == "anonymous" else item["id"] in self.votes
                reason = ("rejection_reason" in item) == (wanted == "administrator")
                if item["has_upvoted"] is not expected or not reason:
                    self.wrong.append((path, wanted, item["id"], item["has_upvoted"], expected))


def test_each_member_reads_what_is_theirs_right_after_each_answer(app: Flask, world: World, database: Database) -> None:
    projects = [world.project(votes=n) for n in range(4)]
    fast, ended = fast_path(app), Event()
    strangers = [bearer(world, world.user()) for _ in range(2)]

    def by_thread(path: str, headers: dict[str, str]) -> Answer:
        return by_wsgi(app, path, headers)

    def in_loop(path: str, headers: dict[str, str]) -> Answer:
        return by_loop(fast, path, headers) or by_wsgi(app, path, headers)

    with OtherProcess(database.url) as other_process, ThreadPoolExecutor(6) as pool, Personal() as personal:
        members = [Member(app, world, other_process, projects, seed) for seed in range(4)]

        def write(headers: dict[str, str]) -> None:
            while not ended.is_set():
                for project in projects:
                    other_process.call(headers, "POST", f"/api/projects/{project}/upvote")

        writing = [pool.submit(write, headers) for headers in strangers]
        ways = [in_loop, by_thread, by_thread, by_thread]
        playing = [pool.submit(member.play, way) for member, way in zip(members, ways, strict=True)]
        try:
            for each in playing:
                each.result(120)
        finally:
            ended.set()
        for each in writing:
            each.result(60)
    assert [member.wrong for member in members] == [[]] * 4
    assert personal.made > 40


def test_votes_that_were_read_for_a_page_are_not_filled_into_the_page_that_took_its_place(
    app: Flask, world: World, api: Api
) -> None:
    cache, read = cache_of(app), request_for("/api/projects")

    def shown() -> tuple[ShownProjects, Snapshot]:
        """The projects of the stored page, and a snapshot at which it is valid."""
        api.get("/api/projects")
        snapshot = cache.snapshots.snapshot()
        assert snapshot is not None
        page = cache.store.peek(read.key, snapshot)
        assert page is not None
        assert page.personal is not None
        return page.personal.projects(page.body), snapshot

    world.project()
    before, _ = shown()
    world.project()
    after, snapshot = shown()
    row = (world.user().id, None, None)
    assert cache._filled(PendingRead(read, None, projects=before, snapshot=snapshot, row=row)) is None
    assert cache._filled(PendingRead(read, None, projects=after, snapshot=snapshot, row=row)) is not None


def test_a_read_that_came_too_late_is_made_by_no_other_thread(
    app: Flask, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, source = cache_of(app), source_of(app)
    api.get("/api/projects")
    pending = PendingRead(request_for("/api/projects"), None)
    asked: list[Any] = []
    monkeypatch.setattr(cache, "_read_votes", lambda reads, *_given, **_facts: asked.append(reads))
    monkeypatch.setattr(snapshot_source, "THREAD_TIMEOUT", 0.0)
    with source._lock:
        cache._give_filled([pending], in_loop=False)
    assert (pending.is_read, pending.response, asked) == (True, None, [])
    cache.bypass.add_all()
    pending.is_read = False
    cache._give_filled([pending], in_loop=False)
    assert (pending.is_read, pending.response, asked) == (True, None, [])
