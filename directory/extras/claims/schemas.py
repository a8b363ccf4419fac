"""The schemas of claims, and of what they add to the queue."""

from marshmallow import fields

from directory.api.schemas.projects import UserRef
from directory.http.fields import Flag, Strict, Timestamp, Word


class ClaimInput(Strict):
    """Whether to take over a claim of somebody else."""

    take_over = Flag(load_default=False, metadata={"default": False})


class ClaimOutput(Strict):
    """Who looks at a project, and until when that is shown to the others."""

    user = fields.Nested(UserRef, required=True)
    until = Timestamp(required=True)


class Claimable(Strict):
    """Who looks at a project."""

    claim = fields.Nested(
        ClaimOutput,
        required=True,
        allow_none=True,
        metadata={"description": "Null while no reviewer claims the project."},
    )


class ClaimedQuery(Strict):
    """The filter of the queue by claims."""

    claimed = Word(
        ("me", "others", "none"),
        metadata={"description": "Only projects that the caller claims, that others claim, or that nobody claims."},
    )


class ClaimsInSummary(Strict):
    """What the summary of the queue says of claims."""

    mine = fields.Integer(required=True, metadata={"minimum": 0, "description": "How many projects the caller claims."})
    claims = fields.Boolean(required=True, metadata={"description": "Whether projects can be claimed (CLAIM_MINUTES)."})
