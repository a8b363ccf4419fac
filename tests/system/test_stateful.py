"""People who submit, review, vote, sign in and are thrown out, in any order: the service does what the model says.

FUZZ_EXAMPLES sets how many such stories are told, each of other steps; without it the same few, for each database.
"""

import json
from urllib.parse import urlencode

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test
from sqlalchemy import and_, select

from directory.extensions import db
from directory.models import AuditEntry, Category, Delivery, Review, Session, Token, Upvote
from directory.models import Project as Row
from directory.services.turns import CURRENT
from tests.support.cast import Credential, Entry
from tests.support.effort import effort
from tests.support.factories import PASSWORD
from tests.support.lists import ORDERS
from tests.support.model import NOT_FOUND, PAST
from tests.support.story import URLS, Teller

EVENTS = ("submitted", "approved", "rejected", "unpublished", "deleted", "edited")
ENDPOINT = {"url": "https://hooks.example/", "secret": "c2VjcmV0", "events": [f"project.{event}" for event in EVENTS]}
NUMBER = st.integers(0, 47)  # which of those that there are
FIELDS = {
    "title": st.sampled_from(["One", "Two"]), "tagline": st.sampled_from(["Short", "Long"]),
    "url": st.sampled_from(URLS), "category": st.sampled_from(["tools", "games"]),
}  # fmt: skip
REASON = st.sampled_from([None, "Not yet."])
VERDICT = st.sampled_from(sorted(PAST))
ADMIN = ("admin", "active")
WRONG = "not the password"

# Entries that the model leaves out; tests/services/test_audit_completeness.py has them.
OF_ACCOUNTS = {"user.registered", "user.signed_in", "user.password_changed", "user.token_created", "user.token_revoked"}


class Story(Teller):
    """The steps, and what holds after each."""

    # Projects

    @rule(number=NUMBER, fields=st.fixed_dictionaries(FIELDS))
    def submit(self, number: int, fields: dict[str, str]) -> None:
        self.add(self.who(number), fields)

    @rule(number=NUMBER, aim=NUMBER, changes=st.fixed_dictionaries({}, optional=FIELDS), age=st.integers(-1, 3))
    def edit(self, number: int, aim: int, changes: dict[str, str], age: int) -> None:
        """Change some fields; an age of 0 means this version of it, of 1 the one before it, -1 any."""
        project_id = self.which(aim)
        who = self.who(number, of=project_id)
        project = self.model.projects.get(project_id)
        version = project.version - age if project and age in (0, 1) else None
        self.change(who, project_id, changes, version)

    @rule(number=NUMBER, aim=NUMBER, age=st.integers(-1, 1))
    def withdraw(self, number: int, aim: int, age: int) -> None:
        """Withdraw the changes of a project."""
        project_id = self.which(aim)
        who = self.who(number, of=project_id)
        project = self.model.projects.get(project_id)
        version = project.version - age if project and age in (0, 1) else None
        allowed = {"If-Match": f'"{version}"'} if version is not None else {}
        answer = self.send(who, "DELETE", f"/api/projects/{project_id}/revision", **allowed)
        self.must(answer, self.model.withdraw(who, project_id, version))

    @rule(number=NUMBER, aim=NUMBER)
    def delete(self, number: int, aim: int) -> None:
        project_id = self.which(aim)
        who = self.who(number, of=project_id)
        self.must(self.send(who, "DELETE", f"/api/projects/{project_id}"), self.model.delete(who, project_id))

    @rule(number=NUMBER, aim=NUMBER, method=st.sampled_from(["POST", "PUT", "DELETE"]))
    def vote(self, number: int, aim: int, method: str) -> None:
        who, project_id = self.who(number), self.which(aim, live=True)
        answer = self.send(who, method, f"/api/projects/{project_id}/upvote")
        body = self.must(answer, self.model.vote(who, project_id, method))
        if answer.status_code == 200:
            assert who is not None
            project = self.model.projects[project_id]
            upvoted = who.person.id in project.voters
            assert body == {"project_id": project_id, "upvoted": upvoted, "upvotes": project.upvotes}

    @rule(number=NUMBER, aim=NUMBER, decision=st.sampled_from(sorted(PAST)), reason=REASON)
    def decide(self, number: int, aim: int, decision: str, reason: str | None) -> None:
        self.judge(self.who(number, admin=True), self.which(aim), decision, reason)

    @rule(number=NUMBER, aims=st.sets(NUMBER, min_size=1, max_size=4), verdict=VERDICT, age=st.integers(-1, 1))
    def decide_many(self, number: int, aims: set[int], verdict: str, age: int) -> None:
        """Decide about some; an age of 0 means these versions of them, of 1 the ones before them, -1 any."""
        who, ids = self.who(number, admin=True), sorted({self.which(aim) for aim in aims}, reverse=True)
        there = self.model.projects
        versions = {one: there[one].version - age for one in ids if one in there and there[one].version > age >= 0}
        items = [{"id": one} | ({"version": versions[one]} if one in versions else {}) for one in ids]
        answer = self.send(who, "POST", "/api/admin/projects/decisions", {"decision": verdict, "items": items})
        denied = self.model.denied(who, admin=True)
        body = self.must(answer, denied or (200, None))
        if denied:
            return
        before = len(self.model.audit), len(self.model.outbox)
        outcomes = {one: self.model.decide(who, one, verdict, None, versions.get(one)) for one in sorted(ids)}
        self.order_as_logged(*before)
        found = [(item["id"], (item["status"], item.get("code"))) for item in body["items"]]
        assert found == [(project_id, outcomes[project_id]) for project_id in ids]
        shown = [item["project"] for item in body["items"] if "project" in item]
        for project in shown:  # the times of all before the places, which follow from them
            self.shown({name: project[name] for name in project.keys() - {"queue_position"}}, who and who.person)
        for project in shown:
            self.shown(project, who and who.person, placed=True)

    # People

    @rule(number=NUMBER, right=st.booleans())
    def login(self, number: int, right: bool) -> None:
        person = self.model.people[number % 4]
        password = person.password if right else WRONG
        login = person.username if number % 8 < 4 else f"{person.username}@example.org"
        answer = self.send(None, "POST", "/api/auth/login", {"login": login, "password": password})
        self.must(answer, self.model.login(person, password))
        if answer.status_code == 200:
            self.enter(person, answer)

    @rule(number=NUMBER, aim=NUMBER, act=st.sampled_from(["logout", "issue", "revoke", "end others"]))
    def prove(self, number: int, aim: int, act: str) -> None:
        """Something with the caller's sessions and tokens."""
        who = self.who(number)
        if act == "logout":
            self.must(self.send(who, "POST", "/api/auth/logout"), self.model.denied(who) or (204, None))
            if who and who.kind == "cookie":
                who.alive = False
        elif act == "issue":
            self.issue(who)
        elif act == "revoke":
            self.revoke(who, self.model.credentials[-1 - aim % len(self.model.credentials)])
        else:
            self.must(self.send(who, "DELETE", "/api/auth/sessions"), self.model.denied(who) or (204, None))
            if who and who.alive:
                self.model.end("cookie", of=who.person, but=who)

    def revoke(self, who: Credential | None, one: Credential) -> None:
        """End one session or token, which only its own person can."""
        path = f"/api/auth/{'sessions' if one.kind == 'cookie' else 'tokens'}/{one.id}"
        own = who is not None and one.alive and one.person is who.person
        self.must(self.send(who, "DELETE", path), self.model.denied(who) or ((204, None) if own else NOT_FOUND))
        if own and who is not None and who.alive:
            self.model.die(one)

    @rule(number=NUMBER, right=st.booleans())
    def change_password(self, number: int, right: bool) -> None:
        who, new = self.who(number), f"{PASSWORD} {next(self.numbers)}"
        present = who.person.password if who and right else WRONG
        answer = self.send(who, "PUT", "/api/auth/me", {"password": new, "current_password": present})
        self.must(answer, self.model.change_password(who, present, new))

    @rule(
        number=NUMBER, aim=NUMBER,
        changes=st.fixed_dictionaries({}, optional={
            "role": st.sampled_from(["member", "admin"]), "status": st.sampled_from(["active", "suspended"]),
        }).filter(bool),
    )  # fmt: skip
    def administer(self, number: int, aim: int, changes: dict[str, str]) -> None:
        who, active = self.who(number, admin=True), [p for p in self.model.people if (p.role, p.status) == ADMIN]
        among = active if aim % 2 else self.model.people
        person = among[aim // 2 % len(among)]
        answer = self.send(who, "PUT", f"/api/admin/users/{person.id}", changes)
        body = self.must(answer, self.model.administer(who, person, changes))
        if answer.status_code == 200:
            assert (body["role"], body["status"]) == (person.role, person.status)

    # Looking

    @rule(number=NUMBER, aim=NUMBER)
    def look(self, number: int, aim: int) -> None:
        project_id = self.which(aim)
        who = self.who(number, of=project_id)
        project, viewer = self.model.projects.get(project_id), self.model.viewer(who)
        seen = project is not None and self.model.sees(viewer, project)
        answer = self.send(who, "GET", f"/api/projects/{project_id}")
        body = self.must(answer, self.refused(who) or ((200, None) if seen else NOT_FOUND))
        if answer.status_code == 200:
            self.shown(body, viewer, placed=True)

    @rule(
        number=NUMBER, sort=st.sampled_from(ORDERS), own=st.booleans(),
        status=st.sampled_from([None, "live", "pending", "rejected"]),
    )  # fmt: skip
    def browse(self, number: int, sort: str, own: bool, status: str | None) -> None:
        who = self.who(number)
        asked = (
            {"sort": sort, "limit": "100"} | ({"owner": "me"} if own else {}) | ({"status": status} if status else {})
        )
        closed = own or status in ("pending", "rejected")
        answer = self.send(who, "GET", f"/api/projects?{urlencode(asked)}")
        refusal = self.refused(who) or (self.model.denied(who) if closed else None)
        body = self.must(answer, refusal or (200, None))
        if not refusal:
            self.lists(body, self.model.listed(who, status, own, sort), self.model.viewer(who), own=own)

    @rule(number=NUMBER, aim=NUMBER)
    def history(self, number: int, aim: int) -> None:
        who, project_id = self.who(number, admin=True), self.which(aim)
        entries = self.model.history(project_id)
        answer = self.send(who, "GET", f"/api/admin/projects/{project_id}/history?limit=100")
        body = self.must(answer, self.model.denied(who, admin=True) or ((200, None) if entries else NOT_FOUND))
        if answer.status_code == 200:
            found = [(e["action"], e["actor"]["id"], e["project"], e["reason"], e["changes"]) for e in body["items"]]
            told = [(e.action, e.actor, {"id": e.project, "title": e.title}, e.reason, e.changes) for e in entries]
            assert found == told[:100]

    # What holds after every step

    @invariant()
    def everybody_sees_what_is_live_in_each_order(self) -> None:
        for sort in ORDERS:
            body = self.must(self.api.get(f"/api/projects?limit=100&sort={sort}"), (200, None))
            self.lists(body, self.model.listed(None, None, False, sort), None)

    @invariant()
    def the_database_holds_what_the_model_does(self) -> None:
        projects = self.model.projects.values()
        with self.app.app_context():
            assert {(v.user_id, v.project_id) for v in db.session.scalars(select(Upvote))} == {
                (voter, project.id) for project in projects for voter in project.voters
            }
            assert {
                p.id: (p.status, p.upvotes, p.version, reason)
                for p, reason in db.session.execute(
                    select(Row, Review.reason).outerjoin(Review, and_(CURRENT, Review.changes.is_(None)))
                )
            } == {p.id: (p.status, p.upvotes, p.version, p.reason) for p in projects}
            assert {
                r.project_id: (r.changes, r.reason)
                for r in db.session.scalars(select(Review).where(Review.is_current, Review.changes.is_not(None)))
            } == {p.id: (p.revision.changes or p.revision.rejected, p.revision.reason) for p in projects if p.revision}
            for category in db.session.scalars(select(Category)):
                states = [p.status for p in projects if p.fields["category"] == category.slug]
                counted = (category.live_projects, category.pending_projects, category.rejected_projects)
                assert counted == tuple(states.count(state) for state in ("live", "pending", "rejected"))
            for kind, model in (("cookie", Session), ("token", Token)):
                alive = {one.id for one in self.model.credentials if one.kind == kind and one.alive}
                assert set(db.session.scalars(select(model.id))) == alive

    @invariant()
    def each_change_has_one_entry_and_one_notification(self) -> None:
        with self.app.app_context():
            entries = [
                Entry(
                    e.action,
                    e.actor_id,
                    e.user_id,
                    e.from_state,
                    e.to_state,
                    e.reason,
                    e.changes,
                    e.project_id,
                    e.project_title,
                )
                for e in db.session.scalars(select(AuditEntry).order_by(AuditEntry.id))
                if e.action not in OF_ACCOUNTS
            ]
            sent = [(d.event, d.project_id) for d in db.session.scalars(select(Delivery).order_by(Delivery.id))]
        assert entries == [entry._replace(key=None) for entry in self.model.audit]
        assert sent == self.model.outbox

    @invariant()
    def there_is_an_active_administrator(self) -> None:
        assert any((person.role, person.status) == ADMIN for person in self.model.people)


@pytest.mark.slow
def test_the_service_does_what_the_model_says(make_app, database):
    app = make_app(WEBHOOK_ENDPOINTS=json.dumps([ENDPOINT]))
    story = type("Told", (Story,), {"app": app, "database": database})
    run_state_machine_as_test(story, settings=effort(8, stateful_step_count=30))
    print(f"{database.backend}: {story.told:,} stories, {story.steps:,} requests by steps")
