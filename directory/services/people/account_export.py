"""The export of an account: all data that the service has about a member."""

from typing import Any

from sqlalchemy import case, or_, select

from directory.db.paging import Window
from directory.extensions import db
from directory.models import Project, Status, Upvote, now
from directory.services import audit
from directory.services.accounts import accounts, api_tokens, sessions
from directory.services.catalog import catalog
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller
from directory.services.people import kept_reports
from directory.services.review import thread
from directory.services.sign_in import ways_in
from directory.services.votes.voting import COUNTS

# Of one export, because the answer is not streamed.
PROJECTS_MAX, VOTES_MAX, MESSAGES_MAX, REPORTS_MAX = 1_000, 10_000, 2_000, 1_000
AT_ONCE = 100


def export(by: Caller, *, is_limited: bool = True, naming: bool = False) -> dict[str, Any]:
    """The caller's account, projects with their history, messages, votes, reports, sessions, tokens, and so on.

    With `is_limited`, only the newest PROJECTS_MAX projects, VOTES_MAX votes for the newest projects, and the newest
    MESSAGES_MAX messages and REPORTS_MAX reports are included; `complete` is false if any are left out. An operator
    exports a user's account without limits. With `naming` messages have the names of reviewers.
    """
    exported_at = now()
    projects, has_all_projects = _projects(by, PROJECTS_MAX if is_limited else None)
    votes, has_all_votes = _votes(by, VOTES_MAX if is_limited else None)
    messages, has_all_messages = thread.exported(by, MESSAGES_MAX if is_limited else None, naming=naming)
    reports, has_all_reports = kept_reports.exported(by, REPORTS_MAX if is_limited else None)
    return {
        "exported_at": exported_at,
        "complete": has_all_projects and has_all_votes and has_all_messages and has_all_reports,
        "account": accounts.get(by.id),
        "projects": projects,
        "messages": messages,
        "votes": votes,
        "reports": reports,
        "sessions": sessions.listed(by),
        "tokens": api_tokens.listed(by),
        "identities": ways_in.identities(by),
        "passkeys": ways_in.passkeys(by),
    }


def _projects(by: Caller, most: int | None) -> tuple[list[dict[str, Any]], bool]:
    """The caller's projects, newest first, as their owner sees them; and whether the list is complete."""
    projects: list[dict[str, Any]] = []
    window = Window(AT_ONCE)
    while True:
        page = catalog.page(Filters(owner_id=by.id), "newest", window, viewer=by)
        histories = audit.timelines([item["id"] for item in page.items])
        projects += [{**item, "history": histories[item["id"]]} for item in page.items]
        if page.next is None or (most is not None and len(projects) >= most):
            return projects, page.next is None
        window = Window(AT_ONCE, page=None, position=page.next)


def _votes(by: Caller, most: int | None) -> tuple[list[Any], bool]:
    """The caller's votes, newest project first; and whether the list is complete.

    `counted` is true for a vote that counts. The title is left out if the caller may not see the project.
    """
    is_seen = or_(Project.status == Status.LIVE, Project.owner_id == by.id)
    title = case((is_seen, Project.title)).label("title")
    columns = (Upvote.project_id, title, Upvote.created_at, COUNTS.label("counted"))
    query = select(*columns).join(Project, Project.id == Upvote.project_id).where(Upvote.user_id == by.id)
    votes = list(db.session.execute(query.order_by(Upvote.project_id.desc()).limit(most and most + 1)))
    return votes[:most], most is None or len(votes) <= most
