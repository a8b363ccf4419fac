"""The deletion of an account while requests of the same user and of others run: exact, and without a deadlock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.db.transactions import transaction
from directory.errors import AccountDeleted, AdminRequired, InvalidCredentials, Unauthenticated
from directory.extensions import db
from directory.models import AuditEntry, Project, User
from directory.services.accounts import accounts, api_tokens
from directory.services.identity import Caller
from directory.services.people import account_deletion
from directory.services.review import moderation, submissions
from tests.conftest import Database
from tests.support import concurrent_calls
from tests.support import votes as votes_of
from tests.support.account_deletion import BODY, PATH, faults, leave, left, rows
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, World
from tests.support.waiting import until


def late(app: Flask, user: Caller, work: Callable[[], Any]) -> None:
    """Do something of a user whose request was authenticated before the account was deleted."""
    leave(app, user)
    with app.app_context(), pytest.raises(Unauthenticated):
        transaction(work)


@pytest.mark.parametrize("action", [votes_of.toggle, votes_of.cast, votes_of.withdraw])
def test_a_vote_that_comes_late_is_refused(app: Flask, world: World, ada: Caller, action: Any) -> None:
    project = world.project(votes=1)
    leave(app, ada)
    with app.app_context(), pytest.raises(Unauthenticated):
        action(project, by=ada)
    assert world.stored(project)["upvotes"] == 1
    assert faults(app) == []


def test_an_administrator_who_was_demoted_meanwhile_deletes_no_account(app: Flask, world: World, ada: Caller) -> None:
    admin, by = world.admin(), world.admin()
    assert world.caller(admin).put(f"/api/admin/users/{by.id}", {"role": "member"}).status_code == 200
    with app.app_context():
        with pytest.raises(AdminRequired):
            transaction(lambda: account_deletion.delete_user(ada.id, by=by, notify=[]))
        assert db.session.get_one(User, ada.id).deleted_at is None


def test_a_submission_an_edit_and_a_deletion_that_come_late_are_refused(app: Flask, world: World) -> None:
    fields = {"title": "New", "tagline": "New", "category": world.category(), "url": "https://new.example"}
    for work in (
        lambda by, _: submissions.submit(fields, by=by, notify=[]),
        lambda by, project: submissions.edit(project, {"title": "Late"}, by=by, review_on_edit="material", notify=[]),
        lambda by, project: submissions.remove(project, by=by, notify=[]),
        lambda by, _: api_tokens.issue("late", None, by=by),
    ):
        user = world.user()
        project = world.project(user)
        late(app, user, lambda: work(user, project))  # noqa: B023 (called within the turn)
        assert world.stored(project)["title"] != "Late"
        assert left(app, user)["states"] == {"live": 1}


def test_a_new_address_and_a_sign_in_that_come_late_are_refused(app: Flask, world: World, ada: Caller) -> None:
    browser = Browser(app).sign_in("ada")
    with app.app_context():
        known = accounts.get(ada.id).password_hash
    leave(app, ada)
    with app.app_context():
        with pytest.raises(AccountDeleted):
            transaction(lambda: accounts.change(ada, email="late@example.org", known_hash="", new_hash=None))
        with pytest.raises(InvalidCredentials):
            transaction(lambda: accounts.login(ada.id, known, new_hash=None, user_agent=""))
    assert not browser.signed_in()
    assert left(app, ada)["sessions"] == 0


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_request_of_the_same_user_under_way_ends_before_and_what_it_wrote_goes_too(
    app: Flask, world: World, ada: Caller
) -> None:
    world.project(ada)
    fields = {"title": "New", "tagline": "New", "category": world.category(), "url": "https://new.example"}

    def blocked() -> bool:
        with app.app_context():
            return bool(db.session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))

    with ThreadPoolExecutor(1) as pool, app.app_context():

        def submit() -> Any:
            submitted = submissions.submit(fields, by=ada, notify=[])
            deletion = pool.submit(leave, app, ada)
            until(blocked)
            return submitted, deletion

        submitted, deletion = transaction(submit)
        deletion.result(20)
    assert world.row(submitted) is None
    assert left(app, ada)["states"] == {"live": 1}
    assert faults(app) == []


@pytest.mark.parametrize("kind", ["approve", "unpublish"])
def test_a_decision_between_the_look_and_the_lock_holds(
    app: Flask, world: World, ada: Caller, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    project = world.project(ada, "pending" if kind == "approve" else "live")
    other = world.project(ada, "rejected")
    affected = account_deletion._affected

    def decided(user_id: int) -> set[int]:
        found = affected(user_id)
        moderation.decide(project, kind, by=None, notify=[])
        return found

    monkeypatch.setattr(account_deletion, "_affected", decided)
    leave(app, ada)
    assert left(app, ada)["states"] == {"live" if kind == "approve" else "pending": 1}
    assert world.row(other) is None
    assert faults(app) == []


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.parametrize("word", ["approve", "reject", "unpublish"])
def test_a_decision_waits_for_no_account_of_an_owner(app: Flask, world: World, ada: Caller, word: str) -> None:
    """A deletion locks the account before the projects: with a wait for the account the two would be a ring."""
    project = world.project(ada, "live" if word == "unpublish" else "pending")
    admin = world.caller(world.admin())
    with app.app_context(), db.engine.execution_options(isolation_level="READ COMMITTED").begin() as holder:
        holder.execute(text("SELECT 1 FROM users WHERE id = :id FOR UPDATE").bindparams(id=ada.id))
        assert admin.put(f"/api/admin/projects/{project}/{word}").status_code == 200


def test_everything_is_exact_whatever_runs_beside_it(app: Flask, world: World, database: Database) -> None:
    admins = [world.caller(world.admin()).token for _ in range(2)]
    leaving = [world.user() for _ in range(4)]
    leaver_admin = world.admin()
    tags = ["x", "y", "z"]
    own, queued = [], []
    for n, user in enumerate([*leaving, leaver_admin]):
        own += [world.project(user, category=f"c{(n + m) % 3}", tags=tags[m:]) for m in range(2)]
        queued += [world.project(user, "pending", category=f"c{(n - m) % 3}", tags=tags[m:]) for m in range(3)]
    others = [world.project(category=f"c{n}", tags=tags) for n in range(3)]
    stays = [world.caller(world.user()).token for _ in range(2)]
    shown = [*own, *others]
    scripts = []
    for token in stays:
        votes = [(token, "POST", f"/api/projects/{p}/upvote", None) for p in shown]
        scripts.append(concurrent_calls.shuffled(votes, len(scripts)))
    new = {"title": "New", "tagline": "New", "category": "c0", "tags": ["x", "new"]}
    for user in [*leaving, leaver_admin]:
        tokens = [world.caller(user).token for _ in range(3)]
        # The same user votes, submits and edits by one token and leaves by two others at once.
        first = [
            (tokens[0], "PUT", f"/api/projects/{p}/upvote", None) for p in concurrent_calls.shuffled(shown, user.id)
        ]
        submit = [
            (tokens[0], "POST", "/api/projects", {**new, "url": f"https://n{user.id}.example/{n}"}) for n in range(3)
        ]
        edits = [(tokens[0], "PUT", f"/api/projects/{p}", {"title": f"Edited {p}"}) for p in own]
        decide = [
            (tokens[0], "PUT", f"/api/admin/projects/{p}/approve", None)
            for p in concurrent_calls.shuffled(queued, user.id)
        ]
        scripts.append([*first[:4], *submit[:2], *edits, *first[4:], *submit[2:], *decide])
        scripts += [[*first[2:4], (token, "DELETE", PATH, BODY)] for token in tokens[1:]]
    for n, token in enumerate(admins):
        scripts.append(
            [(token, "PUT", f"/api/admin/projects/{p}/approve", None) for p in concurrent_calls.shuffled(queued, n)]
        )
        scripts.append(
            [(token, "PUT", f"/api/admin/projects/{p}/unpublish", None) for p in concurrent_calls.shuffled(own, n)]
        )
    logins = [(None, "POST", "/api/auth/login", {"login": user.username, "password": PASSWORD}) for user in leaving]
    scripts.append(logins * 2)

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    assert {answer["status"] for answer in answers} <= {200, 201, 204, 401, 403, 404, 409, 503}
    for user in [*leaving, leaver_admin]:
        found = left(app, user)
        assert (found["upvotes"], found["sessions"], found["tokens"]) == (0, 0, 0), user
        # An administrator may unpublish a project of a deleted account; nothing else is left that is not live.
        assert set(found["states"]) <= {"live", "pending"}
        assert rows(app, User.username, id=user.id) == [(f"deleted-{user.id}",)]
    deletions = [answer["status"] for answer in answers if (answer["method"], answer["path"]) == ("DELETE", PATH)]
    assert sorted(deletions) == [204] * 5 + [401] * 5
    with app.app_context():
        unpublished = select(AuditEntry.project_id).where(AuditEntry.action == "project.unpublished")
        pending = select(Project.id).where(Project.status == "pending", Project.owner_id.in_([u.id for u in leaving]))
        assert set(db.session.scalars(pending)) <= set(db.session.scalars(unpublished))
        counted = select(AuditEntry.user_id, func.count()).where(AuditEntry.action == "user.deleted")
        assert {n for _, n in db.session.execute(counted.group_by(AuditEntry.user_id))} == {1}
    assert faults(app) == []
