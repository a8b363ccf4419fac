"""The key of the caller's feed, and the requests that it opens the feed to."""

from typing import Any

from flask import Blueprint
from marshmallow import fields

from directory.errors import Invalid, Unauthenticated
from directory.extras.feed_keys import feed_keys
from directory.http.access import login_required
from directory.http.authentication import bearer_of, caller
from directory.http.endpoint import operation
from directory.http.exchange import Exchange
from directory.http.fields import Strict
from directory.http.validation import read_query
from directory.language.messages import _

bp = Blueprint("auth", __name__, url_prefix="/api/auth")


class NewFeedKey(Strict):
    """The key of one's feed, shown this once."""

    key = fields.String(required=True)


@bp.post("/feed-key")
@login_required
@operation(answer=NewFeedKey(), status=201)
def make_feed_key() -> Any:
    """Make the key by which a feed reader reads `/api/projects.atom?key=` as the caller. It ends the key before.

    The key is shown in this answer alone, and opens nothing but the feed. It ends when the account is deleted, and when
    all tokens of the account are revoked.
    """
    return {"key": feed_keys.make(caller())}


@bp.delete("/feed-key")
@login_required
@operation(status=204)
def delete_feed_key() -> Any:
    """Delete the caller's feed key, if there is one."""
    feed_keys.delete(caller())


def identify(exchange: Exchange) -> None:
    """Identify who reads the feed by the key in the query, if there is one. Raises Unauthenticated."""
    if exchange.view is None:
        return
    try:
        exchange.parameters = read_query(exchange.query.encode("latin-1"))
    except Invalid:  # the route refuses it
        return
    key = exchange.parameters.get("key")
    if key is None:
        return
    reader = feed_keys.reader(key)
    if reader is None:
        raise Unauthenticated(_("The feed key is unknown, or has ended."))
    if bearer_of(exchange.environ) is None:  # else that one alone says who calls
        exchange.identify(reader)
