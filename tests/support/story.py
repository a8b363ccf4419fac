"""The parts of a story's steps: people and their credentials, requests, and answers compared with the model."""

from itertools import count
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, initialize
from sqlalchemy import select

from directory.extensions import db
from directory.models import AuditEntry
from tests.support.browsers import COOKIE
from tests.support.caching import close_snapshots
from tests.support.cast import Credential, Person, Project
from tests.support.factories import PASSWORD, Api, World
from tests.support.model import Model, Outcome

NAMES = {"ada": "member", "bob": "member", "eve": "admin", "root": "admin"}
URLS = ("https://example.org/0", "https://example.org/1", "http://www.Example.org/1/", "https://example.org/2")


class Teller(RuleBasedStateMachine):
    """One run; `app` and `database` are set by the test."""

    app: Any
    database: Any
    told = steps = 0

    @initialize()
    def begin(self) -> None:
        """Four people, two of them administrators, each with a token."""
        type(self).told += 1
        with self.app.app_context():
            db.engine.dispose()
        close_snapshots(self.app)
        self.database.reset()
        world, self.api, self.numbers = World(self.app), Api(self.app), count(1)
        for slug in ("tools", "games"):
            world.category(slug)
        people = [world.user(name, role) for name, role in NAMES.items()]
        self.model = Model([Person(p.id, p.username, PASSWORD, p.role) for p in people])
        for person in self.model.people:
            login = {"login": person.username, "password": person.password}
            self.issue(self.enter(person, self.api.post("/api/auth/login", login)))
        for number, url in enumerate(URLS):
            fields = {"title": "One", "tagline": "Short", "url": url, "category": "tools"}
            self.add(self.model.credentials[2 * (number % 2)], fields)
        for project_id, decision in enumerate(("approve", "approve", "reject"), start=1):
            self.judge(self.model.credentials[-1], project_id, decision, "Not yet.")
        self.change(self.model.credentials[0], 1, {"tagline": "Long"}, None)

    def send(self, who: Credential | None, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer to a request by some caller."""
        type(self).steps += 1
        return self.api.call(method, path, body, headers={**headers, **(who.headers if who else {})})

    def must(self, answer: Any, outcome: Outcome) -> Any:
        """The answer's body, if it is the outcome that the model foretold."""
        body = answer.json if answer.data else None
        assert (answer.status_code, body["code"] if answer.status_code >= 400 else None) == outcome, body
        return body

    def who(self, number: int, *, admin: bool = False, of: int = 0) -> Credential | None:
        """Some caller: nobody or one who is not signed in any more, or one who is.

        Of those mostly an administrator, where that is what it takes, or whoever owns the project `of`.
        """
        alive = [one for one in self.model.credentials if one.alive == bool(number % 6)]
        owner = self.model.projects[of].owner if of in self.model.projects else None
        fitting = [one for one in alive if one.person is owner or (admin and one.person.role == "admin")]
        wanted = fitting if fitting and number % 6 > 2 else alive
        return wanted[-1 - number % len(wanted)] if wanted and number else None

    def which(self, number: int, *, live: bool = False) -> int:
        """The id of some project, for `live` mostly of such a one; now and then of one that is gone or never was."""
        there = [p.id for p in self.model.projects.values() if p.status == "live" or not live or number % 4 == 2]
        if number % 8 == 7 or not there:
            there = [*self.model.deleted, 4711]
        return there[number % len(there)]

    def shown(self, body: dict[str, Any], viewer: Person | None, *, placed: bool = False) -> None:
        """A project in an answer is as the model has it for the viewer; `placed` with its place in the queue."""
        project = self.model.projects[body["id"]]
        if project.due:
            renewed = {n: body[n] for n in ("created_at", "submitted_at", "published_at")}
            assert {n for n in renewed if renewed[n] != project.times.get(n)} == project.due
            project.times, project.due = renewed, set()
        expected = {**project.fields, **project.times, "category": project.fields["category"], "status": project.status}
        expected |= {"upvotes": project.upvotes, "has_upvoted": viewer and viewer.id in project.voters}
        expected |= {"owner": {"id": project.owner.id, "username": project.owner.username}, "version": project.version}
        private: dict[str, Any] = {}
        if self.model.owns(viewer, project):
            private = {"rejection_reason": project.reason, "revision": self.revision(project, body["revision"])}
        if private and placed:
            private |= {"queue_position": self.model.place(project)}
        found = body | {"category": body["category"]["slug"]}
        assert {name: found[name] for name in expected} == expected
        assert {
            name: found[name] for name in ("rejection_reason", "revision", "queue_position") if name in found
        } == private

    def revision(self, project: Project, found: Any) -> Any:
        """The revision as it must be in an answer. It keeps its time, which its first answer tells."""
        if project.revision is None:
            return None
        if project.held and project.revision.submitted_at is None:
            project.revision.submitted_at = found["submitted_at"]
            assert found["submitted_at"] is not None
        return {name: value for name, value in vars(project.revision).items() if name != "rejected" or value}

    def lists(self, body: dict[str, Any], expected: list[Project], viewer: Person | None, *, own: bool = False) -> None:
        """A list in an answer is the expected one, each project of it included; of one's `own` with their places."""
        assert [item["id"] for item in body["items"]] == [project.id for project in expected]
        assert body["pagination"]["total"] == len(expected)
        for item in body["items"]:
            self.shown(item, viewer, placed=own)

    def refused(self, who: Credential | None) -> Outcome | None:
        """A dead token is refused on every route; a dead cookie is anonymous."""
        return self.model.denied(who) if who and who.kind == "token" else None

    def enter(self, person: Person, answer: Any) -> Credential:
        """The session that a login opened."""
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        assert cookie.startswith(f"{COOKIE}=")
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        sessions = self.api.get("/api/auth/sessions", headers=headers).json["items"]
        (current,) = [session["id"] for session in sessions if session["current"]]
        self.model.credentials.append(Credential(person, "cookie", current, headers))
        return self.model.credentials[-1]

    def issue(self, who: Credential | None) -> None:
        """Make a token."""
        answer = self.send(who, "POST", "/api/auth/tokens", {"name": "x"})
        body = self.must(answer, self.model.denied(who) or (201, None))
        if who and who.alive:
            headers = {"Authorization": f"Bearer {body['token']}"}
            parent = who if who.kind == "token" else None
            self.model.credentials.append(Credential(who.person, "token", body["id"], headers, parent=parent))

    def add(self, who: Credential | None, fields: dict[str, str]) -> None:
        """Submit a project."""
        answer = self.send(who, "POST", "/api/projects", fields)
        new_id = answer.json.get("id", 0)
        body = self.must(answer, self.model.submit(who, fields, new_id))
        if new_id:
            self.model.projects[new_id].times = {"published_at": None}
            self.shown(body, who and who.person, placed=True)

    def change(self, who: Credential | None, project_id: int, changes: dict[str, Any], version: int | None) -> None:
        """Edit a project, of this version if one is given."""
        allowed = {"If-Match": f'"{version}-x"'} if version is not None else {}
        answer = self.send(who, "PUT", f"/api/projects/{project_id}", changes, **allowed)
        body = self.must(answer, self.model.edit(who, project_id, changes, version))
        if answer.status_code == 200:
            self.shown(body, who and who.person, placed=True)

    def judge(self, who: Credential | None, project_id: int, decision: str, reason: str | None) -> None:
        """Decide about a project."""
        reason = None if decision == "approve" else reason
        body = {"reason": reason} if reason else None
        answer = self.send(who, "PUT", f"/api/admin/projects/{project_id}/{decision}", body)
        body = self.must(answer, self.model.decide(who, project_id, decision, reason))
        if answer.status_code == 200:
            self.shown(body, who and who.person, placed=True)

    def order_as_logged(self, entries: int, sent: int) -> None:
        """Have what a batch added to the model behind so many stand as in the log, which groups it by state."""
        new = len(self.model.audit) - entries
        with self.app.app_context():
            last = select(AuditEntry.project_id).order_by(AuditEntry.id.desc()).limit(new)
            place = {project_id: -n for n, project_id in enumerate(db.session.scalars(last))}
        self.model.audit[entries:] = sorted(self.model.audit[entries:], key=lambda entry: place.get(entry.project, 0))
        self.model.outbox[sent:] = sorted(self.model.outbox[sent:], key=lambda one: place.get(one[1], 0))
