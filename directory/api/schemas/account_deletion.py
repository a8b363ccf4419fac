"""Leaving: the account as its user takes it along, and its deletion."""

from marshmallow import fields

from directory.api.schemas.accounts import Secret, SessionOutput, TokenOutput, UserOutput
from directory.api.schemas.passkeys import PasskeyOutput
from directory.api.schemas.projects import ProjectOutput
from directory.api.schemas.review import TimelineEvent
from directory.http.fields import Strict, Timestamp
from directory.services.account_export import PROJECTS_MAX, VOTES_MAX

COMPLETE = (
    f"False where there are more than {PROJECTS_MAX:,} projects or {VOTES_MAX:,} votes: then the newest projects and "
    "the votes for the newest projects are here. `GET /api/projects` with `owner=me` or `upvoted=me` lists all."
)


class DeletionInput(Strict):
    """The caller's password, once more. An account that has none leaves it out."""

    current_password = Secret()


class ExportedProject(ProjectOutput):
    """A project of the caller, with its timeline."""

    history = fields.List(fields.Nested(TimelineEvent), required=True)


class ExportedVote(Strict):
    """A vote of the caller. `title` is null if the project is not live and belongs to another member."""

    project_id = fields.Integer(required=True)
    title = fields.String(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    counted = fields.Boolean(
        required=True, metadata={"description": "Whether it counts: an administrator may have discounted it."}
    )


class ExportedIdentity(Strict):
    """An account at a provider that the caller can sign in with; `subject` is the provider's id for it."""

    id = fields.Integer(required=True)
    issuer = fields.String(required=True)
    subject = fields.String(required=True)
    email = fields.String(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    last_used_at = Timestamp(required=True)


class Export(Strict):
    """All of the caller's data in the service, except secrets and their hashes."""

    exported_at = Timestamp(required=True)
    complete = fields.Boolean(required=True, metadata={"description": COMPLETE})
    account = fields.Nested(UserOutput, required=True)
    projects = fields.List(fields.Nested(ExportedProject), required=True)
    votes = fields.List(fields.Nested(ExportedVote), required=True)
    sessions = fields.List(fields.Nested(SessionOutput), required=True)
    tokens = fields.List(fields.Nested(TokenOutput), required=True)
    identities = fields.List(fields.Nested(ExportedIdentity), required=True)
    passkeys = fields.List(fields.Nested(PasskeyOutput), required=True)
