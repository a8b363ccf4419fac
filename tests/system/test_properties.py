"""Whatever is sent: text comes back as it was taken, the rest is refused by name, and nothing is a fault of ours."""

import base64
import json
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from directory.services.text.rules import clean_text
from tests.support.browsers import COOKIE
from tests.support.effort import effort
from tests.support.routes import operation, routes, unsafe

JSON = "application/json"
TEXT = st.text(st.characters(codec=None), max_size=160)  # any code point, half a surrogate pair included
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
HEADER = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=80)
PAGED = (
    "/api/projects", "/api/admin/projects", "/api/admin/users", "/api/admin/audit", "/api/admin/webhooks/deliveries",
    "/api/admin/projects/1/history",
)  # fmt: skip


@pytest.fixture
def admin(world):
    return world.caller(world.admin())


@pytest.fixture
def owner(world):
    """A member who owns the project of id 1."""
    person = world.user("ada")
    assert world.project(person) == 1
    return world.caller(person)


def cleaned(value, **bounds):
    """What is stored of a text; None where it is refused."""
    try:
        return clean_text(value, **bounds)
    except ValueError:
        return None


def test_text_is_given_back_as_it_was_taken_or_refused_by_name(owner, admin, api):
    @effort(100)
    @given(title=TEXT, tagline=TEXT, description=TEXT, reason=TEXT)
    @example("e\u0301", "\U0001f600", "a\r\nb\tc", "%_'\"\\")
    @example("\ufb2c", "ß", "]]>&<\u2028\ue000", "\U0010fffd")
    @example("0", "0\xad", "0\xad", "")
    def story(title, tagline, description, reason):
        admin.put("/api/admin/projects/1/unpublish")  # of a live project an owner's edit waits for review
        sent = {"title": title, "tagline": tagline, "description": description}
        wanted = {
            "title": cleaned(title, minimum=1, maximum=100, only_visible=True),
            "tagline": cleaned(tagline, minimum=1, maximum=140, only_visible=True),
            "description": cleaned(description, minimum=0, maximum=10_000, multiline=True),
        }
        answer = owner.put("/api/projects/1", data=json.dumps(sent), content_type=JSON)
        refused = {f"#/{name}" for name, value in wanted.items() if value is None}
        if refused:
            assert answer.status_code == 422
            assert {error["pointer"] for error in answer.json["errors"]} <= refused
        else:
            assert answer.status_code == 200
            assert {name: admin.get("/api/projects/1").json[name] for name in wanted} == wanted
            admin.put("/api/admin/projects/1/approve")
            assert {name: api.get("/api/projects").json["items"][0][name] for name in wanted} == wanted
            (entry,) = fromstring(api.get("/api/projects.atom").data).iter("{http://www.w3.org/2005/Atom}entry")
            assert entry.findtext("{http://www.w3.org/2005/Atom}title") == wanted["title"]
        unpublished = admin.put(
            "/api/admin/projects/1/unpublish", data=json.dumps({"reason": reason}), content_type=JSON
        )
        assert unpublished.status_code in {200, 409, 422}
        if unpublished.status_code == 200:
            last = admin.get("/api/admin/projects/1/history").json["items"][0]
            assert last["reason"] == cleaned(reason, minimum=0, maximum=1000, multiline=True)
            admin.put("/api/admin/projects/1/approve")

    story()


def test_what_can_be_searched_for_is_found_or_refused(owner, api):
    @effort(150)
    @given(TEXT.filter(lambda text: not any(0xD800 <= ord(char) < 0xE000 for char in text)))
    @example('"')
    @example("a:* | !b & (c)")
    @example("NEAR(a b, 5) OR title:x*")
    def search(text):
        answer = api.get("/api/projects", query_string={"q": text})
        assert answer.status_code in {200, 422}

    search()


def cursors(real):
    """Bytes, words and changed cursors; hardly ever one that was given out."""
    changed = st.tuples(st.sampled_from(real), st.integers(0, 200), st.characters(codec="ascii")).map(
        lambda t: t[0][: t[1] % len(t[0])] + t[2] + t[0][t[1] % len(t[0]) + 1 :]
    )
    encoded = st.binary(max_size=80).map(lambda b: base64.urlsafe_b64encode(b).decode().rstrip("="))
    cut = st.tuples(st.sampled_from(real), st.integers(1, 60)).map(lambda t: t[0][: -t[1]])
    return changed | encoded | cut | TEXT | st.sampled_from(real)


def test_a_cursor_is_good_for_the_list_that_gave_it_and_no_other_text_is_one(owner, admin, world):
    for number in range(3):
        world.project(status=("live", "pending", "rejected")[number])
    given_out = {}
    for path in PAGED:
        cursor = admin.get(path, query_string={"limit": 1}).json["pagination"]["next_cursor"]
        given_out |= {cursor: path} if cursor else {}
    assert len(given_out) >= 4

    @effort(200)
    @given(st.sampled_from(PAGED), cursors(list(given_out)))
    def follow(path, cursor):
        assume(not any(0xD800 <= ord(char) < 0xE000 for char in cursor))
        answer = admin.get(path, query_string={"limit": 1, "cursor": cursor})
        good = given_out.get(cursor) == path
        assert answer.status_code == (200 if good else 422)

    follow()


def test_no_query_string_is_a_500(app, owner, admin, api):
    reads = [route for route in routes(app) if route.method == "GET"]
    names = sorted({name for route in reads for name in operation(app, route).query.fields})
    pairs = st.tuples(
        st.sampled_from(names) | st.just("x"), st.binary(max_size=20) | TEXT.map(lambda t: t.encode("utf-8", "replace"))
    )
    given_pairs = st.lists(pairs, max_size=4).map(lambda many: b"&".join(name.encode() + b"=" + v for name, v in many))

    @effort(150)
    @given(st.sampled_from([route.rule.replace("<id:project_id>", "1") for route in reads]), given_pairs | st.binary())
    def ask(path, query):
        for caller in (api, admin):
            raw = {"environ_overrides": {"QUERY_STRING": query.decode("latin-1")}}
            assert caller.get(path.replace("<", "x").replace(">", "x"), **raw).status_code < 500

    ask()


def test_no_body_is_a_500(app, owner, admin):
    writes = [route for route in unsafe(app) if route.method != "DELETE"]
    names = {route.name: sorted(operation(app, route).body.schema.fields) for route in writes}
    paths = {"<id:project_id>": "1", "<id:user_id>": "1", "<slug:slug>": "tools", "<id:delivery_id>": "1"}

    @st.composite
    def requests(draw):
        route = draw(st.sampled_from(writes))
        members = st.sampled_from(names[route.name]) if names[route.name] else st.just("x")
        body = draw(st.dictionaries(members, VALUES, max_size=5) | VALUES)
        raw = draw(st.binary(max_size=200) | st.just(json.dumps(body).encode()))
        path = route.rule
        for parameter, value in paths.items():
            path = path.replace(parameter, value)
        return route.method, path, raw

    @effort(300)
    @given(requests())
    def send(request):
        method, path, raw = request
        assert admin.call(method, path, data=raw, content_type=JSON).status_code < 500

    send()


NAMES = (
    "If-Match", "If-None-Match", "Authorization", "Cookie", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
    "Origin", "Sec-Fetch-Site", "Host", "Range", "Content-Type", "X-Request-ID", "User-Agent", "Accept",
)  # fmt: skip
TAGS = st.from_regex(r'\A(W/)?"[0-9]{0,22}(-[a-z]*)?"(, ?"x")*\Z').filter(lambda tag: "\n" not in tag)
BEARERS = st.tuples(st.sampled_from(["Bearer ", "bearer  ", "Basic ", f"{COOKIE}="]), HEADER).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"TRUSTED_PROXIES": 2, "CORS_ORIGINS": "https://app.example.com"}], ids=str)
def test_no_header_is_a_500(make_app, owner, settings):
    app = make_app(**settings)
    caller, anonymous = type(owner)(app, owner.token), type(owner)(app)
    login = {"login": "nobody", "password": "nothing at all"}

    @effort(150)
    @given(st.dictionaries(st.sampled_from(NAMES), HEADER | TAGS | BEARERS, min_size=1, max_size=3))
    def send(headers):
        for one in (caller, anonymous):
            assert one.get("/api/projects", headers=headers).status_code < 500
            assert one.get("/api/projects/1", headers=headers).status_code < 500
            assert one.put("/api/projects/1", {"title": "One"}, headers=headers).status_code < 500
            assert one.post("/api/auth/login", login, headers=headers).status_code < 500

    send()
