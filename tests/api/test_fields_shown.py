"""Nothing but the listed fields is shown: what each route gives to whom, member by member."""

import sys

import pytest

from directory.api.schemas.projects import (
    LinksOutput,
    LogoOutput,
    PickOutput,
    PictureOutput,
    RepositoryOutput,
    WaitsOutput,
)
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import DeliveryAttempt, Identity, Passkey
from directory.services.catalog import fields
from directory.services.delivery import outbox
from tests.support.extras import ON, rows
from tests.support.factories import Api
from tests.support.lists import ORDERS, THIS_YEAR, by_each_filter
from tests.support.routes import Targets, operation, routes, sending


def below(name, *members):
    return {f"{name}.{member}" for member in members}


# What is shown: of a project what its table of fields says, of all else written out here once more, so that a member
# that is added to a schema or to a query has to be added here too.
PROJECT = {field.name for field in fields.FIELDS if not field.is_private} - {"category", "owner"}
PROJECT |= below("category", "slug", "name") | below("owner", "id", "username")
OWN = PROJECT | {field.name for field in fields.FIELDS if field.is_private}
OWN_DETAIL = OWN | {"queue_position", "description_html"}
REVIEWED = OWN_DETAIL | {"approvals"}
QUEUED = (
    OWN
    | {"earlier", "warnings", "answered", "description_html", "approvals", *rows("queued")}
    | below("owner_stats", "live", "pending", "rejected")
    | {"resembles.lookalike_title", "resembles.same_repository"}
)
ACCOUNT = {"id", "username", "email", "role", "is_admin", "status", "created_at", "email_verified", "notify"}
ACCOUNT |= {"may_rename"}
USER = (
    ACCOUNT
    | {"last_seen_at", "deleted_at", "review_categories", "role_source"}
    | below("stats", "upvotes_given", "upvotes_received", "last_submission_at")
)
USER |= below("stats.projects", "live", "pending", "rejected", "total")
SESSION = {"id", "created_at", "last_seen_at", "user_agent", "current"}
TOKEN = {"id", "name", "created_at", "expires_at", "last_used_at"}
IDENTITY = {"id", "email", "created_at", "last_used_at"}
PASSKEY = {"id", "name", "created_at", "last_used_at"}
VOTE = {"project_id", "upvoted", "upvotes"}
MESSAGE = {"id", "at", "from", "kind", "text", "author"}
EXPORT = {"exported_at", "complete"} | below("account", "language", *ACCOUNT) | below("projects[]", *OWN)
EXPORT |= below("projects[].history[]", "at", "event") | below(
    "votes[]", "project_id", "title", "created_at", "counted"
)
EXPORT |= below("messages[]", "project_id", *MESSAGE) | below("messages[].author", "id", "username")
NAMED = {"id", "slug", "title", "tagline", "url", "status", "version"}
NAMED |= {"category.slug", "category.name", "owner.id", "owner.username"}
EXPORT |= below(
    "reports[]", "project_id", "title", "kind", "text", "created_at", "outcome", "reply", "settled_at"
)  # fmt: skip
EXPORT |= below("sessions[]", *SESSION) | below("tokens[]", *TOKEN)
EXPORT |= below("identities[]", "issuer", "subject", *IDENTITY) | below("passkeys[]", *PASSKEY)
CATEGORY = {"slug", "name", "description", "live_projects"}
# An actor is null where the command line acted.
AUDIT = {"id", "action", "at", "actor", "actor.id", "actor.username", "project_id", "user_id", "from", "to", "reason"}
AUDIT |= {"project.id", "project.title", "user", "changes", "rule_id", "votes"}
# Of the fixture's own entries one is an edit, one is about a user and one about votes.
LOG = AUDIT | {"project", "user.id", "user.username", "changes.title.from", "changes.title.to"}
LOG |= below("votes", "number", "user_ids")
DELIVERY = {
    "id", "webhook_id", "event", "endpoint", "project_id", "state", "created_at", "next_attempt_at", "delivered_at",
    "payload",
} | below("attempts[]", "at", "status", "error", "milliseconds", "response")  # fmt: skip
TESTED = {member for member in DELIVERY - {"payload"} if "[]" not in member} | {"attempts"}
TESTED |= below("payload", "type", "timestamp", *below("data.project", *outbox.TEST_PROJECT))
TESTED = TESTED - below("payload.data.project", "category", "owner") | below(
    "payload.data.project", "category.slug", "category.name", "owner.id", "owner.username"
)
TAKEN_DOWN = below("taken_down", "unpublished", "rejected", "votes")
ENDPOINT = {"name", "host", "format", "events"} | below("deliveries", "pending", "delivered", "dead")
HAPPENED = {"submissions", "imported", "approvals", "rejections", "upvotes", "signups"}
DASHBOARD = {"generated_at"} | below("totals.projects", "live", "pending", "rejected", "total")
DASHBOARD |= below("totals", "users.active", "users.suspended", "users.total", "upvotes")
DASHBOARD |= (
    below("review", "queue_length", "oldest_submitted_at", "median_seconds_to_decision", "approval_rate")
    | below("review", "waiting_for_owner", *below("appeals", "open", "upheld", "reversed"))
    | below("series[]", "date", *HAPPENED)
    | below("previous", *HAPPENED)
)
DASHBOARD |= below("reviewers[]", "id", "username", "approved", "rejected", "median_seconds")
DASHBOARD |= below("top_projects[]", "id", "slug", "title", "upvotes")
DASHBOARD |= below("top_categories[]", "slug", "name", "live_projects")
REVIEW = {"waiting_for", "since", "closes_at", "held", "asked"}  # null where nothing waits (test_change_requests.py)
CURSORS = below("pagination", "limit", "next_cursor", "prev_cursor")
PAGES = CURSORS | below("pagination", "page", "total", "total_capped", "pages")


def items(members, pagination=frozenset()):
    """A list of such things."""
    return below("items[]", *members) | pagination


def members(value, name=""):
    """The names of all members of an answer, with those that they are members of; `review` of a project is one."""
    if isinstance(value, dict) and value.keys() == REVIEW:
        return {name}
    if isinstance(value, dict) and value:
        return set().union(*(members(each, f"{name}.{key}".strip(".")) for key, each in value.items()))
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return set().union(*(members(each, f"{name}[]") for each in value))
    return {name}


@pytest.fixture
def owner(world):
    return world.user("owner")


@pytest.fixture
def callers(app, world, owner):
    """Everybody to whom something may be shown."""
    return {
        "anonymous": Api(app),
        "another": world.caller(world.user()),
        "owner": world.caller(owner),
        "admin": world.caller(world.admin()),
    }


def shown(caller, *request):
    """The members of the answer to a request, or the code of its refusal."""
    answer = caller.call(*request)
    return members(answer.json) if answer.status_code < 400 else answer.json["code"]


def everywhere(anonymous, another, owner, admin):
    return {"anonymous": anonymous, "another": another, "owner": owner, "admin": admin}


@pytest.mark.parametrize("status", ["live", "pending", "rejected"])
def test_a_project_shows_what_each_caller_may_see(world, callers, owner, status):
    project = world.project(owner, status)
    found = {name: shown(caller, "GET", f"/api/projects/{project}") for name, caller in callers.items()}
    strangers = PROJECT if status == "live" else "not_found"
    assert found == everywhere(strangers, strangers, OWN_DETAIL, OWN_DETAIL)


NARROWED = by_each_filter(status="live", category="tools", q="things", owner="owner", tag="tag", published=THIS_YEAR)


@pytest.mark.parametrize("query", ["", *(f"sort={each}" for each in ORDERS), *NARROWED])
def test_the_public_list_shows_what_each_caller_may_see(world, callers, owner, query):
    world.project(owner, "live", votes=1, tags=["tag"])
    found = {name: shown(caller, "GET", f"/api/projects?{query}") for name, caller in callers.items()}
    assert found == everywhere(items(PROJECT, PAGES), items(PROJECT, PAGES), items(OWN, PAGES), items(OWN, PAGES))


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_the_lists_of_what_is_not_live_show_it_to_its_owner_and_administrators_alone(world, callers, owner, status):
    world.project(owner, status)
    found = {name: shown(caller, "GET", f"/api/projects?status={status}") for name, caller in callers.items()}
    assert found == everywhere("unauthenticated", {"items"} | PAGES, items(OWN, PAGES), items(OWN, PAGES))


def test_the_list_of_ones_own_shows_all_of_each_and_nothing_of_others(world, callers, owner):
    for status in ("live", "pending", "rejected"):
        world.project(owner, status)
    found = {name: shown(caller, "GET", "/api/projects?owner=me") for name, caller in callers.items()}
    own = items(OWN_DETAIL - {"description_html"}, PAGES)
    assert found == everywhere("unauthenticated", {"items"} | PAGES, own, {"items"} | PAGES)


@pytest.mark.parametrize("query", ["", "?status=pending", "?status=rejected", "?q=things", "?sort=oldest"])
def test_the_queue_and_the_administrators_list_show_projects_to_them_alone(world, callers, owner, query):
    for status in ("live", "pending", "rejected"):
        world.project(owner, status)
    found = {name: shown(caller, "GET", f"/api/admin/projects{query}") for name, caller in callers.items()}
    assert found == everywhere("unauthenticated", "admin_required", "admin_required", items(QUEUED, PAGES))


@pytest.mark.parametrize("status", ["live", "pending", "rejected"])
def test_a_timeline_shows_the_same_to_owner_and_administrators_and_nothing_to_others(world, callers, owner, status):
    path = f"/api/projects/{world.project(owner, status)}/timeline"
    found = {name: shown(caller, "GET", path) for name, caller in callers.items()}
    stranger = "not_owner" if status == "live" else "not_found"
    told = items({"at", "event", "reason"} if status == "rejected" else {"at", "event"}, CURSORS)
    assert found == everywhere("unauthenticated", stranger, told, told)


# To the caller who gets most: the owner where there is one, else an administrator.
ANSWERS = {
    "GET /api/projects": items(OWN, PAGES),
    "POST /api/markdown": {"html"},
    "GET /api/projects/facets": {"capped", "fields"}
    | below("categories[]", "slug", "name", "live_projects")
    | below("tags[]", "tag", "live_projects"),
    "GET /api/projects/<id:project_id>": OWN_DETAIL,
    "GET /api/projects/<id:project_id>/related": items(OWN),
    "POST /api/projects": OWN_DETAIL,
    "PUT /api/projects/<id:project_id>": OWN_DETAIL,
    "PUT /api/projects/<id:project_id>/logo": OWN_DETAIL - {"logo"} | below("logo", "64", "256"),
    "POST /api/projects/<id:project_id>/upvote": VOTE,
    "PUT /api/projects/<id:project_id>/upvote": VOTE,
    "DELETE /api/projects/<id:project_id>/upvote": VOTE,
    "GET /api/projects/<id:project_id>/timeline": items({"at", "event"}, CURSORS),
    "GET /api/projects/<id:project_id>/messages": items(MESSAGE, CURSORS),
    "POST /api/projects/<id:project_id>/messages": MESSAGE,
    "GET /api/admin/projects": items(QUEUED, PAGES),
    **{f"PUT /api/{under}/projects/<id:project_id>/request-changes": REVIEWED for under in ("admin", "review")},
    "PUT /api/review/projects/<id:project_id>/release": REVIEWED,
    "PUT /api/admin/projects/<id:project_id>/approve": REVIEWED,
    "PUT /api/admin/projects/<id:project_id>/reject": REVIEWED,
    "PUT /api/admin/projects/<id:project_id>/unpublish": REVIEWED,
    "GET /api/review/projects/<id:project_id>/messages": items(MESSAGE, CURSORS),
    "POST /api/review/projects/<id:project_id>/messages": MESSAGE - {"author"} | below("author", "id", "username"),
    "POST /api/admin/projects/decisions": items({"id", "status", *below("project", *REVIEWED)}),
    "GET /api/admin/projects/<id:project_id>/history": items(AUDIT, CURSORS),
    "GET /api/admin/audit": items(LOG, CURSORS),
    "GET /api/admin/users": items(USER, PAGES),
    "GET /api/admin/users/<id:user_id>": USER
    | below("audit[]", *LOG - {"actor"})
    | below("stored_today", "bytes", "most"),
    "PUT /api/admin/users/<id:user_id>": USER | TAKEN_DOWN,
    "POST /api/admin/users/decisions": {"changed", "remaining"},
    "GET /api/admin/analytics": DASHBOARD,
    "GET /api/admin/webhooks/endpoints": items(ENDPOINT),
    "POST /api/admin/webhooks/endpoints/<endpoint>/test": TESTED,
    "GET /api/admin/webhooks/deliveries": items(DELIVERY, CURSORS),
    "POST /api/admin/webhooks/deliveries/<id:delivery_id>/redeliver": DELIVERY,
    "POST /api/admin/categories": CATEGORY,
    "PUT /api/admin/categories/<slug:slug>": CATEGORY,
    "GET /api/review/projects": items(QUEUED, PAGES),
    "GET /api/review/summary": {"queue_length", "oldest_submitted_at", *rows("summary")}
    | {"messages", "held", "waiting_for_owner", "waiting_for_appeal", "too_few_reviewers"},
    "GET /api/review/projects/<id:project_id>": QUEUED | OWN_DETAIL,
    "GET /api/review/projects/<id:project_id>/history": items(AUDIT, CURSORS),
    **dict.fromkeys(
        (f"PUT /api/review/projects/<id:project_id>/{each}" for each in ("approve", "reject", "unpublish")), REVIEWED
    ),
    "POST /api/review/projects/decisions": items({"id", "status", *below("project", *REVIEWED)}),
    "GET /api/projects/counts": {"live", "pending", "rejected"},
    "GET /api/projects/check": {"same"}
    | below("similar[]", "id", "slug", "title", "tagline", "status", "upvotes", "has_upvoted", "created_at"),
    "GET /api/categories": items(CATEGORY),
    "GET /api/tags": items({"tag", "live_projects"}),
    "GET /api/users/<username:username>": {"username", "created_at", "live_projects", "upvotes_received"},
    "GET /api/session": {
        *below("user", "permissions", "unread", "language", *ACCOUNT),
        "language",
        *below("languages[]", "tag", "name", "dir"),
        *below("site", "name", "url"),
        "registration_open",
        "read_only",
        "reads",
        "reviewed_fields",
        "password_reset",
        "passkeys",
        *below("service", "version", "commit"),
        *below("providers[]", "name", "label"),
    },
    "POST /api/auth/register": ACCOUNT,
    "POST /api/auth/login": ACCOUNT,
    "GET /api/auth/me": ACCOUNT | {"permissions", "language"},
    "PUT /api/auth/me": ACCOUNT | {"permissions", "language"},
    "GET /api/auth/me/export": EXPORT,
    "GET /api/auth/sessions": items(SESSION),
    "GET /api/auth/tokens": items(TOKEN),
    "POST /api/auth/tokens": TOKEN | {"token"},
    "GET /healthz": {"status"},
    **rows("answers", sys.modules[__name__]),
}
WAITING = {
    route
    for under in ("admin", "review")
    for route in (
        f"PUT /api/{under}/projects/<id:project_id>/approve",
        f"PUT /api/{under}/projects/<id:project_id>/reject",
        f"PUT /api/{under}/projects/<id:project_id>/request-changes",
        f"POST /api/{under}/projects/decisions",
    )
} | {*rows("waiting")}


def attempted(app, delivery_id):
    """The delivery, after it has failed."""
    with app.app_context():
        transaction(lambda: db.session.add(DeliveryAttempt(delivery_id=delivery_id, error="timeout", milliseconds=5)))
    return delivery_id


@pytest.fixture
def app(make_app):
    return make_app(GITHUB_CLIENT_ID="id", GITHUB_CLIENT_SECRET="secret", REPORTS="everybody", APPEALS="on")


@pytest.fixture
def ask(app, world):
    """Sends each route a request that it takes, as an administrator who owns what it names."""
    admin = world.admin()
    caller, targets = world.caller(admin), Targets(world, admin)
    voted = world.project(admin, votes=1)
    caller.put(f"/api/projects/{voted}", {"title": "Changed"})  # by a person, for the log
    world.vote(voted, doubtful := world.user())
    world.discount(voted, doubtful, by=admin)
    caller.put(f"/api/admin/projects/{world.project(admin, 'pending')}/approve")  # for the dashboard
    caller.put(f"/api/admin/users/{world.user().id}", {"status": "suspended"})
    world.vote(world.project(admin, title="New", tags=["tag"]), admin)
    world.report(voted, admin, text="")
    Api(app).post(f"/api/projects/{voted}/reports", {"kind": "spam", "text": "Look."})
    targets.session()
    known = Identity(user_id=admin.id, issuer="https://github.com", subject="1", email="x@example.org")
    passkey = Passkey(user_id=admin.id, credential_id="eA", public_key="x", sign_count=0, name="Key")
    with app.app_context():
        transaction(lambda: db.session.add_all([known, passkey]))
    targets.endpoint()
    own = {start: make(app, admin) for start, make in rows("asking").items()}
    delivery = attempted(app, targets.delivery())

    def send(route):
        if by := next((by for start, by in own.items() if route.rule.startswith(start)), None):
            return by.ask(route.name)
        if route.rule.endswith("/redeliver"):
            return caller.post(route.rule.replace("<id:delivery_id>", str(delivery))).json
        path, project_id = targets.path(route.rule, "pending" if route.name in WAITING else "live")
        if route.name == "GET /api/admin/projects/<id:project_id>/votes":
            path = route.rule.replace("<id:project_id>", str(voted))
        if route.name == "GET /api/admin/users/<id:user_id>":
            path = f"/api/admin/users/{admin.id}"  # of whom the log tells
        if "<" not in route.rule and route.name in WAITING:
            project_id = world.project(admin, "pending")
        anybody = Api(app) if route.rule in ("/api/auth/login", "/api/auth/register") else caller
        answer = anybody.call(route.method, path, **sending(app, route, project_id))
        assert answer.status_code < 300, (route.name, answer.json)
        return answer.json

    return send


def test_every_route_shows_those_members_and_no_others(app, ask):
    answering = [route for route in routes(app) if operation(app, route).answer and route.rule != "/readyz"]
    found = {route.name: members(ask(route)) for route in answering}
    if "providers" not in ON:  # then the list of them is empty
        found["GET /api/session"] ^= {"providers", *below("providers[]", "name", "label")}
    assert {name: found[name] ^ ANSWERS[name] for name in found if found[name] != ANSWERS[name]} == {}
    assert found.keys() == ANSWERS.keys()


WHOLE = (LogoOutput, PickOutput, PictureOutput, WaitsOutput, LinksOutput, RepositoryOutput)


def declared(schema, name=""):
    """The members that a schema of answers declares, with those that they are members of."""
    found = set()
    for key, field in schema.fields.items():
        path = f"{name}.{field.data_key or key}".strip(".")
        inner = getattr(field, "inner", field)
        many = "[]" if inner is not field or getattr(field, "many", False) else ""
        nested = getattr(inner, "schema", None)
        # A logo or a pick is null or has both (test_logos.py, tests/extras/picks), a picture all (…/pictures). What was
        # seen of links is null here (tests/extras/links).
        is_whole = nested is None or isinstance(nested, WHOLE)
        found |= {path} if is_whole else declared(nested, path + many)
    return found


def revised(name=""):
    """The members of a revision, which most projects here do not have."""
    changes = below("changes", *fields.NAMES) | below("rejected", *fields.NAMES)
    return below(f"{name}.revision".strip("."), "submitted_at", "reason", "links", *changes)


def approved(name=""):
    """The members of approvals, null in most answers here."""
    given = below("given[]", "at", *below("user", "id", "username"))
    return below(f"{name}.approvals".strip("."), "required", *given)


def resembling(name=""):
    """The members of the projects that warnings are about, null in most answers here."""
    named = (below(kind, "id", "title") for kind in ("lookalike_title", "same_repository"))
    return below(f"{name}.resembles".strip("."), *set().union(*named))


# Members that a route declares and the answer here lacks, each with the test that expects it.
ELSEWHERE = {
    "GET /api/session": {"passkey_required"},  # test_passkeys.py
    "GET /api/admin/audit": {"items[].field"},  # tests/extras/fields
    "GET /api/admin/users/<id:user_id>": {"audit[].field"},
    "GET /api/auth/me/export": {"projects[].history[].reason"} | revised("projects[]"),  # test_own_account_deletion.py
    # The list of one's own, above; test_search_operators.py, test_search_scripts.py, test_nearest.py.
    "GET /api/projects": {"items[].queue_position", "items[].description_html", "searched_as_words", "suggestions"}
    | revised("items[]")
    | below("nearest[]", *(OWN_DETAIL - {"revision"}))
    | revised("nearest[]"),
    "GET /api/projects/<id:project_id>/related": {"items[].queue_position", "items[].description_html"}
    | revised("items[]"),
    **dict.fromkeys(  # test_revisions.py
        (
            "GET /api/projects/<id:project_id>",
            "POST /api/projects",
            "PUT /api/projects/<id:project_id>",
            "PUT /api/projects/<id:project_id>/logo",
        ),
        revised(),
    ),
    # test_messages.py
    "GET /api/projects/<id:project_id>/messages": below("items[].author", "id", "username"),
    "POST /api/projects/<id:project_id>/messages": below("author", "id", "username"),
    **dict.fromkeys(  # test_revisions.py, test_approvals.py
        (
            f"PUT /api/{under}/projects/<id:project_id>/{decision}"
            for under in ("admin", "review")
            for decision in ("approve", "reject", "unpublish", "request-changes")
        ),
        revised() | approved(),
    ),
    "PUT /api/review/projects/<id:project_id>/release": revised() | approved(),
    "GET /api/review/projects/<id:project_id>": revised() | approved() | resembling(),
    **dict.fromkeys(
        ("GET /api/admin/projects", "GET /api/review/projects"),
        revised("items[]") | approved("items[]") | resembling("items[]"),
    ),
    "GET /api/review/summary": below("too_few_reviewers[]", "slug", "name"),  # test_approvals.py
    "GET /api/review/projects/<id:project_id>/messages": below("items[].author", "id", "username"),
    "GET /api/projects/<id:project_id>/timeline": {"items[].reason"},  # the timeline of a rejected project, above
    # test_check.py, test_same_repository.py
    "GET /api/projects/check": {
        member
        for listed in ("same[]", "same_repository[]")
        for member in below(listed, "id", "slug", "title", "tagline", "status", "upvotes", "has_upvoted", "created_at")
    },
    # test_decisions.py, test_with_owner.py
    **dict.fromkeys(
        ("POST /api/admin/projects/decisions", "POST /api/review/projects/decisions"),
        {"items[].code", "items[].warnings"} | revised("items[].project") | approved("items[].project"),
    ),
    **dict.fromkeys(  # of other entries, in the log
        ("GET /api/admin/projects/<id:project_id>/history", "GET /api/review/projects/<id:project_id>/history"),
        below("items[].votes", "number", "user_ids") | below("items[].user", "id", "username") | {"items[].field"},
    ),
    "POST /api/admin/webhooks/endpoints/<endpoint>/test": below(
        "attempts[]", "at", "status", "error", "milliseconds", "response"
    ),  # a delivery that has been tried, above
    **rows("elsewhere", sys.modules[__name__]),
}


def test_every_member_that_a_schema_of_answers_declares_is_expected_somewhere(app):
    missing = {}
    for route in routes(app):
        schema, expected = operation(app, route).answer, ANSWERS.get(route.name)
        if schema is not None and expected is not None:
            absent = {member for member in declared(schema) if not shown_in(member, expected)}
            if absent != ELSEWHERE.get(route.name, set()):
                missing[route.name] = absent
    assert missing == {}


def shown_in(member, expected):
    """Whether a member is expected, or members of it are."""
    return any(one == member or one.startswith((f"{member}.", f"{member}[")) for one in expected)
