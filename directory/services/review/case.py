"""Cases under review: what is read of them, and `move`, the one function that makes the steps of the table in `steps`.

`move` locks nothing: the calling function has the cases from `locked`, or the project from `submissions.locked` and its
case from `current`. A project is locked before its case, and both before the counters that triggers change.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, literal_column, select, update
from sqlalchemy import case as sql_case

from directory.db.errors import refusing
from directory.db.statements import Prepared, add_row, among
from directory.errors import Invalid
from directory.extensions import db
from directory.models import Asked, Outcome, Project, Review, Reviewed, Turn, now
from directory.models.base import UtcDateTime
from directory.services import audit, bulk, service_words, turns
from directory.services.catalog import catalog, category_slugs, fields
from directory.services.catalog.fields import Changes
from directory.services.catalog.orders import hot
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.review.steps import ENTRIES, STEPS, Act, Stage, Step
from directory.services.turns import Standing

P, R = Project.__table__.c, Review.__table__.c
_NAMES = tuple(column.name for column in R if column.name != "id")
PATIENCE = 3  # so many requests of one submission leave it its place in the queue
LONGEST = timedelta(days=14)  # of a hold


@dataclass(frozen=True, slots=True)
class Terms:
    """What a decision comes with: the reason, or the message of a request for changes; and its consequences.

    With `self_review` "refuse" nobody decides about their own. An approval moves the state if `required` people have
    approved the version. `answer_within` is how long the owner has to answer where the decision leaves something with
    the owner, None for ever. `rule_id` is the rule that decides. `is_late` is set if the time for an answer is over:
    then it leaves out what does not wait for its owner, or not long enough.
    """

    reason: str | None = None
    self_review: str = "allow"
    required: int = 1
    answer_within: timedelta | None = None
    rule_id: int | None = None
    is_late: bool = False


PLAIN = Terms()


class Locked(NamedTuple):
    """What a decision needs of a project."""

    id: int
    owner_id: int
    url_key: str
    title: str
    status: str
    version: int
    category_id: int
    upvotes: int
    published_at: datetime | None


@dataclass(slots=True)
class Case:
    """A locked project and its current case; and the message by which changes were asked for, while it waits.

    `stored` are the values of the case that the database has, None for a new one; `ended` are cases that were current,
    each with its own. `flush` writes what differs.
    """

    project: Any
    review: Review | None
    request: str | None = None
    stored: dict[str, Any] | None = field(init=False)
    ended: list[tuple[Review, dict[str, Any] | None]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Note the values that were read."""
        self.stored = None if self.review is None else _values(self.review)

    @property
    def id(self) -> int:
        """The project's id."""
        return int(self.project.id)

    @property
    def kind(self) -> Reviewed:
        """What it is about. A live project without a case was a submission."""
        return Reviewed.SUBMISSION if self.review is None else Reviewed(self.review.kind)

    @property
    def stage(self) -> Stage:
        """Where the review is."""
        if self.review is None:
            return Stage.NONE
        if self.review.turn is None:
            return Stage.REJECTED
        if self.review.turn == Turn.APPEAL:
            return Stage.DOWN_APPEALED if self.review.outcome is None else Stage.APPEALED
        if self.review.turn == Turn.OWNER:
            return Stage.DOWN if self.review.asked == Asked.UNPUBLISHED else Stage.ASKED
        return Stage.HELD if self.review.turn == Turn.RULE else Stage.QUEUED

    @property
    def standing(self) -> Standing:
        """Whose turn it is, as people read it."""
        return turns.standing(self.review, self.project.published_at)

    @property
    def waits_for_owner(self) -> bool:
        """Whether it is the owner's turn."""
        return self.review is not None and self.review.turn == Turn.OWNER

    @property
    def is_late(self) -> bool:
        """Whether it waits for its owner, and the time for an answer is over."""
        return self.waits_for_owner and self.until is not None and self.until <= now()

    @property
    def until(self) -> datetime | None:
        """When it is closed or released."""
        return self.review and self.review.until

    def step(self, act: Act) -> Step | None:
        """What an act leads to from here; None if it is not possible."""
        return STEPS.get((self.kind, self.stage, act))

    def waited(self, at: datetime) -> float | None:
        """How many seconds it has waited for review; None if it waits for its owner, or is held."""
        if self.review is None or self.review.turn != Turn.REVIEWERS:
            return None
        return (at - (self.review.measured_from or self.review.place)).total_seconds()


def locked(project_ids: Iterable[int]) -> list[Case]:
    """The projects that exist, locked in the order of their ids, with their cases, which are locked too.

    Those with a case take one statement. If another transaction has closed a case meanwhile, PostgreSQL leaves it out,
    and it is read again as those without one are: after the lock, for a join would read it as it was before the wait.
    """
    wanted, dialect = set(project_ids), db.engine.dialect.name
    rows = _with_cases(dialect).all({"ids": sorted(wanted)}) if wanted else []
    cases = {row[0]: Case(Locked(*row[:_COLUMNS]), review_of(row[_COLUMNS:])) for row in rows}
    if others := wanted - cases.keys():
        projects = [Locked(*row) for row in _without_cases(dialect).all({"ids": sorted(others)})]
        reviews = current_of([project.id for project in projects]) if projects else {}
        cases |= {project.id: Case(project, reviews.get(project.id)) for project in projects}
    return [cases[number] for number in sorted(cases)]


_COLUMNS = len(Locked._fields)


def _these(dialect: str) -> Any:
    columns = (P[name] for name in Locked._fields)
    return select(*columns).where(among(P.id, dialect)).order_by(P.id)


@cache
def _with_cases(dialect: str) -> Prepared:
    both = _these(dialect).add_columns(*R).join(R.id.table, turns.CURRENT)
    return Prepared(both.with_for_update(key_share=True, of=[P.id.table, R.id.table]))


@cache
def _without_cases(dialect: str) -> Prepared:
    return Prepared(_these(dialect).with_for_update(key_share=True))


@cache
def _current(dialect: str) -> Prepared:
    query = select(*R).where(among(R.project_id, dialect), R.is_current).order_by(R.project_id)
    return Prepared(query.with_for_update())


def review_of(values: Iterable[Any]) -> Review:
    """A case with these values of its columns. The ORM's session does not have it, so `flush` here writes changes."""
    return Review(**dict(zip(R.keys(), values, strict=True)))


def current_of(project_ids: Collection[int]) -> dict[int, Review]:
    """The current cases of projects, by the ids of the projects. The calling function has locked the projects.

    The cases are locked too, because renaming a category changes those that name it.
    """
    reviews = map(review_of, _current(db.engine.dialect.name).all({"ids": [*project_ids]}))
    return {review.project_id: review for review in reviews}


def current(project: Any) -> Case:
    """A locked project with its case."""
    return Case(project, current_of([project.id]).get(project.id))


def changes_of(review: Review | None) -> dict[str, Any]:
    """The values that wait for review, by field and in the order of the fields. Rejected ones do not."""
    if review is None or review.changes is None or review.outcome is not None:
        return {}
    values = review.changes if review.category is None else {**review.changes, "category": review.category}
    values = fields.flat(values)
    return {name: values[name] for name in fields.in_order(values)}


def move(
    cases: list[Case],
    act: Act,
    *,
    by: Caller | None,
    at: datetime | None = None,
    notify: list[Endpoint] | None = None,
    terms: Terms = PLAIN,
    changes: Mapping[int, Changes] | None = None,
) -> None:
    """Make the step of each case, log it, end appeals that it overtakes, and tell its thread, owner and webhooks.

    `changes` are those that an approval has applied to live projects. Entries of owners, and of the outcome of an
    appeal, are written by the calling function, which has looked up that the step is possible.
    """
    at = at or now()
    by_step: dict[Step, list[Case]] = {}
    for case in cases:
        by_step.setdefault(STEPS[case.kind, case.stage, act], []).append(case)
    for step, some in by_step.items():
        assert step.event is not None  # noqa: S101 (a hold, which has none, is never moved but by `advance`)
        facts = [(case.project, _facts(case, step, act, at, changes)) for case in some]
        if step.ends is not None:
            end_appeals(some, step.ends, by=by, at=at)
        for case in some:
            advance(case, act, by=by, at=at, terms=terms)
        flush(some)
        reason = None if act is Act.REQUEST else terms.reason
        audit.record_each(facts, by=by, action=step.event, at=at, reason=reason, rule_id=terms.rule_id)
        _write(some, step, act, at)
        if act in ENTRIES:
            _tell(some, step, act, by=by, at=at, notify=notify or [], terms=terms)


def end_appeals(cases: Iterable[Case], why: str, *, by: Caller | None, at: datetime) -> None:
    """Write into the threads of those about which an appeal is open that it ends without an outcome."""
    appealed = [case.project for case in cases if case.review is not None and case.review.turn == Turn.APPEAL]
    if appealed:
        thread.record_of_service(appealed, why, by=by, at=at)


def advance(case: Case, act: Act, *, by: Caller | None, at: datetime, terms: Terms = PLAIN) -> None:
    """Change a case by an act, and nothing else: what it ends is past, and another may begin. `flush` writes it."""
    step, review = STEPS[case.kind, case.stage, act], case.review
    if act is Act.UNPUBLISH:
        review = begun(case.project, Reviewed.SUBMISSION, at)
        _replace(case, review, Outcome.UNPUBLISHED, by, at)
        review.asked, review.reason = Asked.UNPUBLISHED, terms.reason
        review.decided_at, review.decided_by = at, by.id if by else None
    assert review is not None  # noqa: S101 (every other act is about a case)
    if step.turn is None and step.outcome is not None and step.outcome is not Outcome.REJECTED:
        _replace(case, None, step.outcome, by, at)
    elif act is Act.REJECT:
        _reject(review, by, at, terms)
    elif act in {Act.RETURN, Act.REVERSE} and review.outcome is not None:
        _reopen(review, at)
    elif act is Act.RESUBMIT and review.outcome is not None:
        _replace(case, begun(case.project, Reviewed.SUBMISSION, at), Outcome.REJECTED, by, at)
    else:
        _pass_on(review, step, act, at, terms)


def _pass_on(review: Review, step: Step, act: Act, at: datetime, terms: Terms) -> None:
    """Have it be somebody else's turn, in an open case or about a rejection."""
    if act in {Act.APPEAL, Act.RESUBMIT, Act.UPHOLD} and review.outcome is None:
        leave_out(review, at)
    if act is Act.REQUEST:
        review.asked, review.requests = Asked.CHANGES, review.requests + 1
        review.decided_at = review.decided_by = None
    elif act is Act.UPHOLD:
        review.decided_at = None
        review.outcome = Outcome.REJECTED if review.outcome == Outcome.BY_RULE else review.outcome
    elif act is Act.RESUBMIT:
        review.asked = review.reason = review.decided_at = review.decided_by = None
        if review.requests > PATIENCE:
            review.place, review.measured_from = at, None
    review.turn, review.since, review.until = step.turn, at, None
    if step.turn is Turn.OWNER:
        review.until = closing(at, terms.answer_within)
    elif step.turn in {Turn.REVIEWERS, Turn.RULE}:
        review.since = review.place
        review.until = at + LONGEST if step.turn is Turn.RULE else None


def begun(project: Any, kind: Reviewed, at: datetime) -> Review:
    """A new case, in the queue."""
    values = {"kind": kind, "turn": Turn.REVIEWERS, "since": at, "place": at, "category_id": project.category_id}
    return Review(project_id=project.id, is_current=True, requests=0, **values)


def _replace(case: Case, following: Review | None, outcome: Outcome, by: Caller | None, at: datetime) -> None:
    """End the current case, if there is one, and have another one, or none, be current."""
    if case.review is not None:
        end(case.review, outcome, by, at)
        case.ended.append((case.review, case.stored))
    case.review, case.stored = following, None


def end(review: Review, outcome: Outcome, by: Caller | None, at: datetime) -> None:
    """Make a case a past one. What was written is in the log and the thread alone, where it can be erased.

    One that was rejected, and is taken up again, keeps who decided it and when.
    """
    if review.outcome is None:
        review.outcome, review.decided_at, review.decided_by = outcome, at, by.id if by else None
    review.turn = review.until = review.category = review.logo = review.changes = review.reason = None
    review.is_current = False


def _reject(review: Review, by: Caller | None, at: datetime, terms: Terms) -> None:
    """Keep a case as a rejected one, with what was written."""
    if review.kind == Reviewed.CHANGES:
        review.changes, review.category = fields.nested(changes_of(review)), None
    by_nobody = Outcome.BY_TIME if terms.is_late else Outcome.REJECTED
    review.outcome = Outcome.BY_RULE if terms.rule_id is not None else by_nobody
    review.turn = review.until = review.asked = review.measured_from = None
    review.requests, review.since, review.reason = 0, at, terms.reason
    review.decided_at, review.decided_by = at, by.id if by else None


def _reopen(review: Review, at: datetime) -> None:
    """Have what was rejected wait again, at its old place, for a review that is measured from `at`.

    A category that is gone is left out.
    """
    if review.changes is not None:
        values = dict(review.changes)
        slug = values.pop("category", None)
        review.changes, review.category = values, slug and category_slugs.present(slug)
    review.turn, review.since, review.measured_from = Turn.REVIEWERS, review.place, at
    review.outcome = review.reason = review.decided_at = review.decided_by = None


def leave_out(review: Review, at: datetime) -> None:
    """Leave the time of this turn out of the time of the review."""
    review.measured_from = (review.measured_from or review.place) + (at - review.since)


def flush(cases: Collection[Case]) -> None:
    """Write the cases: what has ended first. Raises Invalid if a category that one names is deleted at this moment."""
    db.session.flush()  # the projects
    _change_each([each for case in cases for each in case.ended])  # which names no category any more
    with refusing(fk_reviews_category_categories=lambda: Invalid.field("category", fields.NO_CATEGORY)):
        open_ = [(case.review, case.stored) for case in cases if case.review is not None]
        _change_each([each for each in open_ if each[1] is not None])
        new = [review for review, stored in open_ if stored is None]
        if len(new) == 1:
            new[0].id = add_row(Review, _values(new[0]))
        else:  # many by one statement, after which they are not changed any more
            bulk.load_dicts(Review, [*map(_values, new)])
    for case in cases:
        case.ended = []
        case.stored = None if case.review is None else _values(case.review)


def _change_each(changed: Iterable[tuple[Review, dict[str, Any] | None]]) -> None:
    """Write what differs, by one statement for all with the same differences."""
    by_names: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for review, stored in changed:
        known, values = stored or {}, _values(review)
        names = tuple(name for name, value in values.items() if value != known.get(name))
        if names:
            assert review.id is not None  # noqa: S101 (it is one of many new ones)
            row = {f"to_{name}": values[name] for name in names}
            by_names.setdefault(names, []).append({"review_id": review.id, **row})
    for names, rows in by_names.items():
        statement = _writing(names)
        if len(rows) == 1:
            statement.later(rows[0])
        else:
            db.session.connection().execute(statement.statement, rows)


@cache
def _writing(names: tuple[str, ...]) -> Prepared:
    values = {R[name]: bindparam(f"to_{name}", type_=R[name].type) for name in names}
    return Prepared(update(R.id.table).where(R.id == bindparam("review_id")).values(values))


def _values(review: Review) -> dict[str, Any]:
    return {name: getattr(review, name) for name in _NAMES}


def _facts(case: Case, step: Step, act: Act, at: datetime, changes: Mapping[int, Changes] | None) -> dict[str, Any]:
    """What the entry of the log has of its own. How long it waited is that of an approval or rejection."""
    facts: dict[str, Any] = {"from_state": case.project.status, "to_state": step.status}
    facts["waited_seconds"] = case.waited(at) if act in {Act.APPROVE, Act.REJECT} else None
    return facts if changes is None else {**facts, "changes": fields.nested(changes[case.id])}


def _write(cases: list[Case], step: Step, act: Act, at: datetime) -> None:
    """Write the state and the version of the projects."""
    if not step.raises_version:
        return
    is_moved = cases[0].project.status != step.status
    change = _change(act, is_moved, db.engine.dialect.name)
    by_votes: dict[int, list[int]] = {}
    for case in cases:  # a project that was live before keeps its first time, and so its rank
        is_first = act is Act.APPROVE and case.project.published_at is None
        by_votes.setdefault(case.project.upvotes if is_first else 0, []).append(case.id)
    for votes, ids in by_votes.items():
        change.later({"ids": ids, "moved_to": step.status, "moved_at": at, "rank": hot(votes, at)})


@cache
def _change(act: Act, is_moved: bool, dialect: str) -> Prepared:
    """The statement that writes the state and the version of projects with the same rank."""
    at = bindparam("moved_at", type_=UtcDateTime())
    values: dict[Any, Any] = {P.version: P.version + literal_column("1")}
    if is_moved:
        values |= {P.status: bindparam("moved_to"), P.updated_at: at}
    if act is Act.APPROVE:
        values[P.published_at] = func.coalesce(P.published_at, at)
        values[P.hot] = sql_case((P.published_at.is_(None), bindparam("rank")), else_=P.hot)
    elif act is Act.UNPUBLISH:
        values[P.submitted_at] = at
    return Prepared(update(P.id.table).where(among(P.id, dialect)).values(values))


def _tell(
    cases: list[Case],
    step: Step,
    act: Act,
    *,
    by: Caller | None,
    at: datetime,
    notify: list[Endpoint],
    terms: Terms,
) -> None:
    """Write what was done into the threads, and queue it for owners and webhooks."""
    projects, ids = [case.project for case in cases], [case.id for case in cases]
    event: Any = step.event
    text, writer = terms.reason, by
    if act is Act.APPROVE:
        text = None
    elif act is Act.RETURN:
        text, writer = service_words.RETURNED, None
    thread.record_each(ENTRIES[act], projects, text, by=writer, at=at)
    if outbox.wanting(event, notify):
        messages = thread.newest_ids(ids) if act is Act.REQUEST else None
        reason = text if act in {Act.REJECT, Act.UNPUBLISH} else None
        stored = catalog.all_stored(ids)
        outbox.enqueue_each(event, stored, by=by, endpoints=notify, reason=reason, messages=messages)


def closing(at: datetime, answer_within: timedelta | None) -> datetime | None:
    """When it closes if it waits for its owner from `at` on; None if it never does."""
    return None if answer_within is None else at + answer_within


def within(days: int) -> timedelta | None:
    """How long owners have to answer, by CHANGES_DAYS; None for ever."""
    return timedelta(days=days) if days else None
