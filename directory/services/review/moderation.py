"""The review: approve, reject and unpublish a project, and bulk decisions, which can also delete.

Pending projects and revisions of live projects wait for review. A decision locks the project and acts on the state
that it then has. So if two administrators make the same decision at once, only the first is logged and sent to
webhooks. The number of statements does not depend on the number of projects.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, func, literal, select, update

from directory import events
from directory.errors import DirectoryError, Duplicate, NotFound, OwnSubmission
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import MessageKind, Project, Revision, Status, now
from directory.models.base import UtcDateTime
from directory.services import audit, permissions, turns
from directory.services.catalog import catalog, counters
from directory.services.catalog.orders import hot
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import (
    approvals,
    claims,
    holding,
    last_decision,
    reports,
    revisions,
    submissions,
    thread,
    waiting,
)
from directory.services.review.cases import PAST, REQUEST, WAITING, Case, locked, with_requests
from directory.services.review.last_decision import Overtaking

KINDS = {decision: MessageKind(past) for decision, past in PAST.items()}  # of the entries in the threads
TARGETS = {"approve": Status.LIVE, "reject": Status.REJECTED, "unpublish": Status.PENDING}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a decision comes with: the reason, or the message of a request for changes; and its consequences.

    With `self_review` "refuse" nobody decides about their own. An approval moves the state if `required` people have
    approved the version. `answer_within` is how long the owner has to answer where the decision leaves something with
    the owner, None for ever. `rule_id` is the rule that decides. `only_closed` leaves out what does not wait for its
    owner, or not long enough to be closed by now.
    """

    reason: str | None = None
    self_review: str = "allow"
    required: int = 1
    answer_within: timedelta | None = None
    rule_id: int | None = None
    only_closed: bool = False


PLAIN = Terms()


def decide(
    project_id: int,
    decision: str,
    *,
    by: Caller | None,
    notify: list[Endpoint],
    terms: Terms = PLAIN,
    versions: Container[int] | None = None,
) -> None:
    """Approve or reject a pending project or revision, ask for changes of it, or unpublish a live project, and notify.

    Approving or rejecting twice changes nothing, not even the reason. An unpublished project waits for its owner,
    outside of the queue, and keeps its votes and the time of its first publication; so does what changes are asked of.
    The reason is logged, a message is not; the owner gets either, and webhooks get reasons, except for an approval.
    `versions` are the versions that the decision is about; None means any. They are not checked if the decision was
    already made. An approval that is not enough is kept (`approvals`); the operator's, whose `by` is None, is enough.
    Raises Unauthenticated, NotFound, OwnSubmission, PreconditionFailed, InvalidTransition (the project is in another
    state), and Duplicate if the owner has another project with the URL that would be approved.
    """
    if by is not None:
        require_active(by)
    refusal = _decide(decision, {project_id: versions}, by=by, notify=notify, terms=terms)[project_id]
    if refusal is not None:
        raise refusal


def decide_many(
    decision: str,
    wanted: Mapping[int, int | None],
    *,
    by: Caller,
    notify: list[Endpoint],
    terms: Terms = PLAIN,
) -> dict[int, str | None]:
    """Approve, reject, unpublish or delete each of the projects, or ask for changes of it.

    `wanted` maps each id to the version that the decision is about, or None for any. The result maps each id to None if
    the decision is made or the approval is kept, otherwise to the code of the refusal: not_found, own_submission,
    precondition_failed, invalid_transition or duplicate. One's own can always be deleted. Raises Unauthenticated.
    """
    require_active(by)
    versions = {project_id: None if version is None else (version,) for project_id, version in wanted.items()}
    refusals = _decide(decision, versions, by=by, notify=notify, terms=terms)
    return {project_id: None if refusal is None else refusal.code for project_id, refusal in refusals.items()}


def close(most: int, *, notify: list[Endpoint]) -> int:
    """Reject at most `most` projects and revisions that their owners did not answer in time; return their number.

    All of one transaction had the same time to answer, which the reason names, so there may be more until it is 0.
    Nobody has decided it.
    """
    at = now()
    columns = select(Project.id, Project.owner_since, Project.closes_at).where(turns.on_owner(Project))
    revised = select(Revision.project_id, Revision.owner_since, Revision.closes_at)
    revised = revised.where(turns.revision_on_owner(Revision))
    due: list[Any] = [
        each
        for query, table in ((columns, Project), (revised, Revision))
        for each in db.session.execute(query.where(table.closes_at <= at).order_by(table.closes_at).limit(most))
    ]
    due = sorted(due, key=lambda each: each.closes_at)[:most]
    reasons = {each[0]: waiting.reason_of(each.owner_since, each.closes_at) for each in due}
    reason = next(iter(reasons.values()), None)
    together = [project_id for project_id, each in reasons.items() if each == reason]
    if together:
        terms = Terms(reason, only_closed=True)
        _decide("reject", dict.fromkeys(together), by=None, notify=notify, terms=terms)
    return len(together)


def reject_by_rule(project_id: int, rule_id: int, reason: str, *, notify: list[Endpoint]) -> None:
    """Reject a pending project, or the waiting changes of a live one, with the reason of a rule. Nobody has decided it.

    The calling function has stored the project, or what an edit has changed in it, in the same transaction.
    """
    _decide("reject", {project_id: None}, by=None, notify=notify, terms=Terms(reason, rule_id=rule_id))


def _decide(
    decision: str,
    wanted: Mapping[int, Container[int] | None],
    *,
    by: Caller | None,
    notify: list[Endpoint],
    terms: Terms,
) -> dict[int, DirectoryError | None]:
    """Apply a decision to each project to which it applies, and return the refusal or None for each.

    A project outside of the categories that `by` may review is not found. Projects are locked in the order of their
    ids, and then the counters that they share, so that two batches cannot deadlock.
    """
    reason = terms.reason
    cases = [case for case in locked(wanted) if by is None or permissions.may(by, "review", case.project.category_id)]
    cases = with_requests(cases) if decision == REQUEST else cases
    refusals: dict[int, DirectoryError | None] = dict.fromkeys(wanted, NotFound())
    for each in cases:
        is_own = decision != "delete" and permissions.is_refused_own(by, each.project.owner_id, terms.self_review)
        refusals[each.id] = OwnSubmission() if is_own else each.refusal(decision, wanted[each.id], reason)
    due = [case for case in cases if refusals[case.id] is None and not case.is_decided(decision, reason)]
    due = [case for case in due if not terms.only_closed or case.is_closed]
    return refusals | (_carry_out(due, decision, by=by, notify=notify, terms=terms) if due else {})


def _carry_out(
    due: list[Case], decision: str, *, by: Caller | None, notify: list[Endpoint], terms: Terms
) -> dict[int, DirectoryError | None]:
    """Carry out a decision about locked projects to which it applies; return the refusals."""
    if decision == "delete":
        assert by is not None  # noqa: S101 (the command line deletes nothing)
        submissions.delete_each([case.project for case in due], by=by, notify=notify, reason=terms.reason)
        return {}
    if decision == REQUEST:
        _request(due, terms, by=by, notify=notify)
        return {}
    _lock_counters(due, decision)
    if decision != "approve" or terms.required == 1 or by is None:
        return _apply(due, decision, by=by, notify=notify, terms=replace(terms, required=1))[1]
    return _approve(due, by=by, notify=notify, terms=terms)


def _approve(due: list[Case], *, by: Caller, notify: list[Endpoint], terms: Terms) -> dict[int, DirectoryError | None]:
    """Add an approval to each of the projects, and move those that have enough; return the refusals."""
    at = now()
    given = approvals.give([case.id for case in due], by=by, at=at)
    moved, refusals = _apply(due, "approve", by=by, notify=notify, terms=terms)
    if refused := given & refusals.keys():
        approvals.take_back(refused, by=by)
    if kept := given - moved - refused:
        approvals.record([case.project for case in due if case.id in kept], by=by, at=at, reason=terms.reason)
        claims.end(kept)
        holding.end(kept & {case.id for case in due if case.is_held})
    return refusals


def _apply(
    due: list[Case], decision: str, *, by: Caller | None, notify: list[Endpoint], terms: Terms
) -> tuple[set[int], dict[int, DirectoryError | None]]:
    """Make the decision about each project and revision; return the ids of those that it moved, and the refusals."""
    revised = {case.id: case.revision for case in due if case.revision is not None and case.settles(decision)}
    projects = [case.project for case in due if case.id not in revised]
    taken: set[int] = set()
    moved = set(revised)
    if revised and decision == "approve":
        given: Any = {"reason": terms.reason, "required": terms.required}
        moved, taken = revisions.approve_each(revised, by=by, notify=notify, **given)
    elif revised:
        revisions.reject_each(revised, by=by, notify=notify, reason=terms.reason, rule_id=terms.rule_id)
    moved |= _move(projects, decision, by=by, notify=notify, terms=terms)
    return moved, {project_id: Duplicate(["url"], revisions.TAKEN) for project_id in taken}


def _lock_counters(cases: list[Case], decision: str) -> None:
    """Lock the counters that the decisions change, including those of the categories and tags in revisions."""
    held = [revisions.changes_of(case.revision) for case in cases] if decision == "approve" else []
    slugs = [changes["category"] for changes in held if "category" in changes]
    tags = [tag for changes in held for tag in changes.get("tags", ())]
    counters.lock([case.id for case in cases], slugs=slugs, tags=tags)


def _request(cases: list[Case], terms: Terms, *, by: Caller | None, notify: list[Endpoint]) -> None:
    """Have locked pending projects and revisions wait for their owners, with the message in their threads."""
    at, event, projects = now(), events.DECIDED[REQUEST], [case.project for case in cases]
    ids = [project.id for project in projects]
    waits = {"owner_since": at, "closes_at": waiting.closing(at, terms.answer_within), "held_until": None}
    pending = [case.id for case in cases if case.state == Status.PENDING]
    revised = [case.id for case in cases if case.state == WAITING]
    for table, key, some in ((Project, Project.id, pending), (Revision, Revision.project_id, revised)):
        if some:
            values = {**waits, "change_requests": table.change_requests + 1}
            modify(update(table).where(key.in_(some)).values(values))
    raising = update(Project).where(Project.id.in_(ids))
    modify(raising.values(version=Project.version + 1, **last_decision.OVERTAKEN))
    last_decision.end_appeals(projects, Overtaking.DECISION, by=by, at=at)
    states = [(project, audit.unmoved(project)) for project in projects]
    audit.record_each(states, by=by, action=event, at=at)
    thread.record_each(KINDS[REQUEST], projects, terms.reason, by=by, at=at)
    if outbox.wanting(event, notify):
        messages = thread.newest_ids(ids)
        outbox.enqueue_each(event, catalog.all_stored(ids), by=by, endpoints=notify, messages=messages)


def _move(projects: list[Any], decision: str, *, by: Caller | None, notify: list[Endpoint], terms: Terms) -> set[int]:
    """Move locked projects to another state, those with enough approvals, and return their ids.

    A trigger deletes the revision of a project that is no longer live.
    """
    if not projects:
        return set()
    at, event, target, reason = now(), events.DECIDED[decision], TARGETS[decision], terms.reason
    ids = [project.id for project in projects]
    values: dict[str, Any] = {"status": target, "updated_at": at, "version": Project.version + 1}
    values["rejection_reason"] = None if target is Status.LIVE else reason
    values |= waiting.ENDED | (last_decision.OVERTAKEN if target is Status.LIVE else last_decision.made(by, at))
    if target is Status.LIVE:
        values |= _published(projects, at)
    elif target is Status.PENDING:
        values |= {"submitted_at": at, "owner_since": at, "closes_at": waiting.closing(at, terms.answer_within)}
        reports.mail_acted(ids, notify=notify)
    moving = update(Project).where(Project.id.in_(ids), approvals.are_enough(terms.required)).values(values)
    moved = set(db.session.scalars(moving.returning(Project.id), execution_options=UNSYNCHRONISED))
    if not moved:
        return moved
    projects = [project for project in projects if project.id in moved]
    facts = {"action": event, "at": at, "to_state": target, "reason": reason, "rule_id": terms.rule_id}
    moves = [(each, {"from_state": each.status, "waited_seconds": _waited(each, at)}) for each in projects]
    audit.record_each(moves, by=by, **facts)
    last_decision.end_appeals(projects, Overtaking.DECISION, by=by, at=at)
    shown = None if target is Status.LIVE else reason
    thread.record_each(KINDS[decision], projects, shown, by=by, at=at)
    if outbox.wanting(event, notify):
        outbox.enqueue_each(event, catalog.all_stored(sorted(moved)), by=by, endpoints=notify, reason=shown)
    return moved


def _waited(project: Any, at: datetime) -> float | None:
    """How long the project has waited in the queue; None if it did not."""
    return waiting.seconds(project, at) if project.status == Status.PENDING else None


def _published(projects: list[Any], at: datetime) -> dict[str, Any]:
    """The columns of publication. What was published before keeps its time, and thereby its rank."""
    ranks = {project.upvotes: hot(project.upvotes, at) for project in projects}
    first = Project.published_at.is_(None)
    return {
        "published_at": func.coalesce(Project.published_at, literal(at, UtcDateTime())),
        "hot": case((first, case(ranks, value=Project.upvotes)), else_=Project.hot),
    }
