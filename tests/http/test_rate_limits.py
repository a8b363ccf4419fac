"""Rate limits: which callers a tier counts, that it counts every request, and what the answers say of it."""

import re
import time
from threading import Barrier, Thread

import pytest

from directory.errors import RateLimited
from directory.http import rate_limits
from directory.services.accounts import accounts
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api, World

NEW = {"username": "new", "email": "new@example.org", "password": "analytical engine"}
WRONG = {"login": "ada", "password": "not the password"}


@pytest.fixture
def limited(make_app):
    """An application with limits: those given, and far away ones for the rest."""

    def make(**settings):
        tiers = {f"RATELIMIT_{tier}": "1000 per hour" for tier in ("VOTING", "SUBMISSION", "AUTH", "WRITE")}
        return make_app(**{"RATELIMIT_ENABLED": "true", **tiers, **settings})

    return make


def at(address, **headers):
    return {"environ_overrides": {"REMOTE_ADDR": address}, "headers": headers}


def statuses(calls):
    return [call().status_code for call in calls]


def policy(answer):
    """RateLimit-Policy and RateLimit as the draft's lists of named items: {name: (quota, window, remaining, reset)}."""
    form = r'"([a-z]+-\d+s)";{}=(\d+);{}=(\d+)'
    quotas = [re.fullmatch(form.format("q", "w"), item) for item in answer.headers["RateLimit-Policy"].split(", ")]
    states = [re.fullmatch(form.format("r", "t"), item) for item in answer.headers["RateLimit"].split(", ")]
    assert [item[1] for item in quotas] == [item[1] for item in states]
    return {q[1]: (int(q[2]), int(q[3]), int(s[2]), int(s[3])) for q, s in zip(quotas, states, strict=True)}


def test_the_limits_are_those_of_the_contract_unless_set(make_app):
    app = make_app(RATELIMIT_ENABLED="")
    world = World(app)
    caller, admin = world.caller(world.user()), world.caller(world.admin())
    live = world.project()
    project = {"title": "x", "tagline": "x", "url": "https://example.com", "category": "tools"}
    assert policy(caller.post(f"/api/projects/{live}/upvote")).keys() == {"voting-60s", "voting-3600s"}
    assert policy(caller.post(f"/api/projects/{live}/upvote"))["voting-60s"][:3] == (30, 60, 28)
    assert policy(caller.post("/api/projects", project))["submission-3600s"][:3] == (5, 3600, 4)
    assert policy(caller.post("/api/projects", project))["submission-86400s"][:3] == (20, 86400, 18)
    logins = [policy(Api(app).post("/api/auth/login", WRONG)) for _ in range(6)]
    assert {name: each[:3] for name, each in logins[0].items()} == {"auth-300s": (10, 300, 9)}
    assert [login.keys() for login in logins[1:5]] == [{"auth-300s"}] * 4
    assert logins[5]["account-300s"][:3] == (5, 300, 0)
    assert policy(caller.put("/api/auth/me", {}))["write-60s"][:3] == (60, 60, 59)
    assert policy(admin.put(f"/api/admin/projects/{live}/approve"))["admin-60s"][:3] == (600, 60, 599)
    assert policy(admin.put("/api/auth/me", {}))["write-60s"][:3] == (60, 60, 59)
    for path in ("/api/projects", "/api/auth/me"):
        assert "RateLimit" not in caller.get(path).headers


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/projects/4711/upvote", None, 404),
        ("PUT", "/api/projects/{pending}/upvote", None, 409),
        ("POST", "/api/projects/{live}/upvote", {"unknown": 1}, 422),
        ("DELETE", "/api/projects/{live}/upvote?unknown=1", None, 422),
        ("POST", "/api/projects", {}, 422),
        ("PUT", "/api/projects/4711", {}, 404),
        ("PUT", "/api/projects/{foreign}", {}, 403),
        ("DELETE", "/api/projects/{foreign}", None, 403),
        ("DELETE", "/api/auth/tokens/4711", None, 404),
        ("PUT", "/api/auth/me", {"email": "other@example.org", "current_password": PASSWORD}, 409),
        ("POST", "/api/auth/register", {"username": "other", "email": "a@b.org", "password": "analytical engine"}, 409),
    ],
)
def test_a_request_counts_whatever_its_status(limited, method, path, body, status):
    app = limited(
        **dict.fromkeys(("RATELIMIT_VOTING", "RATELIMIT_SUBMISSION", "RATELIMIT_AUTH", "RATELIMIT_WRITE"), "3 per hour")
    )
    world = World(app)
    user = world.user()
    world.user("other")
    path = path.format(pending=world.project(user, "pending"), live=world.project(user), foreign=world.project())
    caller = world.caller(user)
    assert statuses([lambda: caller.call(method, path, body)] * 5) == [status] * 3 + [429] * 2


def test_each_tier_has_its_own_budget_and_the_routes_of_a_tier_share_one(limited):
    world = World(limited(RATELIMIT_VOTING="2 per hour", RATELIMIT_WRITE="2 per hour"))
    caller = world.caller(world.user())
    vote = f"/api/projects/{world.project()}/upvote"
    assert statuses([lambda: caller.post(vote), lambda: caller.put(vote), lambda: caller.delete(vote)]) == [
        200,
        200,
        429,
    ]
    writes = [lambda: caller.put("/api/auth/me", {}), lambda: caller.delete("/api/auth/sessions")]
    assert statuses([*writes, lambda: caller.post("/api/auth/tokens", {"name": "x"})]) == [200, 204, 429]


def test_signed_in_callers_are_counted_by_user_from_every_address_and_by_cookie_or_token(limited):
    app = limited(RATELIMIT_WRITE="3 per hour")
    world = World(app)
    user, other = world.user("ada"), world.caller(world.user())
    browser, tokens = Browser(app).sign_in("ada"), [world.caller(user), world.caller(user)]
    calls = [lambda each=each: each.put("/api/auth/me", {}) for each in (browser, *tokens, browser)]
    assert statuses(calls) == [200, 200, 200, 429]
    assert tokens[0].put("/api/auth/me", {}, **at("8.8.8.8")).status_code == 429
    assert other.put("/api/auth/me", {}).status_code == 200


def test_an_anonymous_vote_is_always_401_and_spends_no_budget(limited):
    world = World(app := limited(RATELIMIT_VOTING="1 per hour", RATELIMIT_WRITE="1 per hour"))
    vote = f"/api/projects/{world.project()}/upvote"
    api, dead = Api(app), {"Cookie": f"{COOKIE}=dead", "Sec-Fetch-Site": "same-origin"}
    for _ in range(4):
        for answer in (api.post(vote), api.post(vote, headers=dead), api.delete("/api/projects/1")):
            assert (answer.status_code, "RateLimit" in answer.headers) == (401, False)
    assert world.caller(world.user()).post(vote).status_code == 200


@pytest.mark.parametrize(
    ("wait", "said"),
    [(1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (3_541, "60 minutes"), (7_201, "3 hours")],
)
def test_the_time_to_wait_is_said_as_people_say_it(wait, said):
    assert RateLimited(wait).detail == f"Too many requests. Try again in {said}."


def test_a_429_says_when_to_come_back_and_no_other_answer_does(limited):
    world = World(limited(RATELIMIT_VOTING="2 per minute; 2 per hour"))
    caller, vote = world.caller(world.user()), f"/api/projects/{world.project()}/upvote"
    allowed, last, refused = (caller.post(vote) for _ in range(3))
    assert policy(allowed)["voting-60s"][2] == policy(allowed)["voting-3600s"][2] == 1
    assert policy(last)["voting-60s"][2] == 0
    for answer in (allowed, last, caller.post("/api/projects/x/upvote"), caller.put("/api/auth/me", {"x": 1})):
        assert "Retry-After" not in answer.headers
    assert (refused.status_code, refused.json["code"]) == (429, "rate_limited")
    assert refused.content_type == "application/problem+json"
    # Both limits are used up, so it is the longer one that counts.
    quota, window, remaining, reset = policy(refused)["voting-3600s"]
    assert (quota, window, remaining) == (2, 3600, 0)
    assert 3500 < reset <= 3600
    wait = int(refused.headers["Retry-After"])
    assert abs(wait - reset) <= 1
    assert refused.json["detail"] == f"Too many requests. Try again in {-(-wait // 60)} minutes."


def test_a_longer_limit_that_is_not_used_up_delays_no_caller(limited):
    world = World(limited(RATELIMIT_VOTING="1 per minute; 100 per day"))
    caller, vote = world.caller(world.user()), f"/api/projects/{world.project()}/upvote"
    caller.post(vote)
    assert 0 < int(caller.post(vote).headers["Retry-After"]) <= 60


def test_signing_in_and_registering_count_by_address_for_signed_in_callers_too(limited):
    world = World(app := limited(RATELIMIT_AUTH="2 per hour"))
    taken = {"username": "taken", "email": "taken@example.org", "password": "analytical engine"}
    callers = [Api(app), world.caller(world.user("taken")), world.caller(world.user())]
    calls = [lambda c=c: c.post("/api/auth/register", taken) for c in callers]
    assert statuses(calls) == [409, 409, 429]
    assert statuses([lambda: callers[2].post("/api/auth/login", WRONG)]) == [429]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/auth/register", {}),
        ("/api/auth/register", []),
        ("/api/auth/register", {**NEW, "password": "short"}),
        ("/api/auth/register", {**NEW, "password": "password1"}),
        ("/api/auth/register", {**NEW, "email": "\ud800"}),
        ("/api/auth/register?unknown=1", NEW),
        ("/api/auth/login", {"login": "ada"}),
        ("/api/auth/login", {**WRONG, "unknown": 1}),
    ],
)
def test_a_body_that_is_refused_with_422_spends_nothing_of_the_auth_tier(limited, path, body):
    api = Api(limited(RATELIMIT_AUTH="2 per hour"))
    answers = [api.post(path, body) for _ in range(5)]
    assert [(answer.status_code, policy(answer)["auth-3600s"][2]) for answer in answers] == [(422, 2)] * 5
    assert policy(api.post("/api/auth/login", WRONG))["auth-3600s"][2] == 1
    finished = api.post("/api/auth/register", NEW)
    assert (finished.status_code, policy(finished)["auth-3600s"][2]) == (201, 1), "which gives its hit back"


@pytest.mark.parametrize(
    ("status", "options"),
    [(400, {"data": b"{"}), (415, {"data": b"{}", "content_type": "text/plain"}), (413, {"data": b"x" * 70_000})],
)
@pytest.mark.parametrize("path", ["/api/auth/register", "/api/auth/login"])
def test_a_body_that_is_no_json_spends_the_auth_tier(limited, path, status, options):
    api = Api(limited(RATELIMIT_AUTH="2 per hour"))
    calls = [lambda: api.post(path, **{"content_type": "application/json", **options})] * 3
    assert statuses(calls) == [status, status, 429]


def test_closed_registration_spends_the_auth_tier(limited):
    api = Api(limited(RATELIMIT_AUTH="2 per hour", REGISTRATION_OPEN="false"))
    assert statuses([lambda: api.post("/api/auth/register", NEW)] * 3) == [403, 403, 429]


def test_writes_of_an_administrator_count_apart_under_the_admin_routes(limited):
    world = World(limited(RATELIMIT_ADMIN="3 per hour", RATELIMIT_WRITE="1 per hour"))
    admin, project = world.caller(world.admin()), world.project()
    approve = f"/api/admin/projects/{project}/approve"
    assert statuses([lambda: admin.put(approve)] * 4) == [200, 200, 200, 429]
    assert statuses([lambda: admin.put("/api/auth/me", {})] * 2) == [200, 429]
    member = world.caller(world.user())
    assert statuses([lambda: member.put(approve)] * 5) == [403] * 5


def test_a_refused_request_is_refused_before_its_body_is_read(limited):
    world = World(limited(RATELIMIT_SUBMISSION="1 per hour"))
    caller = world.caller(world.user())
    caller.post("/api/projects", {})
    for options in ({"data": b"{"}, {"data": b"x" * 70_000}, {"data": b"{}", "content_type": "text/plain"}):
        assert caller.post("/api/projects", **options).status_code == 429


def in_parallel(count, call):
    """The statuses of `count` calls that start together."""
    barrier, found = Barrier(count), []

    def run(number):
        barrier.wait()
        found.append(call(number).status_code)

    threads = [Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def test_of_sixty_guesses_at_once_at_one_account_exactly_five_are_judged(limited, monkeypatch):
    world = World(app := limited(RATELIMIT_AUTH="10 per 5 minutes"))
    world.user("ada")
    names = ["ada", "ADA", " ada ", "ada@example.org"]
    verified = []
    verify = accounts.verify_password
    monkeypatch.setattr(accounts, "verify_password", lambda *given: verified.append(given[0]) or verify(*given))
    found = in_parallel(60, lambda n: Api(app).post("/api/auth/login", WRONG | {"login": names[n % 4]}))
    # The address has ten tries, five at most under each of the two names of the account.
    assert found in [[401] * tried + [429] * (60 - tried) for tried in range(5, 11)]
    assert sum(stored is not None for stored in verified) == 5


def test_the_names_of_an_account_share_its_five_guesses_and_no_answer_shows_it(limited):
    world = World(app := limited(RATELIMIT_AUTH="10 per 5 minutes"))
    world.user("ada")
    world.user("bob")

    def answer(login, password="not the password"):
        given = Api(app).post("/api/auth/login", {"login": login, "password": password}, **at("8.8.8.8"))
        limits = [(name, each[:3]) for name, each in policy(given).items() if name != "auth-300s"]
        return given.status_code, {**given.json, "request_id": None}, limits

    assert [answer("ada")[0] for _ in range(5)] == [401] * 5
    # The e-mail addresses of this account, of another account, and of none.
    found = [answer(f"{name}@example.org") for name in ("ada", "bob", "nobody")]
    assert found == [found[0]] * 3
    assert found[0][0] == 401
    assert answer("ada@example.org", PASSWORD) == found[0], "a further guess is not judged, by whichever name"
    assert answer("ada")[0] == 429
    assert Api(app).post("/api/auth/login", {"login": "ada", "password": PASSWORD}).status_code == 200


WINDOW = 2.0  # seconds


def passed_of_twenty(hit):
    """When each hit that passed was sent and answered: one, nine at its window's end, ten as soon as it has ended.

    Of ten a window, one that begins on the clock or with the first hit lets 19 pass in quick succession.
    """
    passed = []

    def hit_at_once(times):
        for _ in range(times):
            sent = time.time()
            if hit() == 200:
                passed.append((sent, time.time()))

    hit_at_once(1)
    first, counted = passed[0]
    time.sleep(max(0.0, first + WINDOW - 0.4 - time.time()))
    hit_at_once(9)
    time.sleep(max(0.0, counted + WINDOW + 0.05 - time.time()))
    hit_at_once(10)
    return passed


def shorter_than_the_window(passed):
    """The gaps between a hit and the tenth after it that are shorter than the window, however slow the machine is."""
    gaps = [later[1] - earlier[0] for earlier, later in zip(passed, passed[10:], strict=False)]
    return [gap for gap in gaps if gap < WINDOW]


def test_no_window_holds_more_than_the_limit_wherever_it_begins(limited):
    world = World(limited(RATELIMIT_VOTING=f"10 per {WINDOW:.0f} seconds"))
    caller, vote = world.caller(world.user()), f"/api/projects/{world.project()}/upvote"
    passed = passed_of_twenty(lambda: caller.put(vote).status_code)
    assert shorter_than_the_window(passed) == []
    assert len(passed) > 10  # the first has left the window


def test_an_unknown_name_made_of_digits_is_not_counted_as_the_account_with_that_id(limited):
    world = World(app := limited(RATELIMIT_AUTH="10 per 5 minutes"))
    user = world.user("ada")
    guesses = [lambda: Api(app).post("/api/auth/login", WRONG | {"login": str(user.id)})] * 6
    assert statuses(guesses) == [401] * 5 + [429]
    assert Api(app).post("/api/auth/login", WRONG).status_code == 401


def test_of_sixty_guesses_at_once_from_one_address_exactly_ten_are_judged_and_others_go_on(limited):
    world = World(app := limited(RATELIMIT_AUTH="10 per 5 minutes"))
    world.user("ada")
    found = in_parallel(60, lambda n: Api(app).post("/api/auth/login", WRONG | {"login": f"guess{n}"}))
    assert found == [401] * 10 + [429] * 50
    right = {"login": "ada", "password": PASSWORD}
    assert Api(app).post("/api/auth/login", right).status_code == 429
    assert Api(app).post("/api/auth/login", right, **at("8.8.8.8")).status_code == 200


def test_guesses_at_the_present_password_are_counted_with_those_at_the_login(limited):
    world = World(app := limited(RATELIMIT_AUTH="4 per 5 minutes"))
    caller = world.caller(world.user("ada"))
    guess = {"password": "a new and longer one", "current_password": "not the password"}
    calls = [lambda: caller.put("/api/auth/me", guess), lambda: Api(app).post("/api/auth/login", WRONG)]
    assert statuses(calls * 2) == [422, 401, 429, 429]
    assert caller.put("/api/auth/me", {"notify": False}).status_code == 200


def test_a_wrong_current_password_spends_what_a_wrong_login_spends(limited):
    world = World(app := limited(RATELIMIT_AUTH="10 per 5 minutes"))
    caller = world.caller(world.user("ada"))
    guess = {"password": "a new and longer one", "current_password": "not the password"}
    for body in ({**guess, "password": "short"}, {**guess, "email": "none"}, {"password": "a new and longer one"}):
        assert "auth-300s" not in policy(caller.put("/api/auth/me", body))
    wrong = policy(caller.put("/api/auth/me", guess))
    assert {name: wrong[name][:3] for name in ("auth-300s", "account-300s", "password-300s")} == {
        "auth-300s": (10, 300, 9),
        "account-300s": (5, 300, 4),
        "password-300s": (5, 300, 4),
    }
    assert policy(Api(app).post("/api/auth/login", WRONG))["auth-300s"][2] == 8
    for _ in range(4):
        Api(app).post("/api/auth/login", WRONG | {"login": "ada@example.org"})
    over = caller.put("/api/auth/me", guess)
    assert (over.status_code, policy(over)["password-300s"][2]) == (429, 0)


def test_reads_are_counted_where_a_limit_for_them_is_set(limited):
    app = limited(RATELIMIT_READ="2 per minute")
    api, first = Api(app), Api(app).get("/api/categories")
    assert policy(first)["read-60s"][:3] == (2, 60, 1)
    again = api.get("/api/categories", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, policy(again)["read-60s"][2]) == (304, 0)
    assert statuses([lambda: api.get("/api/projects"), lambda: api.call("HEAD", "/api/projects")]) == [429, 429]
    assert statuses([lambda: api.get("/healthz"), lambda: api.call("OPTIONS", "/api/projects")]) == [200, 204]
    assert api.get("/api/projects", **at("8.8.8.8")).status_code == 200


def test_limits_can_be_switched_off(limited):
    app = limited(RATELIMIT_ENABLED="false", RATELIMIT_AUTH="1 per day", RATELIMIT_READ="1 per day")
    for answer in [Api(app).post("/api/auth/login", WRONG) for _ in range(12)]:
        assert (answer.status_code, "RateLimit" in answer.headers) == (401, False)
    assert statuses([lambda: Api(app).get("/api/projects")] * 3) == [200] * 3


def test_many_keys_are_counted_in_their_order_and_one_that_is_refused_does_not_count_for_longer_limits(limited):
    app = limited(RATELIMIT_AUTH="2 per minute; 3 per hour")
    with app.test_request_context():
        found = rate_limits.count_all("auth", ["a", "b", "a", "a"])
        assert [each.is_admitted for each in found] == [True, True, True, False]
        assert [[state.remaining for state in each.states] for each in found] == [[1, 2], [1, 2], [0, 1], [0, 1]]
        assert rate_limits.count_all("auth", []) == []
        for _ in range(2):
            [shown] = rate_limits.count_all("auth", ["a"], counts=False)
            assert [state.remaining for state in shown.states] == [0, 1]


def test_without_a_limit_every_key_is_admitted(make_app):
    with make_app(RATELIMIT_ENABLED="false").test_request_context():
        assert rate_limits.count_all("auth", ["a", "b"]) == [rate_limits.Count(True, [])] * 2
