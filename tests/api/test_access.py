"""Who may call what: every route by every kind of caller, on a project in every state."""

import sys

import pytest
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import endpoint
from directory.models import User
from directory.pages.addresses import ALIASES
from directory.services.accounts import sessions
from directory.services.identity import Caller
from directory.services.people import large_work
from tests.support.browsers import COOKIE
from tests.support.extras import rows
from tests.support.factories import Api, Methods, World
from tests.support.routes import Targets, routes, sending

CALLERS = ("anonymous", "member", "owner", "other", "suspended", "admin")
# A reviewer of the targets' category, one of another category, and the owner of the targets as a reviewer of theirs.
REVIEWERS = ("reviewer", "outside", "reviewing owner")
STATES = ("live", "pending", "rejected")


def states(live, pending=None, rejected=None):
    """The statuses for each of CALLERS, under /api/review also of REVIEWERS, and each state of a project.

    One line where the state makes no difference. Elsewhere a reviewer gets what a member or the owner gets.
    """
    return {"live": live, "pending": pending or live, "rejected": rejected or pending or live}


#            anonymous, nobody, owner of the target, owner of another, suspended, admin
PUBLIC = states("200 200 200 200 401 200")
MEMBER = states("401 200 200 200 401 200")
ADMIN = states("401 403 403 403 401 200")
REVIEW = states("401 403 403 403 401 200 200 200 200")
IN_CATEGORY = states("401 403 403 403 401 200 200 404 200")
ABSENT = states("404 404 404 404 401 404")
OWN = states("401 404 204 404 401 404")
VOTE = states("401 200 200 200 401 200", pending="401 404 409 404 401 409")

# Absent, and there, as a project is; a form goes on to another page.
SIGNED_OUT = states("200 303 303 303 401 303")
DONE = states("303 303 303 303 401 303")
# A member's page leads to the page that signs in; a member's form that was sent without a session shows its form.
OWN_PAGE = states("303 200 200 200 401 200")
OWN_FORM = states("401 303 303 303 401 303")
REFUSED = states("401 422 422 422 401 422")
MISSING = states("401 404 404 404 401 404")
OWN_ROW = states("401 404 303 404 401 404")
# The same for everybody; the API decides what they show.
PAGES = (
    "GET /admin", "GET /admin/queue",
    "GET /admin/queue/<id:project_id>", "GET /admin/projects",
    "GET /admin/users", "GET /admin/users/<id:user_id>",
    "GET /admin/categories", "GET /admin/deliveries", "GET /admin/audit",
)  # fmt: skip

MAILED_PAGES = ("forgot", "reset", "verify", "mail-off")

TABLE = {
    "GET /": PUBLIC,
    "GET /robots.txt": PUBLIC,
    "GET /favicon.svg": PUBLIC,
    "GET /favicon.ico": PUBLIC,
    "GET /apple-touch-icon.png": PUBLIC,
    "GET /manifest.webmanifest": PUBLIC,
    "GET /opensearch.xml": ABSENT,
    "GET /.well-known/security.txt": ABSENT,
    "GET /.well-known/change-password": states("302 302 302 302 401 302"),
    **dict.fromkeys((f"GET /{name}" for name in ALIASES), states("308 308 308 308 401 308")),
    "GET /help": PUBLIC,
    "GET /sitemap.xml": ABSENT,
    "GET /sitemap-<id:number>.xml": ABSENT,
    "GET /sitemap-lists.xml": ABSENT,
    "GET /api/projects": PUBLIC,
    "POST /api/projects": states("401 201 201 201 401 201"),
    "GET /api/projects/counts": MEMBER,
    "GET /api/projects/facets": PUBLIC,
    "GET /api/projects/<id:project_id>/related": states("200 200 200 200 401 200", pending="404 404 200 404 401 200"),
    "GET /api/projects/check": MEMBER,
    "GET /api/projects/<id:project_id>": states("200 200 200 200 401 200", pending="404 404 200 404 401 200"),
    "PUT /api/projects/<id:project_id>": states("401 403 200 403 401 200", pending="401 404 200 404 401 200"),
    "PUT /api/projects/<id:project_id>/logo": states("401 403 200 403 401 200", pending="401 404 200 404 401 200"),
    "DELETE /api/projects/<id:project_id>/logo": states("401 403 204 403 401 204", pending="401 404 204 404 401 204"),
    "DELETE /api/projects/<id:project_id>": states("401 403 204 403 401 204", pending="401 404 204 404 401 204"),
    "DELETE /api/projects/<id:project_id>/revision": states(
        "401 403 204 403 401 204", pending="401 404 404 404 401 404"
    ),
    "GET /api/projects/<id:project_id>/timeline": states("401 403 200 403 401 200", pending="401 404 200 404 401 200"),
    "GET /api/projects/<id:project_id>/messages": states("401 404 200 404 401 404"),
    "POST /api/projects/<id:project_id>/messages": states("401 404 201 404 401 404"),
    "PUT /api/projects/<id:project_id>/messages/read": states("401 404 204 404 401 404"),
    "POST /api/projects/<id:project_id>/upvote": VOTE,
    "PUT /api/projects/<id:project_id>/upvote": VOTE,
    "DELETE /api/projects/<id:project_id>/upvote": VOTE,
    "GET /api/categories": PUBLIC,
    "POST /api/markdown": PUBLIC,
    "GET /api/tags": PUBLIC,
    "GET /api/users/<username:username>": PUBLIC,
    "GET /api/session": PUBLIC,
    "POST /api/auth/register": states("201 201 201 201 401 201"),
    "POST /api/auth/login": PUBLIC,
    "POST /api/auth/logout": states("401 204 204 204 401 204"),
    "GET /api/auth/me": MEMBER,
    "PUT /api/auth/me": MEMBER,
    "DELETE /api/auth/me": states("401 422 422 422 401 422"),  # with a wrong password, or the callers were gone
    "GET /api/auth/me/export": MEMBER,
    "POST /api/auth/password/forgot": ABSENT,
    "POST /api/auth/password/reset": ABSENT,
    "POST /api/auth/email/verify": ABSENT,
    "POST /api/auth/email/verification": states("401 404 404 404 401 404"),
    "POST /api/auth/notifications/<token>": ABSENT,
    "GET /api/auth/sessions": MEMBER,
    "DELETE /api/auth/sessions": states("401 204 204 204 401 204"),
    "DELETE /api/auth/sessions/<id:session_id>": OWN,
    "GET /api/auth/tokens": MEMBER,
    "POST /api/auth/tokens": states("401 201 201 201 401 201"),
    "DELETE /api/auth/tokens/<id:token_id>": OWN,
    "GET /api/admin/projects": ADMIN,
    "PUT /api/admin/projects/<id:project_id>/approve": states(
        "401 403 403 403 401 200", "401 403 403 403 401 200", "401 403 403 403 401 409"
    ),
    "PUT /api/admin/projects/<id:project_id>/reject": states("401 403 403 403 401 409", "401 403 403 403 401 200"),
    "PUT /api/admin/projects/<id:project_id>/unpublish": states("401 403 403 403 401 200", "401 403 403 403 401 409"),
    "PUT /api/admin/projects/<id:project_id>/request-changes": states(
        "401 403 403 403 401 409", "401 403 403 403 401 200", "401 403 403 403 401 409"
    ),
    "GET /api/admin/projects/<id:project_id>/history": ADMIN,
    "POST /api/admin/projects/decisions": ADMIN,
    "DELETE /api/admin/messages/<id:message_id>": states("401 403 403 403 401 204"),
    "GET /api/admin/audit": ADMIN,
    "GET /api/admin/audit.csv": ADMIN,
    "GET /api/admin/users": ADMIN,
    "GET /api/admin/users/<id:user_id>": ADMIN,
    "PUT /api/admin/users/<id:user_id>": ADMIN,
    "DELETE /api/admin/users/<id:user_id>": states("401 403 403 403 401 204"),
    "POST /api/admin/users/decisions": ADMIN,
    "DELETE /api/admin/sessions": states("401 403 403 403 401 204"),
    "DELETE /api/admin/tokens": states("401 403 403 403 401 204"),
    "DELETE /api/admin/users/<id:user_id>/sessions": states("401 403 403 403 401 204"),
    "GET /api/admin/analytics": ADMIN,
    "POST /api/admin/categories": states("401 403 403 403 401 201"),
    "PUT /api/admin/categories/<slug:slug>": ADMIN,
    "DELETE /api/admin/categories/<slug:slug>": states("401 403 403 403 401 204"),
    "GET /api/admin/webhooks/endpoints": ADMIN,
    "POST /api/admin/webhooks/endpoints/<endpoint>/test": states("401 403 403 403 401 202"),
    "GET /api/admin/webhooks/deliveries": ADMIN,
    "POST /api/admin/webhooks/deliveries/<id:delivery_id>/redeliver": states("401 403 403 403 401 202"),
    "GET /api/review/projects": REVIEW,
    "GET /api/review/summary": REVIEW,
    "GET /api/review/projects/<id:project_id>": IN_CATEGORY,
    "GET /api/review/projects/<id:project_id>/history": IN_CATEGORY,
    "PUT /api/review/projects/<id:project_id>/approve": states(
        "401 403 403 403 401 200 200 404 200", rejected="401 403 403 403 401 409 409 404 409"
    ),
    "PUT /api/review/projects/<id:project_id>/reject": states(
        "401 403 403 403 401 409 409 404 409", "401 403 403 403 401 200 200 404 200"
    ),
    "PUT /api/review/projects/<id:project_id>/unpublish": states(
        "401 403 403 403 401 200 200 404 200", "401 403 403 403 401 409 409 404 409"
    ),
    "PUT /api/review/projects/<id:project_id>/request-changes": states(
        "401 403 403 403 401 409 409 404 409",
        "401 403 403 403 401 200 200 404 200",
        "401 403 403 403 401 409 409 404 409",
    ),
    "PUT /api/review/projects/<id:project_id>/release": IN_CATEGORY,
    "GET /api/review/projects/<id:project_id>/messages": IN_CATEGORY,
    "POST /api/review/projects/<id:project_id>/messages": states("401 403 403 403 401 201 201 404 201"),
    "POST /api/review/projects/decisions": REVIEW,  # each item has a status of its own
    "DELETE /api/review/projects/<id:project_id>/approval": states("401 403 403 403 401 404 404 404 404"),
    "GET /api/docs": PUBLIC,
    "GET /api/docs/<version>/<name>": ABSENT,
    "GET /api/openapi.json": PUBLIC,
    "GET /api/problems": PUBLIC,
    "GET /api/problems/<code>": PUBLIC,
    "GET /api/projects.atom": PUBLIC,
    "GET /healthz": PUBLIC,
    "GET /readyz": PUBLIC,
    "GET /metrics": ABSENT,
    "GET /p/<id:project_id>": states("308 308 308 308 401 308", pending="404 404 308 404 401 308"),
    "GET /p/<id:project_id>/<title>": states("200 200 200 200 401 200", pending="404 404 200 404 401 200"),
    "POST /votes/<id:project_id>": states("401 303 303 303 401 303", pending="401 404 409 404 401 409"),
    "GET /voted/<id:project_id>": states("303 200 200 200 401 200", pending="303 404 200 404 401 200"),
    "POST /withdraw/<id:project_id>": states("401 403 303 403 401 303", pending="401 404 404 404 401 404"),
    "POST /delete/<id:project_id>": states("401 403 303 403 401 303", pending="401 404 303 404 401 303"),
    "GET /mine": OWN_PAGE,
    "GET /mine/<id:project_id>": states("303 403 200 403 401 200", pending="303 404 200 404 401 200"),
    "POST /mine/<id:project_id>": OWN_ROW,
    "GET /account": OWN_PAGE,
    "GET /account/deleted": PUBLIC,
    "GET /account/<path:form>": DONE,
    "POST /account/username": REFUSED,
    "POST /account/email": OWN_FORM,
    "POST /account/verification": MISSING,
    "POST /account/notices": OWN_FORM,
    "POST /account/password": REFUSED,
    "POST /account/sessions/<id:session_id>/end": OWN_ROW,
    "POST /account/sessions/end": OWN_FORM,
    "POST /account/tokens": states("401 200 200 200 401 200"),
    "POST /account/tokens/<id:token_id>/revoke": OWN_ROW,
    "POST /account/delete": REFUSED,
    "GET /submit": states("303 200 200 200 401 200"),
    "POST /submit": states("401 303 303 303 401 303"),
    "GET /mine/<id:project_id>/edit": states("303 403 200 403 401 200", pending="303 404 200 404 401 200"),
    # Without the version that the form showed.
    "POST /mine/<id:project_id>/edit": states(  # of the first version, which those that were decided have left behind
        "401 403 412 403 401 412", pending="401 404 303 404 401 303", rejected="401 404 412 404 401 412"
    ),
    "POST /mine/<id:project_id>/withdraw": states("401 403 200 403 401 200", pending="401 404 404 404 401 404"),
    "POST /mine/<id:project_id>/text": states("401 403 200 403 401 200", pending="401 404 200 404 401 200"),
    "GET /categories": PUBLIC,
    "GET /tags": PUBLIC,
    "GET /best": PUBLIC,
    "GET /best/<published>": PUBLIC,
    "GET /categories/<slug>": PUBLIC,
    "GET /tags/<tag>": PUBLIC,
    "GET /users/<username>": PUBLIC,
    "GET /sign-in": SIGNED_OUT,
    "GET /sign-up": SIGNED_OUT,
    **dict.fromkeys(("POST /sign-in", "POST /sign-up", "POST /sign-out"), DONE),
    **dict.fromkeys((f"{method} /{page}" for method in ("GET", "POST") for page in MAILED_PAGES), ABSENT),
    "POST /verify/again": ABSENT,
    "POST /language": ABSENT,  # of a site in one language
    "GET /sign-in/link": PUBLIC,
    "POST /sign-in/link": states("403 403 403 403 401 403"),  # by a link that is not there
    "GET /api/auth/notifications/<token>": ABSENT,
    **dict.fromkeys(PAGES, PUBLIC),
    "GET /assets/<name>": ABSENT,
    "GET /static/<path:name>": ABSENT,
    "GET /images/<name>.webp": ABSENT,
    **rows("access", sys.modules[__name__]),
}


@pytest.fixture
def people(app, world, request):
    """A caller of each kind; the owner also as who owns the targets."""
    users = {name: world.user(f"{name}-1") for name in CALLERS[1:-1]} | {"admin": world.admin()}
    world.project(users["other"])
    by_cookie = getattr(request, "param", "token") == "cookie"
    world.category(), world.category("elsewhere")
    users["reviewer"], users["outside"] = world.reviewer("tools"), world.reviewer("elsewhere")
    callers = {name: ByCookie(app, user) if by_cookie else world.caller(user) for name, user in users.items()}
    callers["reviewing owner"] = AsReviewer(callers["owner"], world, users["owner"])
    # Past the rules, so that the token's row is left: its user's status alone must do.
    suspend = update(User).where(User.id == users["suspended"].id).values(status="suspended")
    with app.app_context():
        transaction(lambda: db.session.execute(suspend))
    return {"anonymous": Api(app), **callers}, users["owner"]


class ByCookie(Api):
    """A caller by a cookie, of a session of its own for each request: some requests end it."""

    def __init__(self, app, user):
        super().__init__(app)
        self.user = user

    def call(self, method, path, json=None, **options):
        with self.app.app_context():
            secret = transaction(lambda: sessions.begin(self.user.id, user_agent=""))
        headers = {"Cookie": f"{COOKIE}={secret}", "Sec-Fetch-Site": "same-origin"}
        return super().call(method, path, json, headers=headers, **options)


class AsReviewer(Methods):
    """A caller who is a reviewer of one category while each request lasts."""

    def __init__(self, caller, world, user):
        self.caller, self.world, self.user = caller, world, user

    def call(self, method, path, json=None, **options):
        self.world.make_reviewer(self.user, "tools")
        try:
            return self.caller.call(method, path, json, **options)
        finally:
            self.world.make_reviewer(self.user, role="member")


def expected_of(route, state):
    """The statuses for each kind of caller; the last one is the administrator, who may end all credentials."""
    row = dict(zip([*CALLERS, *REVIEWERS], TABLE[route.name][state].split(), strict=False))
    if not route.rule.startswith("/api/review/"):
        row |= {"reviewer": row["member"], "outside": row["member"], "reviewing owner": row["owner"]}
    assert len(row) == len(CALLERS) + len(REVIEWERS)
    return row | {"admin": row.pop("admin")}


# The statuses of a session that was opened just now, in place of those of a token.
FRESH = rows("fresh")
# Routes whose body names who calls, each with the code for an unknown one.
IDENTIFYING = rows("identifying")


def refusal(route, status):
    """The code that an error of this status must have here."""
    conflict = "not_votable" if route.rule.endswith("upvote") else "invalid_transition"
    conflict = "appeal_not_possible" if route.rule.endswith("appeal") else conflict
    conflict = "links_off" if route.rule.endswith(("/links/preview", "/links/due")) else conflict
    forbidden = "admin_required" if route.rule.startswith("/api/admin/") else "not_owner"
    forbidden = "reviewer_required" if route.rule.startswith("/api/review/") else forbidden
    forbidden = "sign_in_again" if route.name in FRESH else forbidden
    codes = {401: "unauthenticated", 403: forbidden, 404: "not_found", 409: conflict, 422: "validation_failed"}
    return codes.get(status)


def test_every_route_has_its_row_and_no_row_is_left_over(app):
    assert {route.name for route in routes(app)} == TABLE.keys()


# Whom a credential names does not depend on the project's state, so the cookies are tried with one.
@pytest.mark.parametrize(
    ("people", "state"), [*(("token", state) for state in STATES), ("cookie", "live")], indirect=["people"]
)
def test_every_caller_gets_what_the_table_says(app, world, people, state):
    callers, owner = people
    by_cookie = isinstance(callers["member"], ByCookie)
    targets = Targets(world, owner)
    wrong = []
    # Last, and the one that ends the callers' own credentials at the very end.
    ending_all = ["DELETE /api/admin/tokens", "DELETE /api/admin/sessions"][:: 1 if by_cookie else -1]
    for route in sorted(routes(app), key=lambda each: each.name in ending_all and 1 + ending_all.index(each.name)):
        row = expected_of(route, state)
        if by_cookie:
            row |= dict.fromkeys([*row][1:], FRESH[route.name]) if route.name in FRESH else {}
            row["suspended"] = row["anonymous"]  # a dead cookie is nobody's; a dead token is refused
        target = None
        for name, expected in row.items():
            path, project_id = target = target or targets.path(route.rule, state)
            answer = callers[name].call(route.method, path, **sending(app, route, project_id))
            if route.method != "GET" and answer.status_code < 400:
                target = None  # it may be another now
            is_page = answer.mimetype == "text/html"  # which says in words what is refused
            code = answer.json["code"] if answer.status_code >= 400 and not is_page else None
            told = None if is_page else refusal(route, int(expected))
            if route.name in FOR_ADMINISTRATORS and int(expected) == 403 and name in REVIEWERS:
                told = "admin_required"
            if route.name in IDENTIFYING and (by_cookie or name != "suspended"):
                told = IDENTIFYING[route.name]
            if (answer.status_code, code) != (int(expected), told):
                wrong.append(f"{route.name} by {name}: {answer.status_code} {code} instead of {expected}")
    assert wrong == []


IDS = ("4711", "0", "-1", "9223372036854775807", "9223372036854775808", "99999999999999999999", "x", "%00", "١")
SLUGS = ("nonsense", "UPPER", "%00", "a" * 51, "%ff", "-")


def closed_requests(app, under="/api/admin/"):
    """Every route under a path with ids and bodies that would be refused for another reason."""
    for route in routes(app):
        if route.rule.startswith(under):
            for value in SLUGS if "slug" in route.rule else IDS:
                path = (
                    route.rule.partition("<")[0] + value + route.rule.partition(">")[2]
                    if "<" in route.rule
                    else route.rule
                )
                if route.method != "GET":
                    yield route, path, {"data": b"{", "content_type": "application/json"}
                yield route, f"{path}?unknown=1", {"data": b"x" * 70_000, "content_type": "text/plain"}


# Routes for reviewers' eyes, where administrators alone write.
FOR_ADMINISTRATORS = rows("for_administrators")
CLOSED = {  # by path, who is refused with which code, and who gets further
    "/api/admin/": (("member", "reviewer", "outside"), "admin_required", ("admin",)),
    "/api/review/": (("member", "owner"), "reviewer_required", ("admin", "reviewer", "outside")),
}


@pytest.mark.parametrize("under", CLOSED)
def test_closed_routes_decide_before_they_look_at_id_parameters_or_body(app, people, under):
    callers, _owner = people
    refused, code, others = CLOSED[under]
    wrong = []
    for route, path, options in closed_requests(app, under):
        method = route.method
        for name, expected in (("anonymous", (401, "unauthenticated")), *((name, (403, code)) for name in refused)):
            answer = callers[name].call(method, path, **options)
            if (answer.status_code, answer.json["code"]) != expected:
                wrong.append(f"{method} {path} by {name}: {answer.status_code} {answer.json['code']}")
        for name in others:
            refuses = route.name in FOR_ADMINISTRATORS and name != "admin"
            allowed = {403, 404} if refuses else {404, 400, 413, 415, 422}
            if callers[name].call(method, path, **options).status_code not in allowed:
                wrong.append(f"{method} {path} by {name}")
    assert wrong == []


@pytest.mark.parametrize(("under", "granted"), [("/api/admin/", "admin"), ("/api/review/", "reviewer")])
def test_what_is_not_there_under_a_closed_path_is_hidden_too(people, under, granted):
    callers, _owner = people
    for path in ("", "secrets", "projects/", "users/1/2/3"):
        names = ("anonymous", "suspended", "member", granted)
        assert [callers[name].get(under + path).status_code for name in names] == [401, 401, 403, 404]


def test_an_anonymous_request_to_a_closed_route_asks_the_database_nothing(app, api, statements):
    for under in CLOSED:
        for route, path, options in closed_requests(app, under):
            api.call(route.method, path, **options)
    assert statements == []


def test_what_may_not_be_seen_answers_as_what_is_not_there(app, world, people):
    callers, owner = people
    hidden = world.project(owner, "pending")
    for method, end in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/upvote"), ("PUT", "/upvote")):
        answers = [callers["member"].call(method, f"/api/projects/{n}{end}", {}) for n in (hidden, 4711)]
        for answer in answers:
            assert answer.status_code == 404
            del answer.headers["X-Request-ID"]
        first, second = ({**each.json, "request_id": None} for each in answers)
        assert first == second
        assert sorted(answers[0].headers) == sorted(answers[1].headers)


def test_what_only_owner_and_admins_may_see_of_a_project_is_absent_for_others(world, people):
    callers, owner = people
    live, pending = world.project(owner), world.project(owner, "pending")
    for name in ("anonymous", "member", "other"):
        assert not {"rejection_reason", "queue_position"} & callers[name].get(f"/api/projects/{live}").json.keys()
    for name in ("owner", "admin"):
        shown = callers[name].get(f"/api/projects/{pending}").json
        assert (shown["rejection_reason"], shown["queue_position"]) == (None, 1)


def test_nobody_but_oneself_and_admins_sees_an_email(world, people):
    callers, owner = people
    project = world.project(owner)
    for name, caller in callers.items():
        if name not in {"admin", "suspended"}:
            for path in ("/api/projects", f"/api/projects/{project}", "/api/categories", "/api/projects.atom"):
                assert "@example.org" not in caller.get(path).text


# One deletes an account by a passkey where the role needs one.
BY_PASSKEY = {"DELETE /api/auth/me": 403, "POST /account/delete": 403}


@pytest.mark.extra("passkeys")
def test_who_has_not_signed_in_by_the_passkey_that_the_role_needs_is_a_member_on_every_route(make_app, world, people):
    callers, owner = people
    strict, targets = make_app(REQUIRE_PASSKEY="reviewers"), Targets(world, owner)
    wrong = []
    for route in routes(strict):
        for name in ("reviewer", "admin"):
            is_closed = route.rule.startswith(tuple(CLOSED))
            expected = 403 if is_closed else BY_PASSKEY.get(route.name) or int(expected_of(route, "live")["member"])
            path, project_id = targets.path(route.rule)
            answer = Api(strict, callers[name].token).call(route.method, path, **sending(strict, route, project_id))
            code = answer.json["code"] if is_closed else None
            for_admin = route.rule.startswith("/api/admin/")
            needed = "admin_required" if name == "reviewer" and for_admin else "passkey_required"
            if (answer.status_code, code) != (expected, needed if is_closed else None):
                wrong.append(f"{route.name} by {name}: {answer.status_code} {code} instead of {expected}")
    assert wrong == []


# One's own approval, a pick, and a link that has moved, of which there is none.
NOTHING_THERE = {f"DELETE /api/review/projects/<id:project_id>/{each}" for each in ("approval", "pick")}
NOTHING_THERE |= {"PUT /api/review/projects/<id:project_id>/links/moved"}
# What an account becomes while its request is made, and the refusal of every write that a member may not make.
DEMOTIONS = [
    ("reviewer", "/api/review/", {"role": "member"}, "reviewer_required"),
    ("reviewer", "/api/review/", {"review_categories": []}, "reviewer_required"),
    ("reviewer", "/api/review/", {"status": "suspended"}, None),
    ("admin", "/api/review/", {"role": "member"}, "reviewer_required"),
    ("admin", "/api/admin/", {"role": "reviewer"}, "admin_required"),
]


@pytest.mark.parametrize(("name", "under", "values", "code"), DEMOTIONS)
def test_every_write_of_somebody_who_loses_the_right_meanwhile_is_refused(
    make_app, world, people, monkeypatch, name, under, values, code
):
    callers, owner = people
    app = make_app(REPORTS="everybody", LINK_CHECKS="on")
    by, targets = Api(app, callers[name].token), Targets(World(app), owner)
    user = Caller(callers[name].get("/api/auth/me").json["id"], name, "")
    some = [*world.category_ids("tools")] if name == "reviewer" else None
    keep = {"role": name, "status": "active", "review_categories": some}
    committing, wrong = rows("committing"), []
    for route in routes(app):
        if route.method == "GET" or not route.rule.startswith(under) or route.name in NOTHING_THERE:
            continue
        if route.name in FOR_ADMINISTRATORS and name != "admin":
            continue
        path, project_id = targets.path(route.rule, "live" if route.rule.endswith(("unpublish", "pick")) else "pending")
        with monkeypatch.context() as patched:
            for module in (endpoint, large_work, *committing.values()):  # the second commits in portions

                def after_the_loss(work, **options):
                    world.change(user, **values)
                    return transaction(work, **options)

                patched.setattr(module, "transaction", after_the_loss)
            sent = sending(app, route, project_id)
            if route.rule == "/api/admin/users/decisions":
                sent["json"] = {"decision": "suspend", "ids": [owner.id]}  # of an account that is there
            answer = by.call(route.method, path, **sent)
        world.change(user, **keep)
        found = (answer.status_code, (answer.json or {}).get("code"))
        refused = "admin_required" if route.name in FOR_ADMINISTRATORS else code
        if found not in ([(401, "unauthenticated"), (403, "reviewer_required")] if code is None else [(403, refused)]):
            wrong.append(f"{route.name}: {found}")
    assert wrong == []
