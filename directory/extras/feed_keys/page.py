"""The address of the caller's feed on the page of the account."""

from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

from flask import Blueprint, request

from directory.db.transactions import transaction
from directory.extras.feed_keys import routes
from directory.http import feed
from directory.http.access import login_required
from directory.language.messages import _
from directory.pages.account import account_form, at, outcome
from directory.pages.forms import same_as, shows
from directory.pages.layout import address_with, here

bp = Blueprint("pages", __name__)
# What the section says after a form was accepted.
SAID = {"feed-key-deleted": ("feed", _("The address is deleted. Feed readers that have it read nothing any more."))}


@bp.post("/account/feed-key")
@shows(at("feed"))
@login_required
@replace(same_as(routes.make_feed_key), transactional=False)
def make_feed_key(query: dict[str, str]) -> Any:
    """Make the caller's feed key, and show the address with it on this answer alone."""
    answer = transaction(routes.make_feed_key.view)  # type: ignore[attr-defined]
    path = address_with(feed.PATH, key=answer["key"])
    return account_form(made={"feed": urljoin(request.host_url, here().address(path))})


@bp.post("/account/feed-key/delete")
@shows(at("feed"))
@login_required
@same_as(routes.delete_feed_key)
def delete_feed_key(query: dict[str, str]) -> Any:
    """Delete the caller's feed key."""
    routes.delete_feed_key.view()  # type: ignore[attr-defined]
    return outcome("feed-key-deleted")
