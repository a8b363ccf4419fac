"""What routes of projects share, over HTTP: the order, page, links and cache tags of lists, and the rules of edits."""

from typing import Any

from flask import current_app

from directory.http import pagination
from directory.http.access import needs_verified
from directory.http.authentication import viewer
from directory.http.cache_policy import CacheTags
from directory.http.receivers import judge
from directory.services.catalog import catalog
from directory.services.catalog.filters import Filters
from directory.services.catalog.orders import is_without_votes


def order(query: dict[str, Any]) -> str:
    """The order asked for, else that of picks, of these; else best match first where there is a query, else newest."""
    return query.get("sort") or ("picked" if query.get("picked") else "newest" if query.get("q") is None else "best")


def page_tags(page: dict[str, Any], query: dict[str, Any]) -> CacheTags | None:
    """The cache tags of a page; None if it depends on everything.

    The place that a cursor names lies outside of the page. So the votes that such a page shows do not say which
    projects may get onto it, not even where the page is empty.
    """
    if page.get("nearest"):
        return None
    items, is_numbered, sort = page["items"], page["pagination"]["page"] is not None, order(query)
    ids = tuple(item["id"] for item in items)
    if is_without_votes(sort) or (is_numbered and not items):
        return CacheTags(ids)
    if sort != "upvotes" or not is_numbered:
        return None
    votes = [item["upvotes"] for item in items]
    return CacheTags(ids, min(votes), max(votes), items[0]["category_id"] if query.get("category") else None)


def rules_of_edits() -> dict[str, Any]:
    """What says which edits wait for review, whose give back, and who judges them: arguments of `submissions.edit`."""
    config = current_app.config
    terms = {"review_on_edit": config["REVIEW_ON_EDIT"], "self_review": config["SELF_REVIEW"]}
    return {**terms, "needs_verified": needs_verified("submit"), "judge": judge()}


def listing(
    filters: Filters, sort: str, query: dict[str, Any], *, reviews: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """A page of projects and its Link header; with `reviews` for a reviewer of the categories in `filters`."""
    window = pagination.window(query, {**filters.given(), "sort": sort})
    page = catalog.page(filters, sort, window, viewer=viewer(), reviews=reviews)
    return pagination.numbered(page, window, page.total or 0)
