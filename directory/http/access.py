"""Access: the callers that may use a route. A decorator names them, and `check` decides, once for each request.

`endpoint` calls it before the request is counted, read or validated. Before that `admit` refuses what no route takes,
and, where READS=members, whatever an anonymous caller asks for that is not open.
"""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, current_app, g, request
from sqlalchemy import event
from sqlalchemy.orm import Session

from directory.errors import (
    AdminRequired,
    DirectoryError,
    MembersOnly,
    PasskeyRequired,
    ReviewerRequired,
    Unauthenticated,
)
from directory.extensions import db
from directory.http import rate_limits, write_checks
from directory.http.authentication import bearer_of, caller, viewer
from directory.http.exchange import ROUTE, Exchange, current
from directory.services import identity, permissions
from directory.services.catalog import catalog
from directory.services.identity import Caller
from directory.services.permissions import Action

View = Callable[..., Any]
# What the callers of the routes under a path must be allowed, and the access rules that a route there may have.
CLOSED: dict[str, tuple[Action, set[str]]] = {
    "/api/admin/": ("administer", {"admin"}),
    "/api/review/": ("review", {"reviewer", "admin"}),
}
# What anonymous callers may use where READS=members, with the operator's pages in OPEN_PAGES. All else is for members,
# and so is a new route.
OPEN = frozenset(
    {
        "/healthz", "/readyz", "/metrics", "/api/session", "/assets/<name>", "/robots.txt", "/favicon.svg",
        "/favicon.ico", "/apple-touch-icon.png", "/manifest.webmanifest", "/.well-known/security.txt",
        "/.well-known/change-password", "/language", "/api/problems", "/api/problems/<code>",
        # Signing in, up and out.
        "/sign-in", "/sign-in/link", "/login", "/sign-up", "/register", "/sign-out", "/api/auth/register",
        "/api/auth/login", "/api/auth/logout", "/api/auth/passkeys/login/options", "/api/auth/passkeys/login",
        "/api/auth/providers/<provider>", "/api/auth/providers/<provider>/callback",
        # What mail leads to.
        "/forgot", "/reset", "/verify", "/mail-off", "/api/auth/password/forgot", "/api/auth/password/reset",
        "/api/auth/email/verify", "/api/auth/notifications/<token>",
    }
)  # fmt: skip
DOCS_FILE, OPEN_FILES = "/api/docs/<version>/<name>", {"pages.css", "favicon-32x32.png"}  # of the plainest open pages
REQUIRED: dict[str, Action] = {"admin": "administer", "reviewer": "review"}  # what access rules require
PROJECT = {"owner": permissions.require_editor, "own": permissions.require_owner}  # those about the path's project


def public(view: View) -> View:
    """Anyone may call the route."""
    return _named(view, "public")


def login_required(view: View) -> View:
    """Signed-in callers may call the route. Raises Unauthenticated."""
    return _named(view, "member")


def owner_required(view: View) -> View:
    """Only the owner of project `project_id` and administrators may. Raises Unauthenticated, NotFound, NotOwner."""
    return _named(view, "owner")


def reviewer_required(view: View) -> View:
    """Only reviewers and administrators may call the route. Raises Unauthenticated, PasskeyRequired, ReviewerRequired.

    The rules of the services know which projects: those of the reviewer's categories.
    """
    return _named(view, "reviewer")


def own_required(view: View) -> View:
    """Only the owner of project `project_id` may; for others it does not exist. Raises Unauthenticated, NotFound."""
    return _named(view, "own")


def decides(view: View) -> View:
    """The route decides about project `project_id`: with SELF_REVIEW=refuse not about the caller's own.

    It is a decorator in addition to that of access, which it follows. Raises NotFound, OwnSubmission.
    """
    view.decides = True  # type: ignore[attr-defined]
    return view


def open_by(setting: str) -> Callable[[View], View]:
    """Anybody may call the route, or members alone, where the setting says `members`. Raises Unauthenticated."""

    def named(view: View) -> View:
        view.open_by = setting  # type: ignore[attr-defined]
        return _named(view, "open_by")

    return named


def admin_required(view: View) -> View:
    """Only administrators may call the route. Raises Unauthenticated, PasskeyRequired, AdminRequired."""
    return _named(view, "admin")


def for_unconfirmed(view: View) -> View:
    """The route is also for an account that has to confirm its address before anything else (SIGNUP_DOMAINS).

    It is a decorator in addition to that of access, which it follows.
    """
    view.for_unconfirmed = True  # type: ignore[attr-defined]
    return view


def _named(view: View, access: str) -> View:
    view.access = access  # type: ignore[attr-defined]
    return view


def is_closed(app: Flask | None = None) -> bool:
    """Whether only members may read (READS=members)."""
    return bool((app or current_app).config["READS"] == "members")


def for_other_sites() -> dict[str, str]:
    """The header of a picture that pages of other sites may show; nothing where only members may read."""
    return {} if is_closed() else {"Cross-Origin-Resource-Policy": "cross-origin"}


def is_open(app: Flask, rule: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether anonymous callers may use the route of a rule, or its address with these arguments."""
    if not is_closed(app) or rule in OPEN or rule in app.extensions.get("open_pages", ()):
        return True
    return rule == DOCS_FILE and (arguments or {}).get("name") in OPEN_FILES


def require_reader(exchange: Exchange) -> None:
    """Where only members may read: refuse anonymous callers what is not open. Raises MembersOnly, EmailNotVerified.

    The answer does not depend on what is there: it comes before the view, and before 404 and 405. No OPTIONS is open.
    """
    if exchange.method != "OPTIONS" and is_open(current_app, exchange.environ[ROUTE], exchange.arguments):
        return
    try:
        reader = viewer(exchange)
    except Unauthenticated as error:
        raise MembersOnly(error.detail) from None
    if reader is None:
        raise MembersOnly
    caller(exchange)


def admit(exchange: Exchange) -> None:
    """Refuse what no route takes, before the view and what decorates it. Raises the errors of each check.

    These are reads of anonymous callers where only members may read, writes that `write_checks` refuses, and bad bearer
    tokens, on public routes too.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    # An extra may know the callers of a path by more than a session or a token.
    if identify := app.extensions.get("identify", {}).get(exchange.path):
        identify(exchange)
    if is_closed(app):
        require_reader(exchange)
    if exchange.view is None:
        return
    if not exchange.is_read:
        write_checks.check(exchange)
    if not exchange.is_identified and bearer_of(exchange.environ) is not None:
        viewer(exchange)


def admit_unknown(exchange: Exchange) -> None:
    """Close unknown paths under /api/admin and /api/review, and impossible ids there, as the routes there are."""
    for path, (action, _rules) in CLOSED.items():
        if exchange.path.startswith(path):
            viewer()
            require(action, caller())


def check(exchange: Exchange) -> None:
    """Raise the error of the route's decorator unless the caller may use the route.

    The rule for owners is in the services, which check it again under the project's lock. The rate limit counts the
    request before, so that it also counts attempts at projects that do not exist.
    """
    view = exchange.view
    access, tier = view.access, view.operation.tier
    if access != "public" or tier is not None:
        viewer(exchange)  # Cache-Control depends on the caller, even if the body does not
    if access == "open_by":
        if current_app.config[view.open_by] == "members":
            permissions.require_person(viewer(exchange))
    elif access != "public":
        _check_person(exchange)


def _check_person(exchange: Exchange) -> None:
    """The same for a route that is for some accounts alone. A write needs its privilege at its commit too."""
    by, access = caller(exchange), exchange.view.access
    required = REQUIRED.get(access)
    if exchange.path.startswith("/api/review/") and required != "review":
        require("review", by)  # what administrators alone may do there, members are refused as everything there
    if required is not None:
        require(required, by)
    if access in PROJECT:
        rate_limits.hit(exchange.view.operation.tier)
        PROJECT[access](by, catalog.whose(exchange.arguments["project_id"]))
    elif hasattr(exchange.view, "decides") and permissions.refuses_own(
        self_review := current_app.config["SELF_REVIEW"]
    ):
        permissions.require_reviewer(by, catalog.whose(exchange.arguments["project_id"]), self_review)
    if access == "owner" and permissions.may(by, "administer"):
        required = "administer"
    if not exchange.is_read:
        exchange.privilege = required


def needs_verified(action: str) -> bool:
    """Whether REQUIRE_VERIFIED_EMAIL asks for a confirmed address for this."""
    return current_app.config["REQUIRE_VERIFIED_EMAIL"] in ("vote", action)


def require_verified(action: str) -> None:
    """Raise EmailNotVerified unless the caller's address is confirmed, where REQUIRE_VERIFIED_EMAIL asks for it."""
    if needs_verified(action):
        identity.require_verified(caller())


def needs_passkey() -> PasskeyRequired:
    """The refusal of a caller who has to sign in by a passkey: it says who has to, by REQUIRE_PASSKEY."""
    of_reviewers = current_app.config["REQUIRE_PASSKEY"] == "reviewers"
    return PasskeyRequired(PasskeyRequired.of_reviewers if of_reviewers else None)


def require(action: Action, by: Caller) -> None:
    """Raise PasskeyRequired, AdminRequired or ReviewerRequired unless the caller may do this."""
    if permissions.may(by, action):
        return
    if permissions.needs_passkey(by, action):
        raise needs_passkey()
    raise _refusal(action)


def _refusal(action: Action) -> DirectoryError:
    return AdminRequired() if action == "administer" else ReviewerRequired()


def shows_reviewers() -> bool:
    """Whether the owners of projects see who reviewed them."""
    return bool(current_app.config["REVIEWER_NAMES"] == "shown")


@event.listens_for(db.session, "before_commit")
def _require_privilege_still(session: Session) -> None:
    """Refuse the write of somebody who was demoted, suspended or cut from a category since the request began.

    It is the last statement of each transaction of such a request, after all waits for locks, so no decision needs a
    check of its own. The rules about projects hold the role until the commit (`identity.require_active`). Here the
    account is not locked: other transactions lock accounts first, so that could deadlock.
    Administrators who demote themselves are checked by `administration.administer`. Raises AdminRequired,
    ReviewerRequired.
    """
    action = current().privilege if "exchange" in g else None  # a command, or a batch of votes, has none
    if action is None or (request.view_args or {}).get("user_id") == caller().id:
        return
    session.flush()
    if not permissions.still(caller(), action):
        raise _refusal(action)


def require_access(app: Flask) -> None:
    """Refuse to start if a route has no access rule, no operation to check it, or is open under /api/admin or /review.

    A forgotten rule must not open a route.
    """
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        access = getattr(view, "access", None)
        if access is None or not hasattr(view, "operation"):
            raise RuntimeError(f"the route {rule.endpoint} has no access rule, or no operation that checks it")
        for path, (action, rules) in CLOSED.items():
            if rule.rule.startswith(path) and access not in rules:
                raise RuntimeError(f"the route {rule.endpoint} under {path} is open to others than those who {action}")
