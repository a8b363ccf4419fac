"""The decorators of routes by themselves: what they ask, in which order, and what they say of a view."""

import pytest

from directory.errors import AdminRequired, NotFound, NotOwner, Unauthenticated
from directory.http import converters
from directory.http.access import admin_required, login_required, owner_required, public
from directory.http.endpoint import operation


def view(**path):
    return path


@pytest.fixture
def ask(app, world):
    """Ask a decorated view as a user, or anonymously with None."""

    def call(decorated, user=None, **path):
        headers = {"Authorization": f"Bearer {world.caller(user).token}"} if user else {}
        with app.test_request_context("/", headers=headers):
            return decorated(**path)

    return call


@pytest.mark.parametrize(
    ("decorate", "access"),
    [(public, "public"), (login_required, "member"), (owner_required, "owner"), (admin_required, "admin")],
)
def test_a_decorated_view_says_who_may_call_it_and_keeps_its_name(decorate, access):
    decorated = decorate(operation()(view))
    assert (decorated.access, decorated.__name__) == (access, "view")
    assert decorated.operation.status == 200


def test_a_public_view_takes_anyone(ask, world):
    assert ask(public(view), None, n=1) == ask(public(view), world.user(), n=1) == {"n": 1}


def test_a_members_view_takes_anyone_who_is_signed_in(ask, world):
    assert ask(login_required(view), world.user(), n=1) == {"n": 1}
    with pytest.raises(Unauthenticated):
        ask(login_required(view), n=1)


def test_an_admins_view_takes_admins_alone(ask, world):
    assert ask(admin_required(view), world.admin(), n=1) == {"n": 1}
    with pytest.raises(AdminRequired):
        ask(admin_required(view), world.user(), n=1)
    with pytest.raises(Unauthenticated):
        ask(admin_required(view), n=1)


def test_an_owners_view_takes_owner_and_admins_and_shows_others_no_more_than_they_may_see(ask, world):
    @operation()
    def tell(**path):
        return None

    owner, other, admin = world.user(), world.user(), world.admin()
    live, hidden = world.project(owner), world.project(owner, "pending")
    decorated = owner_required(tell)
    for user in (owner, admin):
        for project in (live, hidden):
            assert ask(decorated, user, project_id=project).status_code == 200
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


def test_a_route_that_does_not_say_who_may_call_it_keeps_the_service_from_starting(app):
    app.add_url_rule("/forgotten", "forgotten", lambda: "")
    with pytest.raises(RuntimeError, match="forgotten"):
        converters.require_access(app)
