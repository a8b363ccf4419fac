"""The review of projects: the queue, a project with its background, decisions, and the history of a project.

Reviewers have these routes under /api/review, for the projects of their categories, and administrators have most of
them under /api/admin too.
"""

from typing import Any

from flask import current_app
from marshmallow import Schema

from directory.api.blueprints import admin, both, review
from directory.api.schemas.audit import AuditPage, HistoryQuery
from directory.api.schemas.paging import PageQuery
from directory.api.schemas.review import (
    ChangesInput,
    DecisionList,
    DecisionsInput,
    QueueItem,
    QueuePage,
    QueueQuery,
    QueueSummary,
    ReasonInput,
    ReviewDecisionsInput,
    ReviewDetail,
    ReviewedProject,
)
from directory.errors import Duplicate, InvalidTransition, OwnSubmission, PreconditionFailed
from directory.http import pagination
from directory.http.access import admin_required, decides, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.problem_kinds import KINDS
from directory.http.project_lists import listing, order
from directory.http.receivers import subscribers
from directory.http.serialization import add_members
from directory.http.validation import JsonBody
from directory.services import audit, permissions
from directory.services.catalog import additions, catalog
from directory.services.catalog.filters import review_scope
from directory.services.review import approvals, case, holding, moderation
from directory.services.review.steps import Act

QUEUE_FILTERS = {*QueueQuery().fields, "added"} - {*PageQuery().fields, "sort"}
DECISIONS, REVIEW_DECISIONS = DecisionsInput(), ReviewDecisionsInput()


@both("GET", "/projects")
@documented(headers=("Link",))
@operation(query=QueueQuery(), answer=QueuePage(), tier="read")
def queue(query: dict[str, Any]) -> Any:
    """List projects of every state; with waiting=true the review queue, oldest first.

    The queue has the pending projects, and the live ones with changes that wait for review; what rules hold is not in
    it, but in the list with held=true. `status` narrows it to one of the two, and so does `kind`. Filters that
    contradict each other find nothing.
    """
    query["added"] = {}
    add_members(QueueQuery, [query], by=caller())
    filters = review_scope(by=caller(), **{name: query.get(name) for name in QUEUE_FILTERS})
    waits = filters.waiting or filters.with_owner or filters.in_appeal or filters.held or filters.status == "pending"
    sort = "oldest" if waits and query.get("sort") is None else order(query)
    page, headers = listing(filters, sort, query, reviews=True)
    _add_background(page["items"], QueueItem)
    return page, headers


def _add_background(projects: list[dict[str, Any]], schema: type[Schema]) -> None:
    """Add what a reviewer should know of projects in answers, who has approved them, and what extras add."""
    additions.add_background(projects, by=caller())
    approvals.add(projects, current_app.config["APPROVALS_REQUIRED"])
    add_members(schema, projects, by=caller())


@review.get("/projects/<id:project_id>")
@reviewer_required
@operation(answer=ReviewDetail(), tier="read", etag=True)
def project(project_id: int) -> Any:
    """Show a project of any state as a reviewer sees it, with its background as in the list.

    A project outside of the reviewer's categories is not found.
    """
    shown = catalog.for_review(project_id, by=caller())
    _add_background([shown], ReviewDetail)
    return shown


@review.get("/summary")
@reviewer_required
@operation(answer=QueueSummary(), tier="read")
def summary() -> Any:
    """Show how much waits for review in the categories of the reviewer, and since when."""
    by, required = caller(), current_app.config["APPROVALS_REQUIRED"]
    short = approvals.short_of_people(required, permissions.categories(by))
    answer = {**additions.summary(by), "too_few_reviewers": short}
    add_members(QueueSummary, [answer], by=by)
    return answer


@both("PUT", "/projects/<id:project_id>/approve")
@decides
@documented(raises=(InvalidTransition, PreconditionFailed, Duplicate, OwnSubmission))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ReviewedProject())
def approve(project_id: int, body: dict[str, Any]) -> Any:
    """Make a pending project live, or apply the waiting changes of a live one; the reason is only kept in the log.

    Webhooks are notified of either. If the owner meanwhile has another project with the new URL, the answer is
    `duplicate`, and the changes still wait. A retry is harmless, also with an older `If-Match`: approving a live
    project that has no waiting changes has no effect and sends no notification. If two administrators decide at once,
    one of them wins. With `If-Match` a version that the reviewer has not seen is not published. The
    other decisions work alike. Where several people have to approve (APPROVALS_REQUIRED), the project waits until the
    last of them does, and `approvals` says who has. The same person again changes nothing. An edit voids the approvals.
    """
    return _decided(project_id, "approve", body)


@both("PUT", "/projects/<id:project_id>/reject")
@decides
@documented(raises=(InvalidTransition, PreconditionFailed, OwnSubmission))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ReviewedProject())
def reject(project_id: int, body: dict[str, Any]) -> Any:
    """Reject a pending project, or the waiting changes of a live one, with an optional reason.

    A live project stays as it is. The owner sees the reason.
    """
    return _decided(project_id, "reject", body)


@both("PUT", "/projects/<id:project_id>/unpublish")
@decides
@documented(raises=(InvalidTransition, PreconditionFailed, OwnSubmission))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ReviewedProject())
def unpublish(project_id: int, body: dict[str, Any]) -> Any:
    """Take a live project down. It waits for its owner: an edit that changes something gives it back to the queue.

    Its votes and the time of its first publication stay. Waiting changes are deleted. The owner sees the reason.
    """
    return _decided(project_id, "unpublish", body)


@both("PUT", "/projects/<id:project_id>/request-changes")
@decides
@documented(raises=(InvalidTransition, PreconditionFailed, OwnSubmission))
@operation(body=JsonBody(ChangesInput()), answer=ReviewedProject())
def request_changes(project_id: int, body: dict[str, Any]) -> Any:
    """Ask the owner to change a pending project, or the waiting changes of a live one.

    It then waits for its owner, outside of the queue, and its `review` says so. An edit of the owner that changes
    something, or a message with `resubmit`, gives it back to its old place; from the fourth request on it comes back at
    the end. Without an answer it is rejected at `closes_at`. Reviewers may decide meanwhile. The same request again
    changes nothing; another one is refused while it waits for its owner: write a message.
    """
    return _decided(project_id, Act.REQUEST, body)


@review.put("/projects/<id:project_id>/release")
@reviewer_required
@decides
@documented(raises=(OwnSubmission,))
@operation(answer=ReviewedProject())
def release_from_hold(project_id: int) -> Any:
    """Put what a rule holds or has rejected, a pending project or the changes of a live one, into the queue.

    It takes its old place there. What was held gets no other version. What a rule has rejected goes back unless a
    person has decided since, whether or not owners may appeal; an open appeal ends, and the owner is told. All else
    stays as it is.
    """
    self_review = current_app.config["SELF_REVIEW"]
    holding.release(project_id, by=caller(), notify=subscribers(), self_review=self_review)
    return after_decision(project_id)


def _decided(project_id: int, decision: str, body: dict[str, Any]) -> Any:
    by, notify, versions = caller(), subscribers(), versions_allowed()
    moderation.decide(project_id, decision, by=by, notify=notify, terms=_terms(body), versions=versions)
    return after_decision(project_id)


def after_decision(project_id: int) -> dict[str, Any]:
    """A project as the caller has just left it."""
    # Without a check of access: an approved revision may have moved it out of the reviewer's categories.
    projects = catalog.many([project_id], viewer=caller())
    approvals.add([*projects.values()], current_app.config["APPROVALS_REQUIRED"])
    return projects[project_id]


@review.delete("/projects/<id:project_id>/approval")
@reviewer_required
@operation(status=204)
def withdraw_approval(project_id: int) -> Any:
    """Take back the caller's own approval of what still waits for others to approve."""
    approvals.withdraw(project_id, by=caller())


def _terms(body: dict[str, Any]) -> case.Terms:
    """What each decision comes with, by the body and the settings."""
    config = current_app.config
    reason, answer_within = body.get("message", body.get("reason")), case.within(config["CHANGES_DAYS"])
    return case.Terms(reason, config["SELF_REVIEW"], config["APPROVALS_REQUIRED"], answer_within)


@admin.post("/projects/decisions", endpoint="decide")
@admin_required
@operation(body=JsonBody(DECISIONS), answer=DecisionList())
def decide_or_delete(body: dict[str, Any]) -> Any:
    """Approve, reject, unpublish or delete up to a hundred projects at once, or ask for changes of them.

    Each item of the answer has its own status. A project that has another version than the one given is not changed
    (412), so that a reviewer decides only about what they have seen. An approval or rejection that was made before is
    200, so that a request whose answer was lost can be sent again. Projects can be deleted in every state. The waiting
    changes of a live project are approved and rejected as a pending project is. An approval that is kept, while others
    have to approve too, is 202.
    """
    return _decide(body)


@review.post("/projects/decisions")
@reviewer_required
@operation(body=JsonBody(REVIEW_DECISIONS), answer=DecisionList())
def decide(body: dict[str, Any]) -> Any:
    """Approve, reject or unpublish up to a hundred projects at once, or ask for changes of them.

    Each item of the answer has its own status. A project outside of the reviewer's categories is `not_found` (404). A
    project that has another version than the one given is not changed (412). An approval or rejection that was made
    before is 200, so that a request whose answer was lost can be sent again. The waiting changes of a live project are
    approved and rejected as a pending project is. An approval that is kept, while others have to approve too, is 202.
    """
    return _decide(body)


def _decide(body: dict[str, Any]) -> Any:
    wanted = DECISIONS.wanted(body)
    refusals = moderation.decide_many(body["decision"], wanted, by=caller(), notify=subscribers(), terms=_terms(body))
    shown = [project_id for project_id, code in refusals.items() if code in {None, PreconditionFailed.code}]
    projects = catalog.many(shown, viewer=caller())
    approvals.add([*projects.values()], current_app.config["APPROVALS_REQUIRED"])
    return {"items": [_outcome(one, body["decision"], refusals[one], projects.get(one)) for one in wanted]}


def _outcome(project_id: int, decision: str, code: str | None, project: dict[str, Any] | None) -> dict[str, Any]:
    outcome: dict[str, Any] = {"id": project_id, "status": 200 if code is None else KINDS[code].status}
    outcome |= {} if code is None else {"code": code}
    if project is None:
        return outcome
    if code is None and decision == "approve" and project["standing"].can_be_approved:
        outcome["status"] = 202
    warned = {"warnings": [additions.OWNER_SUSPENDED]} if additions.is_of_suspended(project) else {}
    return {**outcome, "project": project, **warned}


@both("GET", "/projects/<id:project_id>/history")
@operation(query=HistoryQuery(), answer=AuditPage(), tier="read")
def history(project_id: int, query: dict[str, Any]) -> Any:
    """List the events of a project, and of other submissions of its URL.

    A reviewer of some categories gets those of other submissions in these categories.
    """
    window = pagination.window(query)
    page = audit.history(project_id, window, categories=permissions.categories(caller()))
    return pagination.by_cursor(page, window)
