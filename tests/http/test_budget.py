"""No request costs much CPU time, whatever it sends: every field and parameter of every route is fed hostile texts.

FUZZ_EXAMPLES sets how many texts each of them gets, FUZZ_SEED which.
"""

import ast
import base64
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from marshmallow import Schema, fields
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from directory import extras, pages
from directory.errors import DirectoryError
from directory.http.fields import Flag, Line, Prose
from directory.http.validation import FormBody, JsonBody, Upload
from directory.services.text import markdown
from tests.services.test_markdown import HOSTILE as DEAR
from tests.services.test_pictures import HOSTILE as PICTURES
from tests.support import cpu, effort
from tests.support.factories import Api, World
from tests.support.hostile_texts import FORMS, HEADER_UNITS, LONG, MARKDOWN, OTHERS, filled, repeated
from tests.support.routes import Route, Targets, body, form, operation, routes

# Of CPU; the costliest request takes about half of it.
SECONDS, PICTURE_SECONDS, MARKDOWN_SECONDS, PAGE_SECONDS = 0.5, 1.5, 0.2, 1.5
EACH = int(effort.ASKED or 6)  # texts for each field
BODY, QUERY = 60_000, 2_000  # characters; a server takes no head of more than 8 KiB
EDIT = "POST /mine/<id:project_id>/edit"
BODIES = (
    b"[" * 60_000, b'{"a":' * 10_000, b'{"a":"' + b"\\ud800" * 9_000 + b'"}', b'["' + b'","' * 20_000 + b'"]',
    b'{"a":' + b"9" * 60_000 + b"}", b"{" + b",".join(b'"%d":0' % number for number in range(6_000)) + b"}",
    b'{"a":"' + b"\\\\" * 30_000, b" " * 60_000, b'{"a":' + b"[[[[[[[[[[]]]]]]]]]]," * 2_800 + b"0}", b'"' * 60_000,
    b'{"a":[' + b'"\\ud800",' * 6_000 + b"0]}", b"\xff" * 60_000,
)  # fmt: skip


# What a text or a picture costs before any statement is the same over both databases.
on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


@pytest.fixture
def app(make_app: Any) -> Flask:
    """With mail, so that the routes of mail are there. No mail is sent."""
    return make_app(MAIL_URL="smtp://127.0.0.1:9", MAIL_FROM="directory@example.net", SITE_URL="https://example.net")  # type: ignore[no-any-return]


class Spending:
    """Requests, and those that cost too much."""

    def __init__(self, most: float = SECONDS) -> None:
        self.most, self.sent, self.costly = most, 0, []  # type: float, int, list[str]

    def send(self, what: str, call: Callable[[], Any]) -> None:
        """Send a request; one that costs too much a second time too, for the first may have loaded something."""
        self.sent += 1
        for attempt in range(2):
            markdown._rendered.cache_clear()
            before = time.process_time()
            answer = call()
            spent = time.process_time() - before
            assert answer.status_code < 500, (what, answer.status_code)
            if spent <= self.most or spent <= self.most * cpu.slowness():
                return
            if attempt:
                self.costly.append(f"{spent:.2f} s: {what}")


class Callers:
    """Who calls a route: an administrator where it is theirs, else the member who owns what it names."""

    def __init__(self, app: Flask, world: World) -> None:
        owner = world.user()
        self.app, self.targets, self.chosen = app, Targets(world, owner), random.Random(effort.SEED)
        self.member, self.admin = world.caller(owner), world.caller(world.admin())

    def of(self, route: Route) -> Api:
        return self.admin if "/admin" in route.rule else self.member

    def texts(self, field: fields.Field[Any], length: int) -> Iterator[str]:
        """Hostile texts for a field: as long as a request may be, and as long as the field takes."""
        units = MARKDOWN + OTHERS if isinstance(field, Prose) else OTHERS
        most = min(length, field.bounds[1] if isinstance(field, Line) else 200)
        for size in (length, most):
            made = repeated(units, size, self.chosen)
            yield from (text.encode()[:length].decode(errors="ignore") for text in islice(made, EACH))


@pytest.fixture
def callers(app: Flask, world: World) -> Callers:
    return Callers(app, world)


def test_no_body_costs_much(app: Flask, callers: Callers) -> None:
    spending = Spending()
    for route in routes(app):
        taken = operation(app, route).body
        if route.method == "GET" or not isinstance(taken, JsonBody | FormBody):
            continue
        path, project_id = callers.targets.path(route.rule)
        for name, field, around in _places(taken.schema):
            for text in callers.texts(field, BODY):
                if route.name == EDIT:  # of the version that is there, else none of them is saved
                    path, project_id = callers.targets.path(route.rule, "pending")
                sent = _body(route, taken, project_id, around(_value(field, text)))
                what = f"{route.name} {name} {text[:60]!r}"
                spending.send(what, lambda sent=sent: callers.of(route).call(route.method, path, **sent))  # type: ignore[misc] # noqa: B023
    assert spending.sent > 200
    assert spending.costly == []


def _places(schema: Schema) -> Iterator[tuple[str, Any, Callable[[Any], dict[str, Any]]]]:
    """Each field of a body, those of objects within it too, and what puts a value into its place."""
    for name, field in schema.fields.items():
        yield name, field, lambda value, name=name: {name: value}  # type: ignore[misc]
        listed = isinstance(field, fields.List)
        nested = field.inner if isinstance(field, fields.List) else field
        if isinstance(nested, fields.Nested):
            for within, each, around in _places(nested.schema):
                yield (
                    f"{name}/{within}", each,
                    lambda value, name=name, around=around, listed=listed: {  # type: ignore[misc]
                        name: [around(value)] if listed else around(value)
                    },
                )  # fmt: skip


def _value(field: Any, text: str) -> Any:
    """A hostile text as the value of a field, or in it."""
    if isinstance(field, fields.Dict):  # an answer of an authenticator, whose members are looked at by name
        part = text[: len(text) // 5]
        answer = dict.fromkeys(("clientDataJSON", "attestationObject", "authenticatorData", "signature"), part)
        return {"id": text[:9], "rawId": text[:9], "type": "public-key", "response": answer, part: ""}
    return [text] if isinstance(field, fields.List) else text


def _body(route: Route, taken: Any, project_id: int, hostile: dict[str, Any]) -> dict[str, Any]:
    """A request's body with a hostile text in one of its fields."""
    if isinstance(taken, FormBody):
        return {"data": {**form(route), **{name: text[: BODY // 9] for name, text in hostile.items()}}}
    given = {**(body(route, project_id) or {}), **hostile}
    return {"data": json.dumps(given, ensure_ascii=False).encode()[: 2**16], "content_type": "application/json"}


def test_every_route_with_a_body_gets_the_other_fields_that_it_needs(app: Flask) -> None:
    """Else a new route refuses each body of this test, and what it does with a text costs nothing here."""
    with app.test_request_context():
        for route in routes(app):
            taken = operation(app, route).body
            if route.method != "GET" and isinstance(taken, JsonBody | FormBody):
                given = body(route, 1) if isinstance(taken, JsonBody) else form(route)
                ticked = {name for name, field in taken.schema.fields.items() if isinstance(field, Flag)}
                sent = {name: True if name in ticked else value for name, value in (given or {}).items()}
                assert taken.schema.validate(sent) == {}, f"{route.name}: add a body to tests.support.routes"


@on_sqlite
def test_no_form_costs_much_to_read(app: Flask, callers: Callers) -> None:
    spending = Spending()
    for route in (each for each in routes(app) if isinstance(operation(app, each).body, FormBody)):
        path, _ = callers.targets.path(route.rule)
        for data, kind in callers.chosen.sample(FORMS, min(len(FORMS), EACH)):
            sent = {"data": data, "content_type": kind}
            what = f"{route.name} {kind[:30]} {data[:60]!r}"
            spending.send(what, lambda sent=sent: callers.member.call(route.method, path, **sent))  # type: ignore[misc] # noqa: B023
    for data, kind in FORMS:
        what = f"a new project {kind[:30]} {data[:60]!r}"
        sent = {"data": data, "content_type": kind}
        spending.send(what, lambda sent=sent: callers.member.post("/submit", **sent))  # type: ignore[misc]
    assert spending.sent > 150
    assert spending.costly == []


@on_sqlite
def test_no_header_costs_much(make_app: Any) -> None:
    """Of a page, a list, a project, a file, a vote, an edit and a form, by people and by programs."""
    app = make_app(TRUSTED_PROXIES=1, CORS_ORIGINS="https://example.com", SITE_URL="https://example.net")
    spending, world, chosen = Spending(), World(app), random.Random(effort.SEED)
    project = f"/api/projects/{world.project(owner := world.user())}"
    known = {"HTTP_AUTHORIZATION": f"Bearer {world.caller(owner).token}", "HTTP_SEC_FETCH_SITE": "same-origin"}
    requests: list[tuple[str, str, dict[str, str], dict[str, Any]]] = [
        ("GET", "/", {}, {}), ("GET", "/api/projects", known, {}), ("OPTIONS", "/api/projects", {}, {}),
        ("GET", project, {}, {}), ("GET", "/robots.txt", {}, {}), ("GET", "/account", known, {}),
        ("POST", f"{project}/upvote", known, {}), ("POST", "/sign-in", {}, {"data": {"login": "a"}}),
        ("PUT", project, known, {"json": {"tagline": "Changed"}}),
    ]  # fmt: skip
    for name, units in HEADER_UNITS.items():
        for unit in units:
            value = filled(chosen.choice((unit, unit + chosen.choice(units))), LONG)
            for method, path, caller, sent in chosen.sample(requests, min(EACH // 2, len(requests))):
                environ = {**EnvironBuilder(path, method=method, **sent).get_environ(), **caller}
                environ[name.upper().replace("-", "_") if name.startswith("Content") else _variable(name)] = value
                spending.send(f"{method} {path} {name}: {value[:60]}", lambda e=environ: _answer(app, e))  # type: ignore[misc]
    assert spending.costly == []


def _variable(header: str) -> str:
    return f"HTTP_{header.upper().replace('-', '_')}"


def _answer(app: Flask, environ: dict[str, Any]) -> Response:
    """The answer of the application alone: the test client reads headers too."""
    status = run_wsgi_app(app, dict(environ))[1]
    return Response(status=status)


def _part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _tried(call: Callable[..., object], *given: Any) -> Response:
    """Call what may refuse its arguments, and nothing else."""
    with suppress(DirectoryError):
        call(*given)
    return Response()


def _parameters_of_pages() -> dict[str, fields.Field[Any]]:
    """The parameters that the pages read from their addresses without a schema, by the source of the pages."""
    found = {"q", "sort"}  # a schema of the lists reads these
    for path in [*Path(pages.__file__).parent.glob("*.py"), *extras.FOLDER.glob("*/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                named = node.args[0] if "query" in ast.unparse(node.func) or "args" in ast.unparse(node.func) else None
                found |= {str(named.value)} if isinstance(named, ast.Constant) else set()
    assert found >= {"next", "page", "token"}
    return {name: fields.String() for name in sorted(found)}


@pytest.mark.slow
def test_no_query_costs_much(app: Flask, callers: Callers) -> None:
    spending, of_pages = Spending(), _parameters_of_pages()
    for route in routes(app):
        spec = operation(app, route)
        if route.method != "GET":
            continue
        path, _ = callers.targets.path(route.rule)
        names = spec.query.fields or (of_pages if spec.parameters else {})
        for name, field in names.items():
            for text in callers.texts(field, QUERY):
                address = f"{path}{'&' if '?' in path else '?'}{name}={quote(text)[:7_000].rstrip('%')}"
                spending.send(address[:200], lambda address=address: callers.of(route).get(address))  # type: ignore[misc] # noqa: B023
    assert spending.sent > 200
    assert spending.costly == []


@on_sqlite
def test_no_json_costs_much_to_read(app: Flask, callers: Callers) -> None:
    spending = Spending()
    for route in routes(app):
        if route.method != "GET" and type(operation(app, route).body) is JsonBody:
            path, _ = callers.targets.path(route.rule)
            for data in callers.chosen.sample(BODIES, 4):
                sent = {"data": data, "content_type": "application/json"}
                what = f"{route.name} {data[:40]!r}"
                spending.send(what, lambda sent=sent: callers.of(route).call(route.method, path, **sent))  # type: ignore[misc] # noqa: B023
    assert spending.sent > 80
    assert spending.costly == []


@on_sqlite
@pytest.mark.slow
def test_no_markdown_costs_much(app: Flask, callers: Callers) -> None:
    spending, made = Spending(MARKDOWN_SECONDS), repeated(MARKDOWN, 10_000, callers.chosen)
    alone = (filled(unit, 10_000) for unit in MARKDOWN)
    for text in (*alone, *DEAR.values(), *islice(made, 20 * EACH)):
        what = f"markdown {text[:60]!r}"
        spending.send(what, lambda text=text: callers.member.post("/api/markdown", {"text": text[:10_000]}))  # type: ignore[misc]
    assert spending.costly == []


@on_sqlite
@pytest.mark.slow
@pytest.mark.parametrize("name", ["addresses and marks", "many cells", "closed headings", "numbers alone"])
def test_no_page_of_a_hundred_descriptions_costs_much(callers: Callers, world: World, name: str) -> None:
    """None of them is like another, so none is remembered."""
    for number in range(100):
        world.project(world.user(), status="pending", description=f"{number} {DEAR[name]}"[:10_000])
    spending, path = Spending(PAGE_SECONDS), "/api/admin/projects?waiting=true&limit=100"
    spending.send(name, lambda: callers.admin.get(path))
    assert len(callers.admin.get(path).json["items"]) == 100
    assert spending.costly == []


@on_sqlite
@pytest.mark.parametrize("name", PICTURES)
def test_no_picture_costs_much(app: Flask, callers: Callers, name: str) -> None:
    spending = Spending(PICTURE_SECONDS)
    for route in routes(app):
        taken = operation(app, route).body
        if isinstance(taken, Upload):
            path, _ = callers.targets.path(route.rule)
            sent = {"data": PICTURES[name](), "content_type": taken.media_types[0]}
            spending.send(f"{route.name} {name}", lambda: callers.member.call(route.method, path, **sent))  # noqa: B023
    assert spending.sent > 0
    assert spending.costly == []
