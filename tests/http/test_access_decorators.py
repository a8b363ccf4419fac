"""The decorators of routes by themselves: what is checked, in which order, and what they say of a view."""

import pytest

from directory.errors import AdminRequired, NotFound, NotOwner, Unauthenticated
from directory.http.access import (
    admin_required,
    login_required,
    owner_required,
    public,
    require_access,
    reviewer_required,
)
from directory.http.endpoint import operation
from tests.support.exchanges import handling


@operation()
def view(**path):
    return None


@pytest.fixture(params=[{}, {"tier": None}])
def made(request):
    """A view without a decorator, with a rate limit and without."""
    return operation(**request.param)(lambda **path: None)


@pytest.fixture
def ask(exchanged):
    """Ask a decorated view as a user, or anonymously with None."""

    def call(decorated, user=None, **path):
        return exchanged(decorated, user, **path)[0]

    return call


@pytest.fixture
def exchanged(app, world):
    """Ask a decorated view as `ask` does, and return the status and the exchange of the request."""

    def call(decorated, user, method="GET", **path):
        headers = {"Authorization": f"Bearer {world.caller(user).token}"} if user else {}
        with handling(app, method=method, headers=headers) as exchange:
            exchange.view = decorated
            return decorated(**path).status_code, exchange

    return call


@pytest.mark.parametrize(
    ("decorate", "access"),
    [(public, "public"), (login_required, "member"), (owner_required, "owner"), (admin_required, "admin")],
)
def test_a_decorated_view_says_who_may_call_it_and_keeps_its_name(decorate, access):
    decorated = decorate(view)
    assert (decorated.access, decorated.__name__) == (access, "view")
    assert decorated.operation.status == 200


def test_a_public_view_takes_anyone(ask, world, made):
    assert ask(public(made), None, n=1) == ask(public(made), world.user(), n=1) == 200


def test_a_members_view_takes_anyone_who_is_signed_in(ask, world, made):
    assert ask(login_required(made), world.user(), n=1) == 200
    with pytest.raises(Unauthenticated):
        ask(login_required(made), n=1)


def test_an_admins_view_takes_admins_alone(ask, world, made):
    assert ask(admin_required(made), world.admin(), n=1) == 200
    with pytest.raises(AdminRequired):
        ask(admin_required(made), world.user(), n=1)
    with pytest.raises(Unauthenticated):
        ask(admin_required(made), n=1)


def test_an_owners_view_takes_owner_and_admins_and_shows_others_no_more_than_they_may_see(ask, world):
    owner, other, admin = world.user(), world.user(), world.admin()
    live, hidden = world.project(owner), world.project(owner, "pending")
    decorated = owner_required(view)
    for user in (owner, admin):
        for project in (live, hidden):
            assert ask(decorated, user, project_id=project) == 200
    for user, project, refusal in (
        (other, live, NotOwner),
        (other, hidden, NotFound),
        (other, 4711, NotFound),
        (admin, 4711, NotFound),
        (None, live, Unauthenticated),
        (None, 4711, Unauthenticated),
    ):
        with pytest.raises(refusal):
            ask(decorated, user, project_id=project)


@pytest.mark.parametrize(
    ("decorate", "role", "privilege"),
    [
        (login_required, "admin", None),
        (owner_required, "member", None),
        (owner_required, "admin", "administer"),
        (reviewer_required, "admin", "review"),
        (admin_required, "admin", "administer"),
    ],
)
def test_a_write_needs_the_privilege_that_it_is_made_by_at_its_commit_too(exchanged, world, decorate, role, privilege):
    """Who is demoted meanwhile may still do what members may."""
    user = world.user(role=role)
    project = world.project(user)
    for method, expected in (("PUT", privilege), ("GET", None)):
        assert exchanged(decorate(view), user, method, project_id=project)[1].privilege == expected


@pytest.mark.parametrize("tier", ["read", None])
def test_a_public_view_asks_who_calls_where_requests_are_counted(exchanged, world, tier):
    decorated = public(operation(tier=tier)(lambda: None))
    assert exchanged(decorated, world.user())[1].is_identified == (tier is not None)


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/forgotten", lambda: ""),
        ("/forgotten", operation()(lambda: "")),
        ("/unchecked", login_required(lambda: "")),
        ("/api/admin/open", public(operation()(lambda: ""))),
        ("/api/admin/open", login_required(operation()(lambda: ""))),
    ],
)
def test_a_route_that_does_not_say_or_check_who_may_call_it_stops_the_start(app, path, route):
    require_access(app)
    app.add_url_rule(path, "forgotten", route)
    with pytest.raises(RuntimeError, match="forgotten"):
        require_access(app)
