"""The lists of projects: all of them, of a category, of a tag, of a member, and what a search finds."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from flask import Response
from marshmallow import ValidationError
from werkzeug.routing import RequestRedirect

from directory.api.schemas.projects import ProjectQuery
from directory.errors import Invalid, NotFound
from directory.http import problem_details
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.cache_policy import CacheTags
from directory.http.pagination import DEPTH
from directory.http.project_lists import order, page_tags
from directory.pages import head
from directory.pages.layout import PageAnswer, address_with, bp, here, page_number, page_view, show, with_page
from directory.pages.links import links_for_programs
from directory.services.accounts import users
from directory.services.catalog import catalog, categories, search_operators, suggestions, tags
from directory.services.catalog.orders import PUBLIC
from directory.services.catalog.paging import Slice, Window
from directory.services.text.rules import CATEGORY_SLUG_MAX, SLUG, TAG_MAX, USERNAME

SIZE = 20
NAMES = {"best": "Best match", "newest": "New", "popular": "Trending", "upvotes": "Top"}
SORTS = {sort: NAMES[sort] for sort in ("best", *PUBLIC)}  # each public order has a name
MEANINGS = {
    "newest": "Listed last first", "popular": "Votes weighed against age: ten times the votes are worth one week",
    "upvotes": "Most votes first",
}  # fmt: skip
RANKED = {"popular", "upvotes"}  # the place in such an order is worth a number
QUERY = ProjectQuery(only=("q", "sort"))


class SearchRefused(Invalid):
    """A search that the rules refuse, and the page that shows it again with the reason."""

    def __init__(self, why: str, answer: PageAnswer) -> None:
        super().__init__([{"parameter": "q", "detail": why}])
        self.answer = answer


@bp.errorhandler(SearchRefused)
def _search_again(error: SearchRefused) -> Response:
    return with_page(problem_details.answer(error), error.answer)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The list that an address asks for: below `path`, which names a category or a tag, or neither."""

    path: str
    category: str | None = None
    tag: str | None = None
    q: str | None = None
    sort: str = "newest"
    page: int = 1

    def address(self, **changes: object) -> str:
        """The address of this list with other values; what is the default is left out."""
        tag = self.tag if self.category else None
        given = {"q": self.q, "tag": tag, "sort": self.sort, "page": self.page, **changes}
        if given["sort"] == order({"q": given["q"]}):
            given["sort"] = None
        if given["page"] == 1:
            given["page"] = None
        return address_with(self.path, **given)

    def neighbours(self, pages: int) -> dict[str, Any]:
        """The addresses of the pages before and after this one, of so many."""
        previous = self.address(page=self.page - 1) if self.page > 1 else ""
        return {"previous": previous, "next": self.address(page=self.page + 1) if self.page < pages else ""}

    def leaving(self, name: str) -> str:
        """The address of the wider list that is not narrowed by `name`: "q", "category" or "tag"."""
        left = replace(self, **{name: None})  # type: ignore[arg-type]
        return _address(left.category, left.tag, left.q, None if name == "q" else self.sort)

    def entering(self, category: str) -> str:
        """The address of the same list in another category."""
        return _address(category, self.tag, self.q, self.sort)

    def narrowed(self, chosen: Any) -> list[tuple[str, str]]:
        """The filters of the list: the name of each, and its text."""
        texts = {
            "q": f"for “{self.q}”" if self.q else "",
            "category": f"in {chosen.name}" if chosen else "",
            "tag": f"tagged {self.tag}" if self.tag else "",
        }
        return [(name, text) for name, text in texts.items() if text]


def _address(category: str | None, tag: str | None, q: str | None, sort: str | None) -> str:
    """The address of the first page of a list."""
    path = f"/categories/{category}" if category else f"/tags/{tag}" if tag else "/"
    return Wanted(path, category, tag, q).address(sort=sort)


@bp.get("/")
@public
@page_view
def home(query: dict[str, str]) -> Any:
    """Show the directory. A client that prefers JSON gets links in its place."""
    if (links := links_for_programs()) is not None:
        return links
    if slug := query.get("category"):
        raise _moved("/categories", slug, CATEGORY_SLUG_MAX, query, "category")
    if tag := query.get("tag"):
        raise _moved("/tags", tag, TAG_MAX, query, "tag")
    page, headers = _list(Wanted("/"), query)
    return page, {**headers, "Vary": "Accept"}


@bp.get("/categories/<slug>")
@public
@page_view
def category(slug: str, query: dict[str, str]) -> Any:
    """Show the projects of a category, also narrowed to a tag."""
    path = _path_to("/categories", slug, CATEGORY_SLUG_MAX, query)
    tag = query.get("tag") or None
    if tag is not None and not _fits(tag, TAG_MAX):
        raise NotFound
    return _list(Wanted(path, category=slug, tag=tag), query)


@bp.get("/tags/<tag>")
@public
@page_view
def tag_page(tag: str, query: dict[str, str]) -> Any:
    """Show the projects that carry a tag."""
    path = _path_to("/tags", tag, TAG_MAX, query)
    if slug := query.get("category"):
        raise _moved("/categories", slug, CATEGORY_SLUG_MAX, {**query, "tag": tag}, "category")
    return _list(Wanted(path, tag=tag), query)


@bp.get("/users/<username>")
@public
@page_view
def member(username: str, query: dict[str, str]) -> Any:
    """Show a member with their live projects. A suspended one is 404."""
    path = f"/users/{username.lower()}"
    if not USERNAME.fullmatch(username.lower()):
        raise NotFound
    if username != username.lower():
        raise RequestRedirect(path)
    profile, wanted = users.public(username), Wanted(path, page=page_number(query))
    pages = max(1, -(-profile["live_projects"] // SIZE))
    if wanted.page > pages:
        raise NotFound
    filters = catalog.Filters(status="live", owner=username)
    items = catalog.page(filters, "upvotes", Window(SIZE, page=wanted.page), viewer=viewer()).items
    about = head.Head(
        f"{username} · Page {wanted.page}" if wanted.page > 1 else username,
        f"Projects that {username} submitted.",
        wanted.address(),
        **wanted.neighbours(pages),
        data=[head.item_list(items, here(), (wanted.page - 1) * SIZE + 1)],
    )
    # The sum of votes is that of all projects, also of those on other pages.
    shown = CacheTags(tuple(each["id"] for each in items)) if pages == 1 else None
    return show(
        "member.html", about, tags=shown, member=profile, projects=items, page=wanted.page, pages=pages
    )  # fmt: skip


def _fits(slug: str, longest: int) -> bool:
    return len(slug) <= longest and SLUG.fullmatch(slug) is not None


def _path_to(root: str, slug: str, longest: int, query: dict[str, str]) -> str:
    """The path of a slug. Raises NotFound for an impossible slug, and RequestRedirect if it is not in lower case."""
    if not _fits(slug.lower(), longest):
        raise NotFound
    if slug != slug.lower():
        raise _moved(root, slug, longest, query)
    return f"{root}/{slug}"


def _moved(root: str, slug: str, longest: int, query: dict[str, str], *names: str) -> Exception:
    """The redirect to the page of a slug; the other parameters stay."""
    if not _fits(slug.lower(), longest):
        return NotFound()
    left = "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in query.items() if name not in names)
    return RequestRedirect(f"{root}/{slug.lower()}{'?' if left else ''}{left}")


def _list(at: Wanted, query: dict[str, str]) -> PageAnswer:
    """The page of a list. Raises SearchRefused, and NotFound for no such category, tag or page."""
    wanted, refused = _read(at, query)
    listed = categories.listed()
    chosen = next((each for each in listed if each.slug == wanted.category), None)
    if wanted.category and chosen is None:
        raise NotFound
    filters = catalog.Filters(status="live", category=wanted.category, tag=wanted.tag, q=wanted.q)
    found = Slice([], None, None, total=0)
    if not refused:
        found = catalog.page(filters, wanted.sort, Window(SIZE, page=wanted.page), viewer=viewer())
    total = found.total or 0
    pages = min(-(-total // SIZE), DEPTH // SIZE)
    if wanted.page > max(1, pages) or (not total and wanted.tag and not tags.is_used(wanted.tag)):
        raise NotFound
    shown = {"items": found.items, "pagination": {"page": wanted.page}}
    page, headers = show(
        "list.html", _head(wanted, chosen, found, pages), tags=page_tags(shown, {"q": wanted.q, "sort": wanted.sort}),
        wanted=wanted, chosen=chosen, subject=_subject(wanted, chosen), categories=listed, found=found,
        projects=found.items, pages=pages, sorts=SORTS, meanings=MEANINGS, ranked=RANKED, size=SIZE,
        suggested=suggestions.nearest(wanted.q) if wanted.q and not refused and not total else [],
        as_words=search_operators.as_words(wanted.q or ""), refused=refused, typed=query.get("q", "").strip(),
    )  # fmt: skip
    if refused:
        raise SearchRefused(refused, (page, headers))
    return page, headers


def _read(at: Wanted, query: dict[str, str]) -> tuple[Wanted, str]:
    """The list that the parameters ask for, and the error of the search."""
    given = {name: query[name] for name in QUERY.fields if query.get(name)}
    refused: dict[str, Any] = {}
    try:
        taken = QUERY.load(given)
    except ValidationError as error:
        taken, refused = error.valid_data, error.messages  # type: ignore[assignment]
    page, text = page_number(query), taken.get("q")
    if page * SIZE > DEPTH or "sort" in refused:
        raise NotFound
    sort = order({"q": text, "sort": taken.get("sort")})
    return Wanted(at.path, at.category, at.tag, text, sort, page), " ".join(refused.get("q", []))


def _head(wanted: Wanted, chosen: Any, found: Slice, pages: int) -> head.Head:
    page, subject, feeds = wanted.page, _subject(wanted, chosen), [head.NEW]
    if subject:
        path = address_with(head.NEW.path, category=wanted.category, tag=wanted.tag)
        feeds.insert(0, head.Feed(f"New projects: {subject}", path))
    searched = f"“{wanted.q}”" if wanted.q else ""
    parts = [" in ".join(part for part in (searched, subject) if part), f"Page {page}" if page > 1 else ""]
    data = [head.item_list(found.items, here(), (page - 1) * SIZE + 1)]
    return head.Head(
        " · ".join(part for part in parts if part),
        (chosen.description if chosen else "") or (f"{subject}: {head.DESCRIPTION}" if subject else ""),
        wanted.address(),
        indexed=not wanted.q,
        **wanted.neighbours(pages),
        feeds=feeds,
        data=[*data, head.breadcrumbs(here(), (subject, wanted.path))] if subject else data,
    )


def _subject(wanted: Wanted, chosen: Any) -> str:
    """The filters of the list, in words."""
    if chosen is None:
        return f"Projects tagged {wanted.tag}" if wanted.tag else ""
    return f"{chosen.name}, tagged {wanted.tag}" if wanted.tag else str(chosen.name)
