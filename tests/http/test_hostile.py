"""Hostile input on every route, of both databases: refused by name, and never a fault of ours."""

import io
import json
import logging
from itertools import product

import pytest
from marshmallow import fields
from werkzeug.urls import iri_to_uri

from directory.http.validation import JsonBody
from tests.http.test_request_body import chunked
from tests.support import reading
from tests.support.extras import rows
from tests.support.factories import Api
from tests.support.routes import ALL_ON, Targets, operation, routes, unsafe
from tests.support.routes import body as body_of

JSON = "application/json"
MALFORMED = (
    b"{",
    b"nul",
    b"{'a': 1}",
    b'{"a": 1} {"b": 2}',
    b'{"a": 1, "a": 1}',
    b'{"a": {"b": 1, "b": 2}}',
    b'{"a": NaN}',
    b'{"a": -Infinity}',
    b'{"a": 1e999}',
    b'{"a": 1' + b"0" * 5000 + b"}",
    b'{"a": 01}',
    b'{"a": "\n"}',
    b'{"a": "\x00"}',
    b"[" * 33 + b"]" * 33,
    b"[" * 30_000,
    b'{"a":' * 10_000,
    b'{"a": "\xff"}',
    b'{"a": "\xed\xa0\x80"}',
    "{}".encode("utf-16"),
    b"\xef\xbb\xbf",
)
UNPROCESSABLE = (
    b"[]",
    b"\xef\xbb\xbf[]",
    b"null",
    b'"x"',
    b"1",
    b"true",
    b'{"": 1}',
    b'{"unknown": 1}',
    b'{"\\ud800": 1}',
    b'{"id": 1}',
)
BODIES = (
    *((body, 400, "malformed_json") for body in MALFORMED),
    *((b, 422, "validation_failed") for b in UNPROCESSABLE),
)

VALUES = (
    None, True, 0, -1, 1.5, 1e308, 2**31, 2**63, 10**400, "", " ", "1", "x" * 60_000, "\0", "\u202e", "\ud800",
    "\ufffe", "a" + "\u0301" * 5000, "\U000e0001", "%s%n", "' OR 1=1 --", "http://[", "http://a/" + "%" * 50, [], [[]],
    [None], ["a"] * 5000, {}, {"a": {}},
)  # fmt: skip
PARAMETERS = (
    "", "0", "-1", "+1", "1.5", "1e3", "01", "1_0", "%20", "１", "٣", "2147483648", "9223372036854775808",
    "9" * 20, "9" * 5000, "%00", "a%00b", "%ff", "%ED%A0%80", "%", "%zz", "%E2%80%AE", "x" * 5000, "%27%20OR%201=1",
    "%25", "_", "*", '"', "%22%22", "AND", "a:*%20%7C%20!b", "()", "-a", "NULL", "[]", "%5C", "%F0%9F%92%A9", "eyJ",
    "===", "a=b",
)  # fmt: skip
IDS = (
    "0",
    "-1",
    "+1",
    "01",
    "1.0",
    "1e3",
    "9223372036854775808",
    "99999999999999999999",
    "9" * 400,
    "x",
    "%00",
    "%31%00",
)
IDS += ("１", "٣", "²", "%ff", "1%20", "%201", "1,2", "NaN", "..", "1;x", "0x1")  # fmt: skip


@pytest.fixture
def app(make_app):
    return make_app(**ALL_ON)


@pytest.fixture
def owner(world):
    return world.user()


@pytest.fixture
def admin(world):
    return world.caller(world.admin())


@pytest.fixture
def targets(world, owner):
    return Targets(world, owner)


def complaint(answer, *expected):
    """What is wrong with a refusal, or None: any 5xx, or another status and code than expected."""
    if answer.status_code >= 500:
        return f"{answer.request.method} {answer.request.url[:200]}: {answer.status_code}"
    code = answer.json["code"] if expected and answer.mimetype != "text/html" else expected and expected[1]
    if expected and (answer.status_code, code) != expected:
        return f"{answer.request.method} {answer.request.url[:200]}: {answer.status_code} instead of {expected}"
    return None


def taking_json(app):
    """The routes that write, but for one that mail programs call with a body of their own, unread, and for uploads."""
    others = [each for each in unsafe(app) if not isinstance(operation(app, each).body, JsonBody)]
    uploads = {"PUT /api/projects/<id:project_id>/logo", *rows("uploads")}
    assert {each.name for each in others} == {"POST /api/auth/notifications/<token>", *uploads}
    return [each for each in unsafe(app) if each not in others]


def found(complaints):
    return [each for each in complaints if each]


@pytest.fixture
def allowed(world, admin, owner):
    """Who may call a route: an administrator, and of a thread, an appeal and links the owner alone."""
    own = world.caller(owner)
    owned = tuple(f"/api/projects/<id:project_id>/{each}" for each in ("messages", "appeal", "links"))
    return lambda route: own if route.rule.startswith(owned) else admin


def test_a_body_that_is_no_json_object_is_refused_on_every_route(app, allowed, targets):
    wrong = []
    for route in taking_json(app):
        admin = allowed(route)
        path, _project = targets.path(route.rule)
        for data, status, code in BODIES:
            answer = admin.call(route.method, path, data=data, content_type=JSON)
            wrong.append(complaint(answer, status, code))
    assert found(wrong) == []


def test_a_body_of_another_type_or_size_is_refused_on_every_route(app, allowed, targets):
    wrong = []
    for route in taking_json(app):
        admin = allowed(route)
        path, _project = targets.path(route.rule)
        for kind in (
            "text/plain",
            "application/xml",
            "application/merge-patch+json",
            "application/json; charset=latin-1",
            "",
        ):
            wrong.append(
                complaint(admin.call(route.method, path, data=b"{}", content_type=kind), 415, "unsupported_media_type")
            )
        packed = admin.call(route.method, path, data=b"{}", content_type=JSON, headers={"Content-Encoding": "gzip"})
        wrong.append(complaint(packed, 415, "unsupported_media_type"))
        for options in ({"data": b" " * 65_537}, chunked(io.BytesIO(b" " * 65_537))):
            wrong.append(complaint(admin.call(route.method, path, content_type=JSON, **options), 413, "too_large"))
        declared = {"CONTENT_LENGTH": "99999999999999999999", "wsgi.input": io.BytesIO(b"{}")}
        wrong.append(complaint(admin.call(route.method, path, content_type=JSON, environ_overrides=declared)))
    assert found(wrong) == []


def valid(field):
    """Some value that a field takes, to go with a hostile one in another."""
    if isinstance(field, fields.List):
        return [4711]
    known = {"url": "https://example.com", "decision": "approve", "email": "new@example.org", "token": "t" * 43}
    return known.get(field.name, "new-name")


def test_hostile_values_in_every_field_are_never_a_500(app, admin, targets):
    wrong = []
    for route in unsafe(app):
        known = operation(app, route).body.schema.fields
        path, _project = targets.path(route.rule)
        for name, value in product(known, VALUES):
            required = {other: valid(field) for other, field in known.items() if field.required}
            text = json.dumps({**required, name: value})
            wrong.append(complaint(admin.call(route.method, path, data=text, content_type=JSON)))
    assert found(wrong) == []


@pytest.mark.parametrize(
    ("request_line", "name", "item"),
    [
        ("PUT /api/projects/1", "tags", "No Slug"),
        ("PUT /api/projects/1", "tags", 1),
        ("POST /api/admin/projects/decisions", "ids", "x"),
        ("POST /api/admin/projects/decisions", "ids", 1),
        ("POST /api/admin/projects/decisions", "items", {"id": "x"}),
        ("POST /api/admin/projects/decisions", "items", {"id": 1}),
    ],
)
def test_a_list_of_thousands_of_bad_items_is_refused_with_one_error(admin, world, request_line, name, item):
    world.project()
    more = {} if name == "tags" else {"decision": "approve"}
    answer = admin.call(*request_line.split(), {**more, name: [item] * 5_000})
    assert (answer.status_code, [error["pointer"] for error in answer.json["errors"]]) == (422, [f"#/{name}"])


def test_hostile_query_strings_are_never_a_500(app, admin, targets):
    wrong = []
    for route in routes(app):
        if route.method == "GET":
            path, _project = targets.path(route.rule)
            for name, value in product(operation(app, route).query.fields, PARAMETERS):
                wrong.append(complaint(admin.get(f"{path}?{name}={value}")))
    assert found(wrong) == []


class EventLoop:
    """Anonymous requests, read and answered by the server's event loop where it can, and by the application."""

    def __init__(self, app):
        self.app, self.fast, self.answered = app, reading.fast_path(app), 0

    def failed(self, caplog):
        """The lookups of the event loop that failed, by its log: each is left to a thread and answers nothing."""
        return [record.reason for record in caplog.records if record.name == "directory.cache.responder"]

    def _recognise(self, path):
        receiver = reading.Receiver()
        connection, _ = receiver.connect()
        connection.data_received(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return receiver.requests[0] if receiver.requests else None

    def complaints(self, path):
        """What is wrong with the answers: made at once, made in a thread or by the application, and given again."""
        self._recognise(path)  # as no client should send it
        for _ in range(2):
            request = self._recognise(iri_to_uri(path))
            if request is not None:
                sent = reading.in_loop(self.fast, request)
                self.answered += sent is not None
                if sent is not None and sent.status[:3] not in (b"200", b"304"):
                    yield f"GET {path[:200]}: {sent.status}"
            yield complaint(Api(self.app).get(path))


@pytest.mark.response_cache
def test_hostile_query_strings_are_never_a_500_in_the_event_loop(app, targets, caplog):
    loop, wrong = EventLoop(app), []
    with caplog.at_level(logging.INFO, "directory.cache.responder"):
        for route in routes(app):
            if route.method == "GET":
                path, _project = targets.path(route.rule)
                for name, value in product(operation(app, route).query.fields, PARAMETERS):
                    wrong.extend(loop.complaints(f"{path}?{name}={value}"))
    assert found(wrong) == []
    assert loop.failed(caplog) == []
    assert loop.answered > 0


@pytest.mark.response_cache
def test_an_impossible_id_is_404_in_the_event_loop_too(app, targets, caplog):
    loop, wrong = EventLoop(app), []
    with caplog.at_level(logging.INFO, "directory.cache.responder"):
        for route in routes(app):
            if route.method == "GET" and "<id:" in route.rule:
                start, end = route.rule.partition("<")[0], route.rule.partition(">")[2]
                possible = () if operation(app, route).page else (4711, 2**31, 2**63 - 1)
                for value in (*IDS, *possible):
                    wrong.extend(loop.complaints(f"{start}{value}{end}"))
                    if route.name == "GET /api/projects/<id:project_id>":
                        wrong.append(complaint(Api(app).get(f"{start}{value}{end}"), 404, "not_found"))
    assert found(wrong) == []
    assert loop.failed(caplog) == []
    assert loop.answered == 0


UNKNOWN = (
    "unknown=1",
    "Page=1",
    "page[]=1",
    "%00=1",
    "%ff=1",
    "=1",
    "a=1&a=2",
    "&".join(f"a{n}=1" for n in range(200)),
)


def test_unknown_and_repeated_parameters_are_refused_by_name_on_every_route(app, allowed, targets):
    wrong = []
    for route in routes(app):
        # Pages pass over what they do not know, and a provider may add parameters; to browsers both answer with pages.
        if operation(app, route).page or route.rule.startswith("/api/auth/providers/"):
            continue
        path, _project = targets.path(route.rule)
        known = list(operation(app, route).query.fields)
        for query in (*UNKNOWN, *(f"{name}=newest&{name}=newest" for name in known)):
            answer = allowed(route).call(route.method, f"{path}{'&' if '?' in path else '?'}{query}")
            wrong.append(complaint(answer, 422, "validation_failed"))
            if not all(each.keys() == {"parameter", "detail"} for each in answer.json.get("errors", [{}])):
                wrong.append(f"{route.name}?{query}: {answer.json}")
    assert found(wrong) == []


PAGED = ("/api/projects", "/api/admin/projects", "/api/admin/users")
NO_NUMBERS = ("", "0", "-1", "+1", "1.5", "01", "1_0", "１", "٣", "9" * 20, "9" * 5000, "x", "%201", "1%00")
TOO_DEEP = ("limit=101", "page=10001", "page=101&limit=100", "page=501", "page=1&cursor=x", "cursor=x")


def test_pages_and_limits_that_are_no_numbers_in_bounds_and_foreign_cursors_are_refused(admin):
    for path in PAGED:
        for name, value in product(("page", "limit"), NO_NUMBERS):
            answer = admin.get(f"{path}?{name}={value}")
            assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, name)
        for query in TOO_DEEP:
            assert admin.get(f"{path}?{query}").json["code"] == "validation_failed"


def test_an_impossible_id_is_404_on_every_method_and_a_possible_one_of_nothing_too(app, admin):
    wrong = []
    for route in routes(app):
        if "<id:" in route.rule:
            start, end = route.rule.partition("<")[0], route.rule.partition(">")[2]
            for value in IDS:
                for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                    # GET /account/<path:form> knows every path below it, and which of them are forms.
                    is_known = start.startswith("/account/") and method != "GET"
                    expected = (405, "method_not_allowed") if is_known else (404, "not_found")
                    wrong.append(complaint(admin.call(method, f"{start}{value}{end}"), *expected))
            if operation(app, route).page:  # which shows for itself that there is nothing
                continue
            for value in (4711, 2**31, 2**63 - 1):
                required = not getattr(operation(app, route).body, "optional", True)
                body = (body_of(route, value) or {}) if required else None
                wrong.append(complaint(admin.call(route.method, f"{start}{value}{end}", body), 404, "not_found"))
    assert found(wrong) == []


HEADERS = (
    ("If-Match", ("*", "", '"', '"x', "x" * 5000, '"' + "9" * 400 + '-a"', '"１-a"', "W/", ",,,")),
    ("If-None-Match", ("*", "", '"', "x" * 5000, "W/", ",,,", "\xff")),
    ("If-Modified-Since", ("x", "9" * 400, "Thu, 01 Jan 0000 00:00:00 GMT")),
    ("Range", ("bytes=0-0", "bytes=9-1", "x", "bytes=" + "9" * 400)),
    ("Authorization", ("Bearer", "Bearer \xff", "Basic", "Bearer " + "x" * 9000, "x", "")),
    ("Cookie", ("__Host-directory=\xff", "=", ";;;", "__Host-directory=" + "x" * 9000, "a=b; __Host-directory")),
    ("Host", ("", "a b", "[", "]:80", "a:b:c", "a:99999", "\xff", "..", "x" * 5000)),
    ("Origin", ("http://[", "", "x", "http://\xff", "://", "http://a:b:c")),
    ("X-Forwarded-For", ("x", ",", "\xff", "1.2.3.4:x")),
    ("Accept", ("", "x", "text/html;q=x")),
    ("User-Agent", ("\xff", "x" * 9000, "")),
    ("Content-Length", ("x", "-1", "9" * 400)),
)


def test_hostile_headers_are_never_a_500(make_app, world, owner):
    app = make_app(TRUSTED_PROXIES=1, CORS_ORIGINS="https://app.example.com")
    project = world.project(owner)
    token = world.caller(owner).token
    login = {"login": "nobody", "password": "nothing at all"}
    wrong = []
    for name, values in HEADERS:
        for value in values:
            api, owned = Api(app), Api(app, token)
            wrong.append(complaint(api.get("/api/projects", headers={name: value})))
            wrong.append(complaint(owned.put(f"/api/projects/{project}", {"title": "x"}, headers={name: value})))
            wrong.append(complaint(api.post("/api/auth/login", login, headers={name: value})))
    assert found(wrong) == []
