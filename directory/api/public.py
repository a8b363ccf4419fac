"""What everybody reads besides projects: the categories, the tags and the members; and Markdown, as pages render it."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.site import (
    CategoryList,
    MarkdownInput,
    MarkdownOutput,
    ProfileOutput,
    TagList,
    TagQuery,
)
from directory.http.access import public
from directory.http.cache_policy import CachePolicy, CacheTags
from directory.http.endpoint import operation
from directory.http.validation import JsonBody
from directory.services.accounts import users
from directory.services.catalog import categories, tags
from directory.services.text import markdown

EVERYWHERE = CachePolicy(tags=lambda *_: CacheTags(()))  # it does not depend on single projects
of_categories = Blueprint("categories", __name__, url_prefix="/api/categories")
of_tags = Blueprint("tags", __name__, url_prefix="/api/tags")
of_users = Blueprint("users", __name__, url_prefix="/api/users")
of_markdown = Blueprint("markdown", __name__, url_prefix="/api/markdown")
BLUEPRINTS = (of_categories, of_tags, of_users, of_markdown)


@of_categories.get("", endpoint="index")
@public
@operation(answer=CategoryList(), tier="read", etag=True, cache=EVERYWHERE)
def list_categories() -> Any:
    """List all categories with their live projects counted."""
    return {"items": categories.listed()}


@of_tags.get("", endpoint="index")
@public
@operation(query=TagQuery(), answer=TagList(), tier="read", etag=True, cache=EVERYWHERE)
def list_tags(query: dict[str, Any]) -> Any:
    """List the tags of live projects with their numbers of projects, the most used first, then by name."""
    return {"items": tags.listed(query.get("prefix"), query["limit"])}


@of_users.get("/<username:username>", endpoint="show")
@public
@operation(answer=ProfileOutput(), tier="read", etag=True)
def show_member(username: str) -> Any:
    """Show a member with their live projects counted.

    A suspended member is 404.
    """
    return users.public(username)


@of_markdown.post("")
@public
@operation(body=JsonBody(MarkdownInput()), answer=MarkdownOutput(), transactional=False)
def render(body: dict[str, Any]) -> Any:
    """Render a description as HTML.

    CommonMark with GFM's links, tables, strikethrough and task lists; HTML in it is text. Nothing is stored.
    """
    return {"html": markdown.html(body["text"])}
