"""The directory as a model in Python: what each request answers and changes, for a test to hold the service against.

Each method takes the caller (None for an anonymous one) and returns the status and code that the answer must have, None
where there is no error; what it changes of the model the request must change of the database. REVIEW_ON_EDIT is never.
"""

from typing import Any

from tests.support.cast import Credential, Entry, Person, Project, Revision

Outcome = tuple[int, str | None]
OK: Outcome = (200, None)
UNAUTHENTICATED: Outcome = (401, "unauthenticated")
NOT_FOUND: Outcome = (404, "not_found")
DECISIONS = {
    "approve": ("pending", "live"),
    "reject": ("pending", "rejected"),
    "unpublish": ("live", "pending"),
}
REVIEWED = {"title", "tagline", "url"}
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
        after, held = self._planned(project, changes, is_member=who.person.role != "admin")
        applied = _differences(project.fields, after.fields)
        waiting = _differences(after.fields | project.held, after.fields | held)
        holding = {name: change for name, change in waiting.items() if name not in applied}
        if not applied and not holding:
            return OK
        taken = {after.key} if after.key != project.key else set()
        if "url" in holding:
            taken.add(Project(0, project.owner, after.fields | held).key)
        if any(self._has(project.owner, key, other_than=project) for key in taken):
            return 409, "duplicate"
        self._edited(project, who, after.fields, applied, held, holding)
        return OK

    def _planned(self, project: Project, changes: dict[str, Any], *, is_member: bool) -> tuple[Project, dict[str, Any]]:
        """The project after an edit, and what then waits."""
        after, held = Project(0, project.owner, dict(project.fields)), dict(project.held)
        for name, value in changes.items():
            is_same_url = name == "url" and Project(0, project.owner, {"url": value}).key == project.key
            if project.status == "live" and is_member and name in REVIEWED and not is_same_url:
                held[name] = value
                continue
            after.fields[name] = value
            if is_member:
                held.pop(name, None)
        return after, {name: value for name, value in held.items() if value != after.fields[name]}

    def _edited(
        self, project: Project, who: Credential, fields: dict[str, Any], applied: dict[str, Any], held: dict[str, Any],
        holding: dict[str, Any],
    ) -> None:  # fmt: skip
        """What applies at once and what waits, each with its entry."""
        before, waited, is_member = project.status, bool(project.held), who.person.role != "admin"
        project.fields, project.version = fields, project.version + 1
        if before == "rejected" and is_member:
            project.status, project.reason, project.due = "pending", None, {"submitted_at"}
        elif project.is_with_owner and is_member:
            project.reason, project.is_with_owner = None, False
        if applied:
            self._happened("edited", project, who, before, project.status, changes=applied, silent=before != "live")
        if held:
            submitted_at = project.revision.submitted_at if project.revision else None
            project.revision = Revision(held, submitted_at)
            if holding:
                changes = {name: {**change, "from": fields[name]} for name, change in holding.items()}
                self._happened("edit_held", project, who, "live", "live", changes=changes, silent=True)
        elif is_member or waited:
            project.revision = None
            if waited and is_member:
                self._happened("edit_withdrawn", project, who, "live", "live", silent=True)

    def withdraw(self, who: Credential | None, project_id: int, version: int | None) -> Outcome:
        if barred := self.barred(who, project_id):
            return barred
        assert who is not None
        project = self.projects[project_id]
        if version not in (None, project.version):
            return 412, "precondition_failed"
        if project.revision is None:
            return NOT_FOUND
        project.revision, project.version = None, project.version + 1
        self._happened("edit_withdrawn", project, who, "live", "live", silent=True)
        return 204, None

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
        self._count(project)
        return OK

    def _count(self, project: Project) -> None:
        """The votes of active users count."""
        project.upvotes = sum(one.id in project.voters and one.status == "active" for one in self.people)

    def decide(
        self, who: Credential | None, project_id: int, decision: str, reason: str | None, version: int | None = None
    ) -> Outcome:
        if denied := self.denied(who, admin=True):
            return denied
        assert who is not None
        project = self.projects.get(project_id)
        if project is None:
            return NOT_FOUND
        if self._holds(project, decision):
            return OK
        if version not in (None, project.version):
            return 412, "precondition_failed"
        judge = self._decide_changes if project.held and decision != "unpublish" else self._move
        return judge(who, project, decision, reason)

    def _move(self, who: Credential, project: Project, decision: str, reason: str | None) -> Outcome:
        source, target = DECISIONS[decision]
        if project.status != source:
            return 409, "invalid_transition"
        project.status, project.version, project.revision = target, project.version + 1, None
        project.reason = None if decision == "approve" else reason
        if target == "live" and project.times["published_at"] is None:
            project.due = {"published_at"}
        elif target == "pending":
            project.due = {"submitted_at"}
        project.is_with_owner = target == "pending"
        self._happened(PAST[decision], project, who, source, target, reason)
        return OK

    def _holds(self, project: Project, decision: str) -> bool:
        """Whether a project is as the decision would have it. Changes that were refused are as a rejection."""
        if project.revision is not None:
            return decision == "reject" and not project.held
        return decision != "unpublish" and project.status == DECISIONS[decision][1]

    def _decide_changes(self, who: Credential, project: Project, decision: str, reason: str | None) -> Outcome:
        after = Project(0, project.owner, project.fields | project.held)
        if decision == "reject":
            project.version += 1
            project.revision = Revision({}, reason=reason, rejected=project.held)
            self._happened("edit_rejected", project, who, "live", "live", reason, silent=True)
            return OK
        if self._has(project.owner, after.key, other_than=project):
            return 409, "duplicate"
        changes = _differences(project.fields, after.fields)
        project.fields, project.revision, project.version = after.fields, None, project.version + 1
        self._happened("edit_approved", project, who, "live", "live", changes=changes, silent=True)
        self.outbox.append(("project.edited", project.id))
        return OK

    def _has(self, owner: Person, key: str, *, other_than: Project | None = None) -> bool:
        others = (project for project in self.projects.values() if project is not other_than)
        return any(project.owner is owner and project.key == key for project in others)

    def _happened(
        self, what: str, project: Project, who: Credential, before: str | None, after: str | None, reason: Any = None,
        changes: Any = None, *, silent: bool = False,
    ) -> None:  # fmt: skip
        """Add an entry, and unless it is `silent` a notification."""
        about = {"project": project.id, "title": project.fields["title"], "key": project.key}
        entry = Entry(f"project.{what}", who.person.id, None, before, after, reason, changes, **about)
        self.audit.append(entry)
        if not silent:
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
                self.die(one)

    def die(self, one: Credential) -> None:
        """Let a credential die, and with a token those that it made."""
        one.alive = False
        for made in self.credentials:
            if made.parent is one and made.alive:
                self.die(made)

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
        for project in self.projects.values():
            self._count(project)
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
        queue = sorted((waits, p.id) for p in self.projects.values() if (waits := _waits(p)))
        return [id_ for _, id_ in queue].index(project.id) + 1 if _waits(project) else None

    def history(self, project_id: int) -> list[Entry]:
        """Its entries and those of its URLs, the newest first."""
        own = {entry.key for entry in self.audit if entry.project == project_id}
        return [e for e in reversed(self.audit) if e.project == project_id or (e.key is not None and e.key in own)]


def _waits(project: Project) -> str | None:
    """Since when a project, or its changes, wait for review."""
    if project.status == "pending":
        return None if project.is_with_owner else project.times["submitted_at"]
    return project.revision.submitted_at if project.revision and project.held else None


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {n: {"from": before[n], "to": value} for n, value in after.items() if before[n] != value}
