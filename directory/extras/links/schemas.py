"""The schemas of what members and reviewers send about links."""

from marshmallow import fields

from directory.http.fields import Link, Strict, Word
from directory.services.catalog.additions import LINKS


class MovedInput(Strict):
    """The link that has moved."""

    link = Word(LINKS, required=True)


class PreviewInput(Strict):
    """The address of a website or a repository."""

    url = Link(required=True)


class PreviewOutput(Strict):
    """What is there, by the fields of a project, each cut to what fits; null where it is not there.

    `description` is that of a repository.
    """

    url = fields.String(required=True, allow_none=True)
    title = fields.String(required=True, allow_none=True)
    tagline = fields.String(required=True, allow_none=True)
    repository_url = fields.String(required=True, allow_none=True)
    description = fields.String(required=True, allow_none=True)


class LinksInSummary(Strict):
    """What the summary of the queue says of links."""

    dead_links = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"minimum": 0, "description": "How many there are with links=dead; null while none are looked at."},
    )


class LinksQuery(Strict):
    """The filter of reviewers' lists by links."""

    links = Word(
        ("dead", "moved"), metadata={"description": "Only projects whose website or repository is dead, or has moved."}
    )
