"""The page of a member: since when, and their live projects."""

from typing import Any

from werkzeug.routing import RequestRedirect

from directory.errors import NotFound
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.cache_policy import CacheTags
from directory.http.endpoint import operation
from directory.pages import head
from directory.pages.layout import PAGE, address_with, bp, here, page_number, show
from directory.services.accounts import users
from directory.services.catalog import catalog
from directory.services.catalog.paging import Window
from directory.services.text import USERNAME

SIZE = 20


@bp.get("/users/<username>")
@public
@operation(tier="read", page=True, parameters=True, etag=True, personal=True, cache=PAGE)
def member(username: str, query: dict[str, str]) -> Any:
    """Show a member with their live projects. A suspended one is 404."""
    path = f"/users/{username.lower()}"
    if not USERNAME.fullmatch(username.lower()):
        raise NotFound
    if username != username.lower():
        raise RequestRedirect(path)
    profile = users.public(username)
    page = page_number(query)
    pages = max(1, -(-profile["live_projects"] // SIZE))
    if page > pages:
        raise NotFound
    filters = catalog.Filters(status="live", owner=username)
    items = catalog.page(filters, "upvotes", Window(SIZE, page=page), viewer=viewer()).items
    title = f"{username} · Page {page}" if page > 1 else username
    about = head.Head(
        title,
        f"Projects that {username} submitted.",
        address_with(path, page=page if page > 1 else None),
        previous=address_with(path, page=page - 1 if page > 2 else None) if page > 1 else "",
        next=address_with(path, page=page + 1) if page < pages else "",
        data=[head.item_list(items, here(), (page - 1) * SIZE + 1)],
    )
    # The sum of votes is that of all projects, also of those on other pages.
    tags = CacheTags(tuple(each["id"] for each in items)) if pages == 1 else None
    return show(
        "member.html", about, tags=tags, member=profile, projects=items, page=page, pages=pages,
        is_deleted="deleted" in query,
    )  # fmt: skip
