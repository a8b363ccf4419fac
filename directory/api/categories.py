"""The public list of categories."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.site import CategoryList
from directory.http.access import public
from directory.http.cache_policy import CachePolicy, CacheTags
from directory.http.endpoint import operation
from directory.services.catalog import categories

bp = Blueprint("categories", __name__, url_prefix="/api/categories")


@bp.get("")
@public
@operation(answer=CategoryList(), tier="read", etag=True, cache=CachePolicy(tags=lambda *_: CacheTags(())))
def index() -> Any:
    """List all categories with their live projects counted."""
    return {"items": categories.listed()}
