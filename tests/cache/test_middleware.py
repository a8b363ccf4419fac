"""Public answers given again: never after anything was written, by whichever process, and never to the wrong caller."""

import time
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from flask import Flask
from marshmallow import Schema

from directory.cache.key import CacheableRequest
from directory.cache.middleware import _plain
from directory.cache.store import Kept
from directory.cache.validator import Basis, Changes, Guard, Moment
from directory.extensions import db
from directory.http.serialization import compiled
from directory.services.catalog import queries
from tests.conftest import Database, Statements
from tests.support.factories import Api, World, lane_of
from tests.support.voter import race


def plain_of(path: str, query: str = "") -> CacheableRequest:
    return _plain({"wsgi.url_scheme": "http", "PATH_INFO": path, "QUERY_STRING": query})


def test_an_answer_is_given_again_without_a_statement(
    world: World, api: Api, statements: Statements, monkeypatch: Any
) -> None:
    project = world.project()
    # PostgreSQL's snapshot is of all databases of a server, and other tests write to theirs meanwhile.
    moment = Moment(1, Changes())
    monkeypatch.setattr(Guard, "moment", lambda _self: moment)
    monkeypatch.setattr(Guard, "latest", moment)
    for path in ("/api/projects", f"/api/projects/{project}", "/api/categories", "/api/projects.atom"):
        first = api.get(path)
        statements.clear()
        again = api.get(path, headers={"X-Request-ID": "mine"})
        assert statements == []
        assert (again.status_code, again.data) == (200, first.data)
        told = {name: value for name, value in first.headers if name != "X-Request-ID"}
        assert {name: value for name, value in again.headers if name != "X-Request-ID"} == told
        assert again.headers["X-Request-ID"] == "mine"
        assert first.headers["X-Request-ID"] not in ("", "mine")


def test_what_was_acknowledged_is_in_the_next_answer(world: World, api: Api) -> None:
    bob = world.user()
    project = world.project(bob)
    caller, admin = world.caller(bob), world.caller(world.admin())
    path = f"/api/projects/{project}"

    def shown() -> tuple[Any, ...]:
        listed = api.get("/api/projects").json["items"]
        return api.get(path).status_code, [(item["title"], item["upvotes"]) for item in listed]

    assert shown() == shown()
    title = api.get(path).json["title"]
    caller.post(f"{path}/upvote")
    assert shown() == (200, [(title, 1)])
    admin.put(path, {"title": "Other"})
    assert shown() == (200, [("Other", 1)])
    admin.put("/api/admin/categories/tools", {"name": "Renamed"})
    assert api.get(path).json["category"]["name"] == "Renamed"
    admin.put(f"/api/admin{path.removeprefix('/api')}/unpublish")
    assert shown() == (404, [])


def test_nobody_gets_what_was_made_for_another(world: World, api: Api) -> None:
    bob = world.user("bob")
    project = world.project(bob, votes=1)
    caller = world.caller(bob)
    path = f"/api/projects/{project}"
    assert api.get(path).json["has_upvoted"] is None
    assert caller.get(path).json["has_upvoted"] is False
    assert api.get(path).json["has_upvoted"] is None
    assert api.get(path, headers={"Cookie": "directory=dead"}).json["has_upvoted"] is None
    assert api.get(path, headers={"Authorization": "Bearer nonsense"}).status_code == 401
    assert api.get("/api/projects?status=pending").status_code == 401
    assert caller.get("/api/projects?owner=me").json["pagination"]["total"] == 1
    assert api.get("/api/projects?owner=me").status_code == 401


def test_refusals_and_private_answers_are_never_kept(app: Flask, world: World, api: Api) -> None:
    kept = lane_of(app).kept  # type: ignore[union-attr]
    world.project()
    for path in ("/api/projects/999", "/api/projects?page=0", "/api/nothing", "/api/auth/me", "/api/admin/users"):
        api.get(path)
        assert len(kept._answers) == 0, path
    api.get("/api/projects")
    assert len(kept._answers) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("{}", 304), ("W/{}", 304), ('"x", {}', 304), ('"",{} ,\t"y"', 304), ("*", 304),
        ('"x"', 200), ('"a,*,b"', 200), ('"*"', 200), ("", 200), ('"x", *', 200), ("W/*", 200),
    ],
)  # fmt: skip
def test_who_has_the_answer_gets_304(world: World, api: Api, sent: str, status: int) -> None:
    world.project()
    etag = api.get("/api/projects").headers["ETag"]
    answer = api.get("/api/projects", headers={"If-None-Match": sent.format(etag)})
    assert answer.status_code == status
    uncached = api.get("/api/projects", headers={"If-None-Match": sent.format(etag), "Origin": "http://elsewhere"})
    assert uncached.status_code == status
    assert answer.headers["ETag"] == etag
    assert (answer.data == b"") == (status == 304)


def test_reads_that_are_counted_go_to_the_application(make_app: Any) -> None:
    app = make_app(RATELIMIT_ENABLED=True, RATELIMIT_READ="2 per minute")
    assert lane_of(app) is None
    assert [Api(app).get("/api/projects").status_code for _ in range(3)] == [200, 200, 429]


def test_a_database_that_gives_no_mark_leaves_it_to_the_application(world: World, api: Api, monkeypatch: Any) -> None:
    world.project()
    monkeypatch.setattr(Guard, "moment", lambda _self: None)
    assert [api.get("/api/projects").status_code for _ in range(2)] == [200, 200]


def test_a_guard_survives_the_loss_of_its_connection(app: Flask) -> None:
    with app.app_context():
        guard = Guard(db.engine)
    # By what holds, not by the number: others on the same server, its own housekeeping included, make new moments.
    nothing = Basis(())
    first = guard.moment()
    assert first is not None
    assert guard.moment() is not None
    assert first.changes.spared(nothing, first.number)
    guard._probe.close()  # type: ignore[union-attr]
    assert guard.moment() is None
    other = guard.moment()
    assert other is not None
    assert other.number > first.number
    assert not other.changes.spared(nothing, first.number)
    guard.close()
    guard.close()


def test_callers_that_wait_share_one_read(app: Flask) -> None:
    with app.app_context():
        guard = Guard(db.engine)
    reads, go, asking = [], Event(), Barrier(10)

    class Slow:
        def read(self, _since: Any, _seconds: float) -> tuple[int, None]:
            reads.append(len(reads))
            go.wait(20)
            return len(reads), None

        def close(self) -> None:
            pass

    guard._probe = Slow()
    moments: list[Any] = []

    def ask() -> None:
        asking.wait(20)
        moments.append(guard.moment())

    first = Thread(target=lambda: moments.append(guard.moment()))
    first.start()
    while not guard._turn.locked():
        time.sleep(0.01)
    others = [Thread(target=ask) for _ in range(9)]
    for thread in others:
        thread.start()
    asking.wait(20)
    time.sleep(0.5)  # for those to come to the door
    go.set()
    for thread in (first, *others):
        thread.join()
    # The first read serves who asked before it began, the second everybody who came while it ran.
    assert len(moments) == 10
    assert len(reads) == 2


def test_the_store_keeps_to_its_capacity_and_to_what_holds() -> None:
    kept: Kept[str] = Kept(10)
    changes = Changes()
    first, second = Moment(1, changes), Moment(2, changes)
    assert kept.get("a", first) is None
    kept.put("a", first, "A", 4)
    kept.put("b", first, "B", 4, Basis((1,)))
    assert kept.get("a", first) == "A"
    kept.put("c", first, "C", 4)
    assert (kept.get("b", first), kept.get("a", first), kept.get("c", first)) == (None, "A", "C")
    kept.put("c", second, "newer", 4)
    kept.put("c", first, "late", 4)
    assert (kept.get("c", second), kept.get("a", second)) == ("newer", None)


def test_what_is_kept_just_after_a_caller_did_not_find_it_is_not_for_him(app: Flask, world: World, api: Api) -> None:
    path = f"/api/projects/{world.project()}"
    lane = lane_of(app)
    assert lane is not None
    voter = world.caller(world.user())
    api.get("/api/projects")  # so that there is a moment, from before the vote

    class Late(Kept[Any]):
        """Where another thread keeps what it has made before a vote, once this one has looked."""

        def __contains__(self, key: Any) -> bool:
            found, moment = super().__contains__(key), lane.guard.latest
            if moment is not None:
                self.put(key, moment, old, 1)
            return found

    made = lane._made(plain_of(path))
    assert made is not None
    old = made[0]
    voter.post(f"{path}/upvote")
    lane.kept = Late(1000)
    assert api.get(path).json["upvotes"] == 1


def test_several_projects_are_made_by_one_look(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    shown = [world.project(tags=["x"], votes=n) for n in range(3)]
    hidden = world.project(status="pending")
    lane = lane_of(app)
    assert lane is not None
    assert lane.guard.moment() is not None
    asked = [*(f"/api/projects/{n}" for n in (*shown, hidden, 10**9, 10**30, shown[0])), "/api/1", "/api/projects"]
    plains = [*map(plain_of, asked), plain_of(asked[0], "page=1")]
    statements.clear()
    answers = lane.find_together(plains)
    assert len(statements) == (1 if database.backend == "postgresql" else 6)
    given = [place for place, answer in enumerate(answers) if answer is not None]
    assert given == [0, 1, 2, 6]
    for place in given:
        made = lane._made(plains[place])
        assert made is not None
        assert answers[place] == made[0]
        assert plains[place].address not in lane.kept


def test_what_fails_before_the_route_is_known_is_told_as_any_failure(
    app: Flask, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get("/api/categories")  # so that there is a moment

    def fail(*_: Any) -> None:
        raise OSError("no session")

    monkeypatch.setattr(app.session_interface, "open_session", fail)
    answer = api.get("/api/nothing")
    assert (answer.status_code, answer.json["code"]) == (500, "internal")


def test_a_look_waits_for_nobody_who_has_the_connection(app: Flask, world: World) -> None:
    project = world.project()
    guard = app.extensions["guard"]
    guard.moment()
    with guard._turn, guard.at_hand() as there:
        assert not there
    with guard.at_hand() as there, app.app_context():
        assert there
        assert queries.live().all([project])[0] is not None
        assert not db.session.registry.has()


def test_what_is_kept_of_long_addresses_is_counted_with_them(app: Flask, world: World, api: Api) -> None:
    world.project()
    lane = lane_of(app)
    assert lane is not None
    query = "q=" + "%F0%9F%A6%80" * 200
    assert api.get(f"/api/projects?{query}").status_code == 200
    [(key, entry)] = lane.kept._answers.items()
    told = sum(len(value) for _, value in entry.answer.own)
    assert told > len(query)  # the links repeat it
    assert lane.kept._size >= len(entry.answer.body) + told + len("".join(key))  # type: ignore[arg-type]


def test_readers_of_one_process_race_writers_of_another(app: Flask, world: World, database: Database) -> None:
    project = world.project()
    tokens = [world.caller(world.user()).token for _ in range(40)]
    wrong: list[Any] = []

    def read(acknowledged: list[int], ended: Event) -> None:
        while not ended.is_set():
            before = acknowledged[-1]
            shown = Api(app).get(f"/api/projects/{project}").json["upvotes"]
            if shown < before:  # what was acknowledged before the request must show
                wrong.append((before, shown))

    acknowledged = race(database.url, project, tokens, read)
    assert acknowledged[-1] == 40
    assert wrong == []


def test_compiled_dumps_are_the_schemas_own(world: World) -> None:
    bob = world.user()
    world.project(bob, "rejected", tags=["a"])
    world.project(bob, votes=1)
    admin = world.caller(world.admin())
    checked = 0
    for path in ("/api/projects?owner=me", "/api/auth/me", "/api/auth/tokens"):
        assert world.caller(bob).get(path).status_code == 200
    with admin.app.test_request_context():
        for view in admin.app.view_functions.values():
            schema: Schema | None = getattr(getattr(view, "operation", None), "answer", None)
            if schema is not None:
                assert compiled(schema)(_sample(schema)) == schema.dump(_sample(schema)), type(schema)
                checked += 1
    assert checked > 20


def _sample(schema: Schema) -> dict[str, Any]:
    """A value for every field, of the type that the services give."""
    from datetime import UTC, date, datetime

    from marshmallow import fields

    from directory.http.fields import Timestamp

    def value(field: Any) -> Any:
        if isinstance(field, fields.Nested):
            return _sample(field.schema)
        if isinstance(field, fields.List):
            return [value(field.inner), value(field.inner)]
        for kind, sample in (
            (Timestamp, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), (fields.Date, date(2026, 1, 2)),
            (fields.Boolean, True), (fields.Integer, 7), (fields.Float, 0.5), (fields.String, "ü"),
        ):  # fmt: skip
            if isinstance(field, kind):
                return sample
        return None

    return {field.attribute or name: value(field) for name, field in schema.dump_fields.items()}


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://app.example"}])
@pytest.mark.parametrize("secure", [False, True])
def test_the_lane_makes_what_the_application_makes(
    make_app: Any, world: World, settings: dict[str, str], secure: bool
) -> None:
    for _ in range(3):
        project = world.project(tags=["x"], votes=1)
    api = Api(make_app(**settings))
    queries = ("", "?page=2&limit=1", "?q=thing&tag=x", "?category=tools&sort=popular", "?owner=none", "?page=9")
    base = "https://localhost" if secure else "http://localhost"
    for path in (*(f"/api/projects{query}" for query in queries), f"/api/projects/{project}", "/api/categories"):
        by_lane = api.get(path, base_url=base)
        by_flask = api.get(path, base_url=base, headers={"Cookie": "no=lane"})
        assert (by_lane.status_code, by_lane.data) == (by_flask.status_code, by_flask.data)
        told = [sorted((k, v) for k, v in one.headers if k != "X-Request-ID") for one in (by_lane, by_flask)]
        assert told[0] == told[1]


def test_what_fails_before_the_application_fails_in_it_once(
    world: World, api: Api, statements: Statements, monkeypatch: Any
) -> None:
    refused = api.get("/api/projects/999", headers={"X-Request-ID": "mine"})
    assert (refused.status_code, refused.json["code"], refused.json["request_id"]) == (404, "not_found", "mine")
    assert len(statements) == 1
    assert api.get("/api/projects?page=0").json["errors"][0]["parameter"] == "page"

    def fail(*_args: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("directory.services.catalog.catalog.page", fail)
    broken = api.get("/api/projects")
    assert (broken.status_code, broken.json["code"]) == (500, "internal")
