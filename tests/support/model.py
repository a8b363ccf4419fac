"""The directory as a model in Python: what each request answers and changes, for a test to hold the service against.

Each method takes the caller (None for an anonymous one) and returns the status and code that the answer must have, None
where there is no error; what it changes of the model the request must change of the database. REVIEW_ON_EDIT is never.
"""

from typing import Any

from tests.support.cast import Credential, Entry, Person, Project

Outcome = tuple[int, str | None]
OK: Outcome = (200, None)
UNAUTHENTICATED: Outcome = (401, "unauthenticated")
NOT_FOUND: Outcome = (404, "not_found")
DECISIONS = {
    "approve": ("pending", "live"),
    "reject": ("pending", "rejected"),
    "unpublish": ("live", "pending"),
}
PAST = {"approve": "approved", "reject": "rejected", "unpublish": "unpublished"}


class Model:
    """People, what they are signed in by, projects, the audit log and the outbox."""

    def __init__(self, people: list[Person]) -> None:
        self.people, self.credentials = people, list[Credential]()
        self.projects: dict[int, Project] = {}
        self.deleted: list[int] = []
        self.audit: list[Entry] = []
        self.outbox: list[tuple[str, int]] = []

    # Who may

    def denied(self, who: Credential | None, *, admin: bool = False) -> Outcome | None:
        if who is None or not who.alive:
            return UNAUTHENTICATED
        return (403, "admin_required") if admin and who.person.role != "admin" else None

    def viewer(self, who: Credential | None) -> Person | None:
        """The caller as a public route sees it: anonymous with a dead cookie."""
        return who.person if who is not None and who.alive else None

    def sees(self, viewer: Person | None, project: Project) -> bool:
        return project.status == "live" or self.owns(viewer, project)

    def owns(self, viewer: Person | None, project: Project) -> bool:
        """Whether they may change it, being its owner or an administrator."""
        return viewer is not None and (viewer.role == "admin" or viewer is project.owner)

    def barred(self, who: Credential | None, project_id: int) -> Outcome | None:
        """Why a project may not be changed."""
        project = self.projects.get(project_id)
        if denied := self.denied(who):
            return denied
        if project is None or not self.sees(self.viewer(who), project):
            return NOT_FOUND
        return None if self.owns(self.viewer(who), project) else (403, "not_owner")

    # Projects

    def submit(self, who: Credential | None, fields: dict[str, Any], new_id: int) -> Outcome:
        if denied := self.denied(who):
            return denied
        assert who is not None
        project = Project(new_id, who.person, fields)
        if self._has(who.person, project.key):
            return 409, "duplicate"
        self.projects[new_id] = project
        self._happened("submitted", project, who, None, "pending")
        return 201, None

    def edit(self, who: Credential | None, project_id: int, changes: dict[str, Any], version: int | None) -> Outcome:
        if barred := self.barred(who, project_id):
            return barred
        assert who is not None
        project = self.projects[project_id]
        if version not in (None, project.version):
            return 412, "precondition_failed"
        changed = {name for name, value in changes.items() if project.fields[name] != value}
        edited = Project(0, project.owner, project.fields | changes)
        if changed and edited.key != project.key and self._has(project.owner, edited.key):
            return 409, "duplicate"
        if changed:
            before, changes = project.status, {n: {"from": project.fields[n], "to": changes[n]} for n in changed}
            project.fields, project.version = edited.fields, project.version + 1
            if before == "rejected" and who.person.role != "admin":
                project.status, project.reason, project.due = "pending", None, {"submitted_at"}
            self._happened("edited", project, who, before, project.status, changes=changes)
        return OK

    def delete(self, who: Credential | None, project_id: int) -> Outcome:
        if barred := self.barred(who, project_id):
            return barred
        assert who is not None
        project = self.projects.pop(project_id)
        self.deleted.append(project_id)
        self._happened("deleted", project, who, project.status, None)
        return 204, None

    def vote(self, who: Credential | None, project_id: int, method: str) -> Outcome:
        if denied := self.denied(who):
            return denied
        assert who is not None
        project = self.projects.get(project_id)
        if project is None or not self.sees(who.person, project):
            return NOT_FOUND
        if project.status != "live":
            return 409, "not_votable"
        there = who.person.id in project.voters
        if method == "PUT" or (method == "POST" and not there):
            project.voters.add(who.person.id)
        else:
            project.voters.discard(who.person.id)
        return OK

    def decide(
        self, who: Credential | None, project_id: int, decision: str, reason: str | None, version: int | None = None
    ) -> Outcome:
        if denied := self.denied(who, admin=True):
            return denied
        assert who is not None
        source, target = DECISIONS[decision]
        project = self.projects.get(project_id)
        if project is None:
            return NOT_FOUND
        if project.status == target and decision != "unpublish":
            return OK
        if version not in (None, project.version):
            return 412, "precondition_failed"
        if project.status != source:
            return 409, "invalid_transition"
        project.status, project.version = target, project.version + 1
        project.reason = None if decision == "approve" else reason
        if target == "live" and project.times["published_at"] is None:
            project.due = {"published_at"}
        elif target == "pending":
            project.due = {"submitted_at"}
        self._happened(PAST[decision], project, who, source, target, reason)
        return OK

    def _has(self, owner: Person, key: str) -> bool:
        return any(project.owner is owner and project.key == key for project in self.projects.values())

    def _happened(
        self, what: str, project: Project, who: Credential, before: str | None, after: str | None, reason: Any = None,
        changes: Any = None,
    ) -> None:  # fmt: skip
        about = {"project": project.id, "title": project.fields["title"], "key": project.key}
        entry = Entry(f"project.{what}", who.person.id, None, before, after, reason, changes, **about)
        self.audit.append(entry)
        if what != "edited":
            self.outbox.append((entry.action, project.id))

    # People

    def login(self, person: Person, password: str) -> Outcome:
        if password != person.password:
            return 401, "invalid_credentials"
        return OK if person.status == "active" else (403, "account_suspended")

    def end(self, kind: str | None = None, *, of: Person, but: Credential | None = None) -> None:
        """Let credentials die: all of a person's, or those of a kind."""
        for one in self.credentials:
            if one.person is of and one is not but and kind in (None, one.kind):
                one.alive = False

    def change_password(self, who: Credential | None, present: str, new: str) -> Outcome:
        if denied := self.denied(who):
            return denied
        assert who is not None
        if present != who.person.password:
            return 422, "validation_failed"
        who.person.password = new
        self.end("cookie", of=who.person, but=who)
        return OK

    def administer(self, who: Credential | None, target: Person, changes: dict[str, str]) -> Outcome:
        if denied := self.denied(who, admin=True):
            return denied
        assert who is not None
        after = {"role": target.role, "status": target.status} | changes
        others = [p for p in self.people if p is not target and (p.role, p.status) == ("admin", "active")]
        if not others and after != {"role": "admin", "status": "active"}:
            return 409, "last_admin"
        for name in ("role", "status"):
            if getattr(target, name) != after[name]:
                action, before = f"user.{name}_changed", getattr(target, name)
                self.audit.append(Entry(action, who.person.id, target.id, before, after[name]))
                setattr(target, name, after[name])
        if target.status == "suspended":
            self.end(of=target)
        return OK

    # Lists

    def listed(self, who: Credential | None, status: str | None, own: bool, sort: str) -> list[Project]:
        """What GET /api/projects shows; of what is not live a member's own alone."""
        viewer = self.viewer(who)
        wanted = status or (None if own else "live")
        mine = own or (wanted != "live" and viewer is not None and viewer.role != "admin")
        found = [p for p in self.projects.values() if wanted in (None, p.status) and (not mine or p.owner is viewer)]
        return sorted(found, key=lambda project: project.rank(sort), reverse=True)

    def place(self, project: Project) -> int | None:
        """Its place in the queue."""
        queue = sorted((str(p.times["submitted_at"]), p.id) for p in self.projects.values() if p.status == "pending")
        return [id_ for _, id_ in queue].index(project.id) + 1 if project.status == "pending" else None

    def history(self, project_id: int) -> list[Entry]:
        """Its entries and those of its URLs, the newest first."""
        own = {entry.key for entry in self.audit if entry.project == project_id}
        return [e for e in reversed(self.audit) if e.project == project_id or (e.key is not None and e.key in own)]
