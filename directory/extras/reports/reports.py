"""Reports about live projects, by members and by anonymous callers: making, listing and settling them.

A caller has at most one open report about a project. Reports hide nothing by themselves. Open reports of a suspended
member are in no list and in no number until the account is active again. Triggers settle the reports about a project
that is no longer live; before they do, `mail_acted` mails this outcome to the reporters.

Whatever changes reports has locked their project.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_, update
from sqlalchemy.orm import aliased

from directory import events
from directory.db.paging import AnySelect, Slice, Sort, Window, as_dict, fetch
from directory.errors import NotFound, OwnSubmission, ReportsSettled
from directory.extensions import db, modify
from directory.extras.reports import mails
from directory.models import AccountStatus, Project, Report, ReportOutcome, Status, User, now
from directory.services import audit, daily_bytes, permissions
from directory.services.catalog import catalog
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.people import kept_reports

STATES = ("open", "settled")
TEXTS_MAX, REPORTS_MAX = 20, 100  # of a project, in a list
# The most open reports of anonymous callers about a project. One transaction settles all of them: of some 30,000, by as
# many addresses, it took too long, and the project could neither be settled nor taken down.
STRANGERS_MAX = 1_000
_BY_ID = Sort((Report.id,), descending=False)
_BY_SETTLEMENT = Sort((Report.settled_at, Report.id), descending=True)
_Other = aliased(Report)
_COLUMNS = (
    Project.id,
    Project.title,
    Project.url_key,
    Project.status,
    Project.owner_id,
    Project.category_id,
    Project.updated_at,
)


def make(
    project_id: int, kind: str, text: str, *, by: Caller | None, address_key: str | None, notify: list[Endpoint]
) -> None:
    """Report a live project, or replace the kind and the text of the caller's open report about it.

    `by` is None for an anonymous caller, whom `address_key` identifies. Where a project has STRANGERS_MAX open reports
    of such callers, one more takes the place of the newest. Only a report that takes no place is sent to webhooks. One
    by a member whose last one was settled as unfounded, and whose project has not changed since, is not stored.
    Raises Unauthenticated, NotFound (also if the project is not live).
    """
    if by is not None:
        require_active(by)
    project = _locked(project_id)
    if project.status != Status.LIVE:
        raise NotFound
    caller = Report.address_key == address_key if by is None else Report.reporter_id == by.id
    values = {"kind": kind, "text": text}
    daily_bytes.note(values, daily_bytes.ROW)
    if modify(update(Report).where(Report.project_id == project_id, _is_open(Report), caller).values(values)):
        return
    if by is not None and _was_unfounded(project, by):
        return
    whose = {"address_key": address_key} if by is None else {"reporter_id": by.id}
    if by is None and len(newest := _newest_of_strangers(project_id)) == STRANGERS_MAX:
        modify(update(Report).where(Report.id == newest[0]).values(**values, **whose, created_at=now()))
        return
    db.session.add(Report(project_id=project_id, **values, **whose))
    outbox.enqueue(events.PROJECT_REPORTED, project_id, by=None, endpoints=notify, kind=kind)


def _was_unfounded(project: Any, by: Caller) -> bool:
    """Whether a member's report of the project, as it is, was settled as unfounded."""
    settled = Report.outcome == ReportOutcome.UNFOUNDED, Report.settled_at > project.updated_at
    earlier = select(Report.id).where(Report.project_id == project.id, Report.reporter_id == by.id, *settled)
    return db.session.scalar(earlier.limit(1)) is not None


def _newest_of_strangers(project_id: int) -> list[int]:
    """The ids of at most STRANGERS_MAX open reports of anonymous callers about a project, newest first."""
    theirs = select(Report.id).where(Report.project_id == project_id, _is_open(Report), Report.reporter_id.is_(None))
    return list(db.session.scalars(theirs.order_by(Report.id.desc()).limit(STRANGERS_MAX)))


def settle(project_id: int, outcome: str, reply: str | None, *, by: Caller, notify: list[Endpoint]) -> None:
    """Settle the open reports about a project, and queue the mails to the reporters.

    The same outcome again changes nothing, not even the reply. Raises Unauthenticated, NotFound, OwnSubmission, and
    ReportsSettled if no report is open and the last ones were settled with another outcome.
    """
    require_active(by)
    project = _locked(project_id)
    _require_settleable(project, by)
    due = Report.project_id == project_id, *_shown(Report, "open")
    if db.session.scalar(select(Report.id).where(*due).limit(1)) is None:
        _require_same(project_id, outcome)
        return
    mails.queue(select(Report.id).where(*due), outcome, reply, endpoints=notify)
    values = {"outcome": outcome, "reply": reply, "settled_at": now(), "address_key": None}
    modify(update(Report).where(*due).values(values))
    audit.record_project(events.REPORT_SETTLED, project, by=by, from_state="open", to_state=outcome, reason=reply)


def require_settleable(project_id: int, *, by: Caller) -> None:
    """Raise NotFound or OwnSubmission unless `by` may settle reports about the project, and there are any."""
    project = db.session.execute(select(*_COLUMNS).where(Project.id == project_id)).one_or_none()
    _require_settleable(project, by)


def _require_settleable(project: Any, by: Caller) -> None:
    """Raise NotFound or OwnSubmission unless `by` may settle reports about a project, and there are any.

    Nobody settles reports about their own project, unless nobody else may.
    """
    permissions.require_reviewer(by, project)
    is_known = or_(Report.settled_at.is_not(None), _is_seen(Report))
    query = select(Report.id).where(Report.project_id == project.id, is_known).limit(1)
    if db.session.scalar(query) is None:
        raise NotFound
    if permissions.owns(by, project.owner_id) and permissions.somebody_else_may({by.id}, "review", project.category_id):
        raise OwnSubmission


def _require_same(project_id: int, outcome: str) -> None:
    """Raise ReportsSettled if the last settled reports about a project have another outcome."""
    settled = select(Report.outcome).where(Report.project_id == project_id, *_shown(Report, "settled"))
    last = db.session.scalars(settled.order_by(Report.settled_at.desc(), Report.id.desc()).limit(1)).one()
    if last != outcome:
        raise ReportsSettled(str(last))


def mail_acted(project_ids: Sequence[int], *, notify: list[Endpoint]) -> None:
    """Queue the mails about the open reports of locked projects that are about to leave the directory."""
    about = select(Report.id).where(Report.project_id.in_(project_ids), _is_open(Report))
    mails.queue(about, ReportOutcome.ACTED.value, None, endpoints=notify)


def page(window: Window, *, by: Caller, state: str, kind: str | None) -> Slice:
    """The reports by project: open ones by the oldest of each, settled ones by the last settlement, newest first.

    Only projects that `by` may review are listed, and only administrators see the names of reporters. `kind` leaves out
    reports of other kinds. Each item has the project, the number of its reports and of each kind, the time of the first
    one, and the newest texts; for administrators who has made the newest reports; of settled reports also the last
    outcome and reply. It takes a bounded number of statements.
    """
    return _page(window, permissions.within(Project.__table__.c.category_id, by), by, state, kind)


def of_project(project_id: int, *, by: Caller) -> dict[str, Any]:
    """The settled reports about a project, as an item of the list."""
    [group] = _page(Window(1), Project.id == project_id, by, "settled", None).items
    return dict(group)


def _page(window: Window, within: ColumnElement[bool], by: Caller, state: str, kind: str | None) -> Slice:
    """The reports about projects that meet a condition."""
    query = select(Report.project_id, Report.outcome, Report.reply, Report.settled_at)
    query = query.join(Project, Project.id == Report.project_id).where(within, _is_first(state, kind))
    groups = fetch(query, _BY_ID if state == "open" else _BY_SETTLEMENT, window)
    names = permissions.may(by, "administer")
    groups.items = _groups([as_dict(row) for row in groups.items], state, kind, naming_reporters=names)
    return groups


def _groups(
    rows: list[dict[str, Any]], state: str, kind: str | None, *, naming_reporters: bool
) -> list[dict[str, Any]]:
    """The items of a page, by the row that stands for each project."""
    ids = [row["project_id"] for row in rows]
    if not ids:
        return []
    projects = {project["id"]: project for project in catalog.all_stored(ids)}
    counted, reporter = _counted(ids, state, kind), ("reporter",) if naming_reporters else ()
    texts = _newest(("text", "kind", "at", *reporter), ids, state, kind, TEXTS_MAX, Report.text != "")
    newest = _newest(("kind", "at", "reporter"), ids, state, kind, REPORTS_MAX) if naming_reporters else {}
    return [
        {
            **({} if state == "open" else {name: row[name] for name in ("outcome", "reply", "settled_at")}),
            "project": projects[row["project_id"]],
            "number": sum(number for _, number, _ in counted[row["project_id"]]),
            "kinds": {name: number for name, number, _ in counted[row["project_id"]]},
            "first_at": min(at for _, _, at in counted[row["project_id"]]),
            "texts": texts[row["project_id"]],
            **({"reports": newest[row["project_id"]]} if naming_reporters else {}),
        }
        for row in rows
    ]


def _counted(ids: list[int], state: str, kind: str | None) -> dict[int, list[tuple[str, int, Any]]]:
    """By project, its kinds of reports in alphabetical order: each with the number and the time of the first."""
    numbers = select(Report.project_id, Report.kind, func.count(), func.min(Report.created_at))
    numbers = numbers.where(Report.project_id.in_(ids), *_shown(Report, state, kind))
    by_project: dict[int, list[tuple[str, int, Any]]] = {project_id: [] for project_id in ids}
    for project_id, *of_kind in db.session.execute(numbers.group_by(Report.project_id, Report.kind)):
        by_project[project_id].append(tuple(of_kind))  # type: ignore[arg-type]
    return {project_id: sorted(kinds) for project_id, kinds in by_project.items()}


def _newest(
    members: tuple[str, ...], ids: list[int], state: str, kind: str | None, most: int, *conditions: ColumnElement[bool]
) -> dict[int, list[dict[str, Any]]]:
    """By project, the newest reports that meet the conditions, newest first: each with these members."""
    place = func.row_number().over(partition_by=Report.project_id, order_by=Report.id.desc()).label("place")
    wanted = select(Report.id, place).where(Report.project_id.in_(ids), *conditions, *_shown(Report, state, kind))
    newest = wanted.subquery("newest")
    columns = (Report.project_id, Report.text, Report.kind, Report.created_at, User.id.label("user_id"), User.username)
    query = select(*columns).join(newest, newest.c.id == Report.id).outerjoin(User, User.id == Report.reporter_id)
    by_project: dict[int, list[dict[str, Any]]] = {project_id: [] for project_id in ids}
    for row in db.session.execute(query.where(newest.c.place <= most).order_by(Report.id.desc())):
        reporter = None if row.user_id is None else {"id": row.user_id, "username": row.username}
        shown = {"text": row.text, "kind": row.kind, "at": row.created_at, "reporter": reporter}
        by_project[row.project_id].append({name: shown[name] for name in members})
    return by_project


def _is_first(state: str, kind: str | None) -> ColumnElement[bool]:
    """Whether a report stands for its project: of the open ones the first, of the others the last one settled."""
    before = _Other.id < Report.id
    if state != "open":
        before = tuple_(_Other.settled_at, _Other.id) > tuple_(Report.settled_at, Report.id)
    others = select(_Other.id).where(_Other.project_id == Report.project_id, *_shown(_Other, state, kind), before)
    return and_(*_shown(Report, state, kind), ~others.exists())


def _shown(model: Any, state: str, kind: str | None = None) -> list[ColumnElement[bool]]:
    """The conditions for reports of a state, and of a kind if one is given, that are in lists and numbers."""
    of_state = [_is_open(model), _is_seen(model)] if state == "open" else [model.settled_at.is_not(None)]
    return of_state if kind is None else [*of_state, model.kind == kind]


def _is_open(model: Any) -> ColumnElement[bool]:
    return model.settled_at.is_(None)  # type: ignore[no-any-return]


def _is_seen(model: Any) -> ColumnElement[bool]:
    """Whether nobody who is suspended has made the report.

    With EXISTS in place of the comparison PostgreSQL would read all accounts.
    """
    status = select(User.status).where(User.id == model.reporter_id).scalar_subquery()
    return or_(model.reporter_id.is_(None), status == AccountStatus.ACTIVE)


def number_open() -> AnySelect:
    """The statement that counts the open reports."""
    return select(func.count()).select_from(Report).where(*_shown(Report, "open"))


def reported(by: Caller) -> int:
    """How many projects in the categories of `by` have open reports."""
    query = select(func.count(Report.project_id.distinct())).join(Project, Project.id == Report.project_id)
    within = permissions.within(Project.__table__.c.category_id, by)
    return db.session.scalar(query.where(within, *_shown(Report, "open"))) or 0


def own(by: Caller, window: Window) -> Slice:
    """The caller's reports, newest first, with their total."""
    reports = fetch(kept_reports.of_member(by), Sort((Report.id,), descending=True), window)
    reports.total = db.session.scalar(select(func.count()).where(Report.reporter_id == by.id)) or 0
    reports.items = [as_dict(row) for row in reports.items]
    return reports


def _locked(project_id: int) -> Any:
    """The project, locked. Raises NotFound."""
    query = select(*_COLUMNS).where(Project.id == project_id).with_for_update(key_share=True)
    project = db.session.execute(query).one_or_none()
    if project is None:
        raise NotFound
    return project
