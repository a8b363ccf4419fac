"""Submissions, edits and registrations by members: stored, and judged by the rules in the same transaction."""

from collections.abc import Mapping
from typing import Any

from directory.extensions import db
from directory.models import Effect, Project, Reviewed, User, now
from directory.services import permissions
from directory.services.accounts import accounts
from directory.services.catalog import fields
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.pictures import logos
from directory.services.review import moderation, submissions
from directory.services.review.case import Case, Terms, advance, changes_of, current, flush
from directory.services.review.steps import Act, Stage
from directory.services.rules import judging, texts
from directory.services.rules.judging import Judgement


def refusals(given: Mapping[str, Any]) -> list[dict[str, str]]:
    """As `fields.refusals`. What readers see of a description is made here, because in a transaction it takes long."""
    if given.get("description"):
        texts.seen(given["description"])
    return fields.refusals(given)


def submit(given: dict[str, Any], *, by: Caller, notify: list[Endpoint]) -> int:
    """Add a pending project as `submissions.submit` does, and have it judged unless its owner is an administrator.

    Raises what that raises.
    """
    project_id = submissions.submit(given, by=by, notify=notify)
    if not permissions.may(by, "administer"):
        values = {**fields.filled(given), "pictures": []}
        judgement = judging.submission(values, project_id=project_id, by=by, at=now())
        _act(judgement, project_id, 1, Reviewed.SUBMISSION, by=by, notify=notify)
    return project_id


def edit(project_id: int, given: dict[str, Any], *, by: Caller, notify: list[Endpoint], **terms: Any) -> None:
    """Change a project as `submissions.edit` does, and have what then waits for review judged.

    An administrator's edit is not judged. Raises what that raises.
    """
    case = submissions.edit(project_id, given, by=by, notify=notify, **terms)
    if "logo" in given or terms.get("pictures"):
        logos.drop_unused(by.id)
    if case is not None and not permissions.may(by, "administer"):
        is_live = case.kind is Reviewed.CHANGES
        judgement = judging.edit(_values(case), project_id=project_id, by=by, at=now(), is_live=is_live)
        _act(judgement, project_id, case.project.version, case.kind, by=by, notify=notify)


def register(
    username: str, email: str, password_hash: str, *, is_confirmed: bool = False, must_verify: bool = False
) -> User:
    """Open an account as `accounts.register` does, unless a rule refuses it.

    Raises RegistrationRefused, which the calling function counts in a transaction of its own (`judging.count`), and
    what `accounts.register` raises.
    """
    judgement = judging.registration(email, is_confirmed=is_confirmed)
    user = accounts.register(username, email, password_hash, must_verify=must_verify)
    judging.record(judgement, account_id=user.id)
    return user


def _values(case: Case) -> dict[str, Any]:
    """The values of a project as they are reviewed."""
    shown = {name: getattr(case.project, name) for name in fields.NAMES if name != "category"}
    return shown | changes_of(case.review)


def _act(
    judgement: Judgement, project_id: int, version: int, kind: Reviewed, *, by: Caller, notify: list[Endpoint]
) -> None:
    """Store a judgement, and hold or reject what was judged if a rule says so. Another edit makes no hold longer."""
    acting = judgement.acting
    is_rejected = acting is not None and acting.effect is Effect.REJECT
    of_changes = kind is Reviewed.CHANGES
    subject = judging.Subject(project_id, of_revision=of_changes, version=version + is_rejected)
    judging.record(judgement, account_id=by.id, of=subject)
    if acting is not None and acting.effect is Effect.HOLD:
        case = current(db.session.get_one(Project, project_id))
        if case.stage is Stage.QUEUED:
            advance(case, Act.HOLD, by=None, at=judgement.at)
            flush([case])
    elif acting is not None and is_rejected:
        terms = Terms(acting.reason or "", rule_id=acting.id)
        moderation.decide_by_nobody(Act.REJECT, [project_id], notify=notify, terms=terms)
