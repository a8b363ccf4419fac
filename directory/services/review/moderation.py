"""The review: approve, reject and unpublish a project, ask for changes, and bulk decisions, which can also delete.

A decision locks the project and acts on the state that it then has. So if two administrators make the same decision at
once, only the first is logged and sent to webhooks. The number of statements does not depend on the number of projects.
"""

from collections.abc import Collection, Container, Mapping

from directory.errors import DirectoryError, Duplicate, InvalidTransition, NotFound, OwnSubmission, PreconditionFailed
from directory.models import Reviewed, now
from directory.services import permissions
from directory.services.catalog import counters
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import approvals, revisions, submissions, thread
from directory.services.review.case import PLAIN, Case, Terms, advance, changes_of, flush, locked, move
from directory.services.review.steps import Act, Stage

DELETE = "delete"
# The stages in which a decision was already made.
ALREADY: dict[str, set[Stage]] = {Act.APPROVE: {Stage.NONE}, Act.REJECT: {Stage.REJECTED, Stage.APPEALED}}
PAST = {
    Act.APPROVE: "approved", Act.REJECT: "rejected", Act.UNPUBLISH: "unpublished", Act.REQUEST: "asked to be changed",
}  # fmt: skip
Refusals = dict[int, DirectoryError | None]


def decide(
    project_id: int,
    decision: str,
    *,
    by: Caller | None,
    notify: list[Endpoint],
    terms: Terms = PLAIN,
    versions: Container[int] | None = None,
) -> None:
    """Approve or reject a pending project or its changes, ask for changes of it, or unpublish a live one, and notify.

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


def decide_by_nobody(decision: str, project_ids: Collection[int], *, notify: list[Endpoint], terms: Terms) -> None:
    """Make a decision of the service about projects to which it applies, because a time is over."""
    _decide(decision, dict.fromkeys(project_ids), by=None, notify=notify, terms=terms)


def _decide(
    decision: str,
    wanted: Mapping[int, Container[int] | None],
    *,
    by: Caller | None,
    notify: list[Endpoint],
    terms: Terms,
) -> Refusals:
    """Apply a decision to each project to which it applies, and return the refusal or None for each.

    A project outside of the categories that `by` may review is not found. Projects are locked in the order of their
    ids, and then the counters that they share, so that two batches cannot deadlock.
    """
    reason = terms.reason
    cases = [case for case in locked(wanted) if by is None or permissions.may(by, "review", case.project.category_id)]
    if decision == Act.REQUEST:
        _add_requests(cases)
    refusals: Refusals = dict.fromkeys(wanted, NotFound())
    due: list[Case] = []
    for case in cases:
        # A caller whose answer was lost may retry, as RFC 9110 section 13.1.1 allows: of requests the same one.
        is_made = case.request == reason if decision == Act.REQUEST else case.stage in ALREADY.get(decision, ())
        is_own = decision != DELETE and permissions.is_refused_own(by, case.project.owner_id, terms.self_review)
        refusal = None if is_made else _refusal(case, decision, wanted[case.id])
        refusals[case.id] = OwnSubmission() if is_own else refusal
        if not (is_made or refusals[case.id]) and (not terms.is_late or case.is_late):
            due.append(case)
    if due and decision == DELETE:
        assert by is not None  # noqa: S101 (the command line deletes nothing)
        submissions.delete_each([case.project for case in due], by=by, notify=notify, reason=reason)
    elif due:
        refusals |= _carry_out(due, Act(decision), by=by, notify=notify, terms=terms)
    return refusals


def _add_requests(cases: list[Case]) -> None:
    """Add the messages by which changes were asked for to the cases that wait for their owners because of that."""
    asked = {case.id: case.review.since for case in cases if case.review and case.stage is Stage.ASKED}
    requests = thread.requests(asked)
    for case in cases:
        case.request = requests.get(case.id)


def _refusal(case: Case, decision: str, versions: Container[int] | None) -> DirectoryError | None:
    """Why a decision that was not made before is refused; None if it can be made."""
    if versions is not None and case.project.version not in versions:
        return PreconditionFailed()
    if decision == DELETE or (case.request is None and case.step(Act(decision)) is not None):
        return None
    return InvalidTransition(case.project.status, PAST[Act(decision)])


def _carry_out(due: list[Case], act: Act, *, by: Caller | None, notify: list[Endpoint], terms: Terms) -> Refusals:
    """Carry out a decision about locked projects to which it applies; return the refusals."""
    if act is not Act.REQUEST:  # the counters of the categories and tags in changes, too
        held = [changes_of(case.review) for case in due] if act is Act.APPROVE else []
        slugs = [changes["category"] for changes in held if "category" in changes]
        tags = [tag for changes in held for tag in changes.get("tags", ())]
        counters.lock([case.id for case in due], slugs=slugs, tags=tags)
    if act is not Act.APPROVE:
        move(due, act, by=by, notify=notify, terms=terms)
        return {}
    if terms.required == 1 or by is None:
        return _approve(due, by=by, notify=notify, terms=terms)
    return _give(due, by=by, notify=notify, terms=terms)


def _give(due: list[Case], *, by: Caller, notify: list[Endpoint], terms: Terms) -> Refusals:
    """Add an approval to each of the projects, and approve those that have enough; return the refusals."""
    at, ids = now(), [case.id for case in due]
    added = approvals.give(ids, by=by, at=at)
    enough = approvals.enough(ids, terms.required)
    refusals = _approve([case for case in due if case.id in enough], by=by, notify=notify, terms=terms)
    if refused := added & refusals.keys():
        approvals.take_back(refused, by=by)
    if kept := [case for case in due if case.id in added - enough]:
        approvals.record([case.project for case in kept], by=by, at=at, reason=terms.reason)
        for case in kept:
            if case.stage is Stage.HELD:
                advance(case, Act.RELEASE, by=by, at=at)
        flush(kept)
    return refusals


def _approve(due: list[Case], *, by: Caller | None, notify: list[Endpoint], terms: Terms) -> Refusals:
    """Approve submissions, and apply the changes of live projects; return the refusals of addresses that are taken."""
    of_live = [case for case in due if case.kind is Reviewed.CHANGES]
    submitted = [case for case in due if case.kind is Reviewed.SUBMISSION]
    changes = revisions.apply(of_live, by=by, notify=notify) if of_live else {}
    applied = [case for case in of_live if case.id in changes]
    move(applied, Act.APPROVE, by=by, notify=notify, terms=terms, changes=changes)
    move(submitted, Act.APPROVE, by=by, notify=notify, terms=terms)
    return {case.id: Duplicate(["url"], revisions.TAKEN) for case in of_live if case.id not in changes}
