"""The schema of a vote."""

from marshmallow import fields

from directory.http.fields import Strict


class VoteOutput(Strict):
    """The vote as it is now, and the project's count."""

    project_id = fields.Integer(required=True)
    upvoted = fields.Boolean(required=True)
    upvotes = fields.Integer(required=True, metadata={"minimum": 0})
