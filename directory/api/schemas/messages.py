"""The schemas of the threads of projects."""

from marshmallow import fields

from directory.api.schemas.audit import HistoryQuery
from directory.api.schemas.paging import CursorPagination
from directory.api.schemas.projects import UserRef
from directory.http.fields import NO_ID, Flag, Number, Prose, Strict, Timestamp, Within, Word
from directory.models import MessageKind, Sender
from directory.models.base import HIGHEST_ID

ANSWER_MAX = 4000


class MessagesQuery(HistoryQuery):
    """A part of a thread; a hundred entries unless asked otherwise."""


class AnswerInput(Strict):
    """A message of the owner."""

    text = Prose(1, ANSWER_MAX, required=True)
    resubmit = Flag(
        metadata={"description": "Whether to give a project that waits for its owner back to the reviewers."}
    )


class ReviewerMessageInput(Strict):
    """A message of a reviewer to the owner, or a note to the other reviewers."""

    text = Prose(1, 4000, required=True)
    internal = Flag(metadata={"description": "Whether it is a note, which the owner never sees. Default false."})


class ReadInput(Strict):
    """The last entry that was read; an id above the newest one means all."""

    up_to = Number(required=True, validate=Within(1, HIGHEST_ID, error=NO_ID))


class MessageOutput(Strict):
    """An entry of a project's thread.

    `author` is null if nobody has decided, for a reviewer whose account is deleted, and, unless the operator shows the
    names of reviewers, for the owner of the project.
    """

    id = fields.Integer(required=True)
    at = Timestamp(required=True)
    from_ = Word(tuple(Sender), required=True, data_key="from", attribute="from")
    kind = Word(tuple(MessageKind), required=True)
    text = fields.String(
        required=True,
        metadata={"description": "Plain text. Empty if it was written without words, or if it was erased."},
    )
    author = fields.Nested(UserRef, required=True, allow_none=True)


class MessagePage(Strict):
    """The entries of a thread, oldest first."""

    items = fields.List(fields.Nested(MessageOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
