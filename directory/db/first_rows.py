"""The rows that a new database has: rules that an administrator may switch on, and replies of reviewers."""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import JSONB

_JSON = sa.JSON().with_variant(JSONB(), "postgresql")
_RULES = sa.table(
    "rules",
    sa.column("name"),
    sa.column("judges", _JSON),
    sa.column("conditions", sa.JSON()),
    *map(sa.column, ("effect", "state", "version")),
    sa.column("changed_at", sa.DateTime(timezone=True)),
)
_NEW = {"fact": "account_hours", "is": "<", "value": 24}
RULES = (
    (
        "New account with a disposable address",
        ["submission"],
        [_NEW, {"fact": "email_disposable", "is": "=", "value": True}],
        "mark",
    ),
    (
        "Text of a rejected project",
        ["submission", "edit"],
        [{"fact": "text_of_rejected", "is": "=", "value": True}],
        "hold",
    ),
    (
        "New account in a wave of submissions",
        ["submission"],
        [_NEW, {"fact": "approved", "is": "<", "value": 1}, {"fact": "burst", "is": ">=", "value": 10}],
        "hold",
    ),
)


def insert_rules(bind: Connection) -> None:
    """Add the rules that come with the service, all off."""
    at = datetime.now(UTC)
    at = at if bind.dialect.name == "postgresql" else at.replace(tzinfo=None)
    names = ("name", "judges", "conditions", "effect")
    rows = [{**dict(zip(names, rule, strict=True)), "state": "off", "version": 1, "changed_at": at} for rule in RULES]
    bind.execute(sa.insert(_RULES), rows)


# By decision and name: the texts that reviewers may choose.
REPLIES = {
    "reject": {
        "No answer": "The website does not answer. Please send it again when it does.",
        "Listed already": "This project is in the directory already.",
        "Advertisement": "This is an advertisement, not a project.",
        "What it does": "Please describe what the project does and how to try it.",
        "Category and tags": "Please choose a category and tags that fit the project.",
    },
    "request_changes": {
        "A longer description": "Please say in the description what {title} does, for whom, and how to try it.",
        "A picture": "Please add a picture of {title}, so that one sees what it looks like.",
        "Another address": "Please give the address of {title} itself. The one that you gave leads elsewhere.",
    },
}


def insert_replies(bind: Connection) -> None:
    """Add the replies that come with the service."""
    replies = sa.table("saved_replies", *map(sa.column, ("name", "decision", "text")))
    for decision, texts in REPLIES.items():
        rows = [{"name": name, "decision": decision, "text": text} for name, text in texts.items()]
        bind.execute(sa.insert(replies), rows)
