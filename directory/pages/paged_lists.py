"""Lists with a page of their own beside the orders of all projects: their pages, and the tabs that lead to them."""

from collections.abc import Sequence
from typing import Any

from directory.db.paging import Window
from directory.errors import NotFound
from directory.http.authentication import viewer
from directory.http.pagination import DEPTH
from directory.http.project_lists import page_tags
from directory.language.messages import Message, _
from directory.pages import head
from directory.pages.layout import PageAnswer, address_with, here, page_number, show
from directory.services.catalog import catalog
from directory.services.catalog.filters import Filters
from directory.services.catalog.orders import PUBLIC

SIZE = 20
NAMES = {"best": _("Best match"), "newest": _("New"), "popular": _("Trending"), "upvotes": _("Top")}


def show_list(
    template: str,
    title: Message,
    intro: Message,
    path: str,
    query: dict[str, str],
    filters: Filters,
    sort: str,
    *,
    may_be_empty: bool = True,
    feeds: Sequence[head.Feed] = (head.NEW,),
    **values: Any,
) -> PageAnswer:
    """A page of the live projects that `filters` leave, in an order. Raises NotFound beyond the last one."""
    page = page_number(query)
    if page * SIZE > DEPTH:
        raise NotFound
    projects = catalog.page(filters, sort, Window(SIZE, page=page), viewer=viewer())
    pages = min(-(-(projects.total or 0) // SIZE), DEPTH // SIZE)
    if page > max(1, pages) or not (projects.total or may_be_empty):
        raise NotFound
    first = (page - 1) * SIZE + 1
    about = head.Head(
        head.paged(title, page),
        intro,
        _address(path, page),
        previous=_address(path, page - 1) if page > 1 else "",
        next=_address(path, page + 1) if page < pages else "",
        feeds=feeds,
        data=[head.item_list(projects.items, here(), first), head.breadcrumbs(here(), (title, path))],
    )
    shown = {"items": projects.items, "pagination": {"page": page}}
    return show(
        template, about, tags=page_tags(shown, {"sort": sort}), title=title, intro=intro, path=path,
        projects=projects.items, found=projects, page=page, pages=pages, first=first,
        orders={address_with("/", sort=sort if sort != "newest" else None): NAMES[sort] for sort in PUBLIC}, **values,
    )  # fmt: skip


def _address(path: str, page: int) -> str:
    return address_with(path, page=page if page > 1 else None)
