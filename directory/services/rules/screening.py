"""Submissions, edits and registrations by members: stored, and judged by the rules in the same transaction."""

from collections.abc import Mapping
from typing import Any

from directory.extensions import db
from directory.models import Effect, Project, Revision, User, now
from directory.services import permissions
from directory.services.accounts import accounts
from directory.services.catalog import fields
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.pictures import logos
from directory.services.review import holding, moderation, revisions, submissions
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
        _act(judgement, project_id, 1, None, by=by, notify=notify)
    return project_id


def edit(project_id: int, given: dict[str, Any], *, by: Caller, notify: list[Endpoint], **terms: Any) -> None:
    """Change a project as `submissions.edit` does, and have what then waits for review judged.

    An administrator's edit is not judged. Raises what that raises.
    """
    waits = submissions.edit(project_id, given, by=by, notify=notify, **terms)
    if "logo" in given or terms.get("pictures"):
        logos.drop_unused(by.id)
    if waits is not None and not permissions.may(by, "administer"):
        project, revision = waits
        values = _values(project, revision)
        judgement = judging.edit(values, project_id=project_id, by=by, at=now(), is_live=revision is not None)
        _act(judgement, project_id, project.version, revision, by=by, notify=notify)


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


def _values(project: Project, revision: Revision | None) -> dict[str, Any]:
    """The values of a project as they are reviewed."""
    shown = {name: getattr(project, name) for name in fields.NAMES if name != "category"}
    return shown | revisions.changes_of(revision)


def _act(
    judgement: Judgement,
    project_id: int,
    version: int,
    revision: Revision | None,
    *,
    by: Caller,
    notify: list[Endpoint],
) -> None:
    """Store a judgement, and hold or reject what was judged if a rule says so."""
    acting = judgement.acting
    is_rejected = acting is not None and acting.effect is Effect.REJECT
    subject = judging.Subject(project_id, of_revision=revision is not None, version=version + is_rejected)
    judging.record(judgement, account_id=by.id, of=subject)
    if acting is not None and acting.effect is Effect.HOLD:
        holding.hold(db.session.get_one(Project, project_id), revision, at=judgement.at)
    elif acting is not None and is_rejected:
        moderation.reject_by_rule(project_id, acting.id, acting.reason or "", notify=notify)
