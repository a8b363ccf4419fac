"""The public list of tags."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.site import TagList, TagQuery
from directory.http.access import public
from directory.http.cache_policy import CachePolicy, CacheTags
from directory.http.endpoint import operation
from directory.services.catalog import tags

bp = Blueprint("tags", __name__, url_prefix="/api/tags")


@bp.get("")
@public
@operation(query=TagQuery(), answer=TagList(), tier="read", etag=True, cache=CachePolicy(tags=lambda *_: CacheTags(())))
def index(query: dict[str, Any]) -> Any:
    """List the tags of live projects with their numbers of projects, the most used first, then by name."""
    return {"items": tags.listed(query.get("prefix"), query["limit"])}
