"""Roles and admission by the groups that a provider names, whatever shape its claim has, and when two act at once."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.extensions import db
from directory.extras.providers import groups
from directory.extras.providers.provider import Claims
from directory.extras.providers.roles import RoleRules
from directory.models import AuditEntry, Identity, Session, Token, User, now
from directory.services.people import administration
from tests.support.browsers import Browser
from tests.support.factories import Api, World
from tests.support.lying_provider import LyingProvider, walk

ROLES = {"claim": "groups", "admin": ["Admins"], "reviewer": ["Reviewers", "/staff/review"]}
CLOSED = {**ROLES, "member": ["Staff"]}
RULES = RoleRules(CLOSED)
on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # what is read of a claim needs no database


def app_of(make_app: Any, provider: LyingProvider, roles: Any = ROLES, **more: Any) -> Flask:
    given = {**provider.settings(), "roles": roles}
    return make_app(OIDC_PROVIDERS=json.dumps([given]), **more)  # type: ignore[no-any-return]


def stored(app: Flask, username: str = "ada") -> tuple[str, str]:
    """The role of an account, and who gave it."""
    with app.app_context():
        row = db.session.execute(select(User.role, User.role_source).where(User.username == username)).one()
        return row.role, row.role_source


def entries(app: Flask, *actions: str) -> list[tuple[Any, ...]]:
    with app.app_context():
        columns = (AuditEntry.action, AuditEntry.from_state, AuditEntry.to_state, AuditEntry.reason)
        query = select(*columns).where(AuditEntry.action.in_(actions)).order_by(AuditEntry.id)
        return [tuple(row) for row in db.session.execute(query)]


def refusals(caplog: Any) -> list[tuple[str, str]]:
    """The provider and the reason of each line that says that somebody was not admitted."""
    lines = [each for each in caplog.records if each.message == "not admitted"]
    assert all("Secret" not in str(vars(line)) for line in lines), "the names of groups are the person's"
    return [(line.provider, line.reason) for line in lines]


def of(groups: Any, claim: str = "groups") -> dict[str, Any]:
    return {claim: groups}


@on_sqlite
@pytest.mark.parametrize(
    ("claim", "sent", "role"),
    [
        ("groups", of("Admins"), "admin"),
        ("groups", of(["x", "Reviewers", "Admins"]), "admin"),
        ("groups", of(["/staff/review"]), "reviewer"),
        ("groups", of(["staff/review", "review"]), "member"),
        ("groups", of({"Admins": {"2": "example.org"}, "x": {}}), "admin"),
        ("groups", of({}), "member"),
        ("groups", of([{"name": "x"}, {"id": 5, "name": "Reviewers"}]), "reviewer"),
        ("groups", of(["x", {"name": "Reviewers"}]), "reviewer"),
        ("realm_access.roles", {"realm_access": {"roles": {"Admins": None}}}, "admin"),
        ("groups", of(["admins", "Admins "]), "member"),
        ("groups", of([]), "member"),
        ("realm_access.roles", {"realm_access": {"roles": ["Admins"]}}, "admin"),
        ("https://example.org/groups", of(["Reviewers"], "https://example.org/groups"), "reviewer"),
        ("roles", {"roles": ["Admins"], "hasgroups": True}, "admin"),
        ("groups", {"groups": ["Admins"], "hasgroups": False}, "admin"),
        ("groups", {"groups": ["Admins"], "_claim_names": {"address": "src1"}}, "admin"),
    ],
)
@pytest.mark.parametrize("by_userinfo", [False, True])
def test_a_claim_that_is_whole_gives_the_highest_role_that_it_names(
    make_app: Any, provider: LyingProvider, claim: str, sent: dict[str, Any], role: str, by_userinfo: bool
) -> None:
    app = app_of(make_app, provider, {**ROLES, "claim": claim})
    if by_userinfo:
        provider.userinfo = {"sub": provider.person["sub"], **sent}
    else:
        provider.claims = sent
    browser = Browser(app)
    assert walk(browser, provider).headers["Location"] == "/"
    assert stored(app) == (role, "local" if role == "member" else "company")
    assert browser.get("/api/auth/me").json["role"] == role
    assert entries(app, "user.role_unknown") == []
    changed = [("user.role_changed", "member", role, "company")] if role != "member" else []
    assert entries(app, "user.role_changed") == changed


CUT = {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://graph.example/x"}}}


@on_sqlite
@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({}, "absent"), (of(None), "absent"), (of(5), "type"), (of([["Staff"]]), "type"),
        (of([{"id": "Staff"}]), "type"), (of([{"name": 5}]), "type"), (of(["Staff", 5]), "type"),
        (of(True), "type"), (CUT, "cut"), ({**CUT, "groups": ["Staff"]}, "cut"),
        ({"_claim_names": "groups", "groups": ["Staff"]}, "cut"), ({"hasgroups": True}, "cut"),
        ({"hasgroups": "true", "groups": ["Staff"]}, "cut"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("by_userinfo", [False, True])
def test_a_claim_that_is_not_whole_changes_nothing_and_opens_no_account_where_members_are_listed(
    make_app: Any, provider: LyingProvider, caplog: Any, sent: dict[str, Any], why: str, by_userinfo: bool
) -> None:
    app, closed = app_of(make_app, provider), app_of(make_app, provider, CLOSED)
    provider.claims = of(["Admins"])
    walk(Browser(app), provider)
    provider.claims = {name: value for name, value in sent.items() if value is not None}
    if by_userinfo:
        provider.userinfo, provider.claims = {"sub": provider.person["sub"], **sent}, {}
    browser = Browser(closed)
    assert walk(browser, provider).headers["Location"] == "/"
    assert stored(app) == ("admin", "company")
    assert entries(app, "user.role_unknown") == [("user.role_unknown", None, "company", why)]
    [line] = [each for each in caplog.records if each.message == "role unknown"]
    assert (line.provider, line.reason) == ("company", why)

    provider.person |= {"sub": "new", "email": "new@example.org", "preferred_username": "newcomer"}
    if by_userinfo:
        provider.userinfo = {**provider.userinfo, "sub": "new"}  # type: ignore[dict-item]
    assert "reason=not_admitted" in walk(Browser(closed), provider).headers["Location"]
    assert refusals(caplog) == [("company", why)]
    assert walk(Browser(app), provider).headers["Location"] == "/"
    assert stored(app, "newcomer") == ("member", "local")


def test_a_role_of_the_provider_is_lost_with_the_group_and_one_given_by_hand_stays(
    make_app: Any, provider: LyingProvider
) -> None:
    app = app_of(make_app, provider)
    admin = World(app).caller(World(app).admin("root"))
    provider.claims = of(["Reviewers"])
    walk(Browser(app), provider)
    [user_id] = [each["id"] for each in admin.get("/api/admin/users").json["items"] if each["username"] == "ada"]
    assert admin.get(f"/api/admin/users/{user_id}").json["role_source"] == "company"

    World(app).category("tools")
    some = {"review_categories": ["tools"]}
    changed = admin.put(f"/api/admin/users/{user_id}", some).json
    assert (changed["role_source"], changed["review_categories"]) == ("company", ["tools"])
    walk(Browser(app), provider)
    assert admin.get(f"/api/admin/users/{user_id}").json["review_categories"] == ["tools"]
    provider.claims = of(["Others"])
    walk(Browser(app), provider)
    assert stored(app) == ("member", "local")

    assert admin.put(f"/api/admin/users/{user_id}", {"role": "reviewer"}).json["role_source"] == "local"
    walk(Browser(app), provider)
    assert stored(app) == ("reviewer", "local")
    provider.claims = of(["Admins"])
    walk(Browser(app), provider)
    assert stored(app) == ("admin", "company")
    assert admin.put(f"/api/admin/users/{user_id}", {"role": "admin"}).json["role_source"] == "local"
    provider.claims = of("Reviewers")
    walk(Browser(app), provider)
    assert stored(app) == ("reviewer", "company")
    with LyingProvider() as second:
        both = [{**each, "roles": ROLES} for each in (provider.settings(), second.settings("second"))]
        two = make_app(OIDC_PROVIDERS=json.dumps(both))
        second.person |= {"email": "ada@example.org"}
        second.claims = of([])
        with app.app_context():
            confirmed = update(User).where(User.username == "ada").values(email_verified_at=now())
            transaction(lambda: db.session.execute(confirmed))
        walk(Browser(two), second, "second")
        assert stored(app) == ("reviewer", "company"), "another provider gave it"


def test_a_role_given_by_hand_comes_back_when_that_of_the_provider_goes(make_app: Any, provider: LyingProvider) -> None:
    app = app_of(make_app, provider)
    world = World(app)
    admin, _ = world.caller(world.admin("root")), world.category("tools")
    walk(Browser(app), provider)
    [ada] = [each["id"] for each in admin.get("/api/admin/users").json["items"] if each["username"] == "ada"]

    def by_hand(**given: Any) -> None:
        assert admin.put(f"/api/admin/users/{ada}", given).status_code == 200

    def after(*names: str) -> tuple[str, str, Any]:
        provider.claims = of([*names])
        assert walk(Browser(app), provider).headers["Location"] == "/"
        found = admin.get(f"/api/admin/users/{ada}").json
        return found["role"], found["role_source"], found["review_categories"]

    by_hand(role="reviewer", review_categories=["tools"])
    assert after("Admins") == ("admin", "company", None)
    assert after("Others") == ("reviewer", "local", ["tools"])
    assert after("Reviewers") == ("reviewer", "company", ["tools"])
    by_hand(review_categories=None)
    assert after("Admins") == ("admin", "company", None)
    assert after("Reviewers") == ("reviewer", "company", None)
    assert after() == ("reviewer", "local", ["tools"])
    assert after("Admins") == ("admin", "company", None)
    by_hand(role="member")
    assert after("Admins") == ("admin", "company", None)
    assert after() == ("member", "local", None), "what was given by hand last"
    by_hand(role="admin")
    assert after("Reviewers") == ("reviewer", "company", None)
    assert after() == ("admin", "local", None)
    provider.claims = of(["Reviewers"])
    walk(Browser(app), provider)
    world.caller(world.admin("second")).delete(f"/api/admin/users/{ada}")
    with app.app_context():
        kept = select(User.role, User.local_role, User.local_categories).where(User.id == ada)
        assert tuple(db.session.execute(kept).one()) == ("member", None, None)


def test_an_administrator_by_hand_is_one_again_where_nobody_else_is(make_app: Any, provider: LyingProvider) -> None:
    app = app_of(make_app, provider)
    walk(Browser(app), provider)
    with app.app_context():
        hand = update(User).values(role="admin")
        transaction(lambda: db.session.execute(hand))
    provider.claims = of(["Admins"])
    walk(Browser(app), provider)
    assert stored(app) == ("admin", "company")
    provider.claims = of([])
    walk(Browser(app), provider)
    assert stored(app) == ("admin", "local")


@pytest.mark.extra("feed_keys")
def test_who_is_in_none_of_the_lists_is_refused_and_loses_sessions_and_tokens(
    make_app: Any, provider: LyingProvider, caplog: Any
) -> None:
    app = app_of(make_app, provider, CLOSED)
    World(app).admin("root")
    provider.claims = of(["Staff"])
    browser = Browser(app)
    walk(browser, provider)
    assert stored(app) == ("member", "local")
    provider.claims = of(["Admins"])
    walk(browser, provider)
    token = browser.post("/api/auth/tokens", {"name": "x"}).json["token"]
    feed = f"/api/projects.atom?key={browser.post('/api/auth/feed-key').json['key']}"
    provider.claims = of(["Secret group"])
    left = Browser(app)
    assert "reason=not_admitted" in walk(left, provider).headers["Location"]
    assert (browser.signed_in(), left.signed_in()) == (False, False)
    assert Api(app, token).get("/api/auth/me").status_code == 401
    assert Api(app).get(feed).status_code == 401
    assert stored(app) == ("member", "local")
    assert refusals(caplog) == [("company", "unlisted")]
    assert entries(app, "user.signed_out") == [("user.signed_out", None, None, "company")]
    assert "not among those" in left.get("/sign-in?sign-in=failed&reason=not_admitted").text

    provider.person |= {"sub": "2", "email": "eve@example.org", "preferred_username": "eve"}
    location = left.get("/api/auth/providers/company").headers["Location"]
    given = provider.authorize(location)
    path = f"/api/auth/providers/company/callback?code={given['code']}&state={given['state']}"
    answer = left.get(path, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json["code"]) == (403, "not_admitted")
    assert refusals(caplog) == [("company", "unlisted")] * 2
    with app.app_context():
        assert db.session.scalars(select(User.username).order_by(User.id)).all() == ["root", "ada"]


@pytest.mark.extra("spam_rules")
def test_a_rule_refuses_a_new_account_of_a_provider_and_counts_it(make_app: Any, provider: LyingProvider) -> None:
    app = app_of(make_app, provider, CLOSED)
    world = World(app)
    domain = {"fact": "email_domain", "is": "=", "value": "example.org"}
    given = {"judges": ["registration"], "conditions": [domain], "effect": "reject", "reason": "Not you."}
    rule_id = world.rule(state="on", **given)
    provider.claims = of(["Staff"])
    browser = Browser(app)
    assert "reason=registration_refused" in walk(browser, provider).headers["Location"]
    assert browser.signed_in() is False
    root = world.caller(world.admin("root"))
    assert root.get(f"/api/admin/rules/{rule_id}").json["days"][-1]["matched"] == 1
    with app.app_context():
        assert db.session.scalars(select(User.username)).all() == ["root"]


@pytest.mark.parametrize("confirmed", [True, False])
def test_an_account_of_the_same_address_is_found_only_if_it_is_proven(
    make_app: Any, provider: LyingProvider, confirmed: bool
) -> None:
    """Somebody in no list ends the access of their own account, and not that of another with an unproven address."""
    app = app_of(make_app, provider, CLOSED)
    world = World(app)
    ada = world.user("ada")
    caller = world.caller(ada)
    world.change(ada, email_verified_at=now() if confirmed else None)
    provider.claims = of([])
    assert "reason=not_admitted" in walk(Browser(app), provider).headers["Location"]
    assert caller.get("/api/auth/me").status_code == (401 if confirmed else 200)
    with app.app_context():
        assert db.session.scalars(select(Identity)).all() == []


def test_the_last_active_administrator_keeps_the_role(make_app: Any, provider: LyingProvider, caplog: Any) -> None:
    app = app_of(make_app, provider)
    provider.claims = of(["Admins"])
    walk(Browser(app), provider)
    for sent in (of([]), of(["Reviewers"])):
        provider.claims = sent
        assert walk(Browser(app), provider).headers["Location"] == "/"
        assert stored(app) == ("admin", "company")
    assert [each.message for each in caplog.records].count("the last administrator keeps the role") == 2
    World(app).admin("root")
    walk(Browser(app), provider)
    assert stored(app) == ("reviewer", "company")


def claims(number: int, *names: str) -> Claims:
    given = RULES.membership({"groups": [*names]})
    return Claims("company", "https://x.example", f"{number}", f"u{number}@example.org", True, (f"u-{number}",), given)


def at_once(app: Flask, *works: Callable[[], Any]) -> list[Any]:
    """Do all of it in transactions that begin together; a refusal is the result of its work."""
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        with app.app_context():
            ready.wait(60)
            try:
                return transaction(work)
            except DirectoryError as error:
                return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def signing_in(number: int, *names: str) -> Callable[[], Any]:
    return lambda: bool(groups.sign_in(claims(number, *names), user_agent="", registration_open=True))


def test_of_administrators_who_all_lost_the_group_and_sign_in_at_once_one_stays(app: Flask) -> None:
    for _ in range(4):
        with app.app_context():
            for number in range(3):
                transaction(signing_in(number, "Admins"))
        at_once(app, *(signing_in(number, "Staff") for number in range(3)))
        with app.app_context():
            found = db.session.execute(select(User.role, User.role_source)).all()
        assert sorted(map(tuple, found)) == [("admin", "company"), ("member", "local"), ("member", "local")]


def test_two_sign_ins_of_one_person_at_once_end_as_one_of_them_would(app: Flask, world: World) -> None:
    world.admin("root")
    for _ in range(4):
        results = at_once(app, signing_in(1, "Reviewers"), signing_in(1, "Others"))
        assert all(isinstance(each, bool | DirectoryError) for each in results)
        with app.app_context():
            rows = db.session.execute(select(User.role, User.role_source).where(User.username == "u-1")).all()
            assert [tuple(row) for row in rows] in ([], [("reviewer", "company")], [("member", "local")])
            ended = select(Session.id).join(User, User.id == Session.user_id).where(User.role == "member")
            if rows and rows[0].role == "member":
                assert db.session.scalars(ended).all() == []


def test_a_sign_in_and_an_administrators_change_at_once_end_as_one_after_the_other(app: Flask, world: World) -> None:
    root = world.admin("root")
    with app.app_context():
        transaction(signing_in(1, "Reviewers"))
        user_id = db.session.scalars(select(User.id).where(User.username == "u-1")).one()
    for _ in range(4):
        promote = lambda: administration.administer(user_id, role="admin", status=None, by=root)  # noqa: E731
        demote = lambda: administration.administer(root.id, role="member", status=None, by=root)  # noqa: E731
        results = at_once(app, signing_in(1, "Reviewers"), promote, demote)
        assert results[0] is True
        with app.app_context():
            found = {name: (role, source) for name, role, source in db.session.execute(
                select(User.username, User.role, User.role_source)
            )}  # fmt: skip
            assert found["u-1"] in {("reviewer", "company"), ("admin", "local")}
            assert "admin" in {role for role, _ in found.values()}
        world.change(root, role="admin")


def sign_in_of(app: Flask, days: float, hours: float = 0) -> None:
    """Make the last sign-ins, and the sessions that they opened, older."""
    with app.app_context():
        earlier = now() - timedelta(days=days, hours=hours)
        transaction(lambda: db.session.execute(update(Identity).values(last_used_at=earlier)))
        transaction(lambda: db.session.execute(update(Session).values(created_at=earlier)))


def test_sessions_by_a_provider_end_at_the_age_of_the_setting(make_app: Any, provider: LyingProvider) -> None:
    short, plain = (make_app(**provider.environment, **more) for more in ({"SESSION_HOURS": "8"}, {}))
    World(short).user("eve")
    by_provider, by_password = Browser(short), Browser(short).sign_in("eve")
    walk(by_provider, provider)
    sign_in_of(short, 0, 7.9)
    assert by_provider.signed_in()
    sign_in_of(short, 0, 8.1)
    assert (by_provider.signed_in(), by_password.signed_in()) == (False, True)
    assert len(by_password.get("/api/auth/sessions").json["items"]) == 1
    assert Browser(plain, by_provider.cookie).signed_in()
    walk(again := Browser(short), provider)
    assert len(again.get("/api/auth/sessions").json["items"]) == 1


@pytest.mark.parametrize("other_way", ["none", "password", "passkey"])
@pytest.mark.parametrize("passwords", ["on", "off"])
@pytest.mark.extra("feed_keys")
def test_tokens_of_who_signs_in_by_a_provider_alone_rest_a_month_after_the_last_sign_in(
    make_app: Any, provider: LyingProvider, other_way: str, passwords: str
) -> None:
    app = make_app(**provider.environment, PASSWORDS=passwords)
    browser = Browser(app)
    walk(browser, provider)
    token = Api(app, browser.post("/api/auth/tokens", {"name": "x"}).json["token"])
    feed = f"/api/projects.atom?key={browser.post('/api/auth/feed-key').json['key']}"
    with app.app_context():
        if other_way == "password":
            transaction(lambda: db.session.execute(update(User).values(password_hash="x")))
        if other_way == "passkey":
            key = "INSERT INTO passkeys (user_id, credential_id, public_key, sign_count, name, created_at) SELECT id, "
            columns = "'c', 'k', 0, 'Key', created_at FROM users"
            transaction(lambda: db.session.execute(db.text(key + columns)))
    rests = other_way == "none" or (other_way == "password" and passwords == "off")
    sign_in_of(app, 29.9)
    assert token.get("/api/auth/me").status_code == 200
    sign_in_of(app, 30.1)
    other = Identity(user_id=World(app).user().id, issuer="other", subject="other")  # whose sign-in is of now
    with app.app_context():
        transaction(lambda: db.session.add(other))
    for _ in range(2):
        assert token.get("/api/auth/me").status_code == (401 if rests else 200)
        assert Api(app).get(feed).status_code == (401 if rests else 200)
    assert token.get("/api/projects").status_code == (401 if rests else 200)
    walk(browser, provider)
    assert (token.get("/api/auth/me").status_code, Api(app).get(feed).status_code) == (200, 200)
    with app.app_context():
        assert len(db.session.scalars(select(Token)).all()) == 1
