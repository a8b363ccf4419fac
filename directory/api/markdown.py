"""Markdown rendered as the pages render it: for a preview of what one writes."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.site import MarkdownInput, MarkdownOutput
from directory.http.access import public
from directory.http.endpoint import operation
from directory.http.validation import JsonBody
from directory.services.text import markdown

bp = Blueprint("markdown", __name__, url_prefix="/api/markdown")


@bp.post("")
@public
@operation(body=JsonBody(MarkdownInput()), answer=MarkdownOutput(), transactional=False)
def render(body: dict[str, Any]) -> Any:
    """Render a description as HTML.

    CommonMark with GFM's links, tables, strikethrough and task lists; HTML in it is text. Nothing is stored.
    """
    return {"html": markdown.html(body["text"])}
