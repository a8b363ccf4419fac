"""The lists of projects: all of them, of a category, of a tag, of a member, and what a search finds."""

import re
from dataclasses import replace
from datetime import date, timedelta
from functools import partial, reduce
from typing import Any
from urllib.parse import quote

from flask import Response, current_app
from marshmallow import ValidationError
from werkzeug.routing import RequestRedirect

from directory.api.schemas.lists import ProjectQuery
from directory.db.paging import Slice, Window
from directory.errors import Invalid, NotFound
from directory.http import problem_details
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.cache_policy import CacheTags
from directory.http.languages import chosen as language
from directory.http.pagination import DEPTH
from directory.http.project_lists import order, page_tags
from directory.language.messages import CATEGORY, _, of_operator
from directory.models import now
from directory.pages import head, own_values
from directory.pages.layout import (
    PageAnswer,
    address_with,
    bp,
    here,
    links_for_programs,
    page_number,
    page_of,
    page_view,
    show,
    trending,
    with_page,
)
from directory.pages.paged_lists import NAMES
from directory.pages.shelves import shelves_of_first_page, with_shelves
from directory.pages.translated import by_name
from directory.pages.wanted import Wanted, category_name
from directory.services.accounts import users
from directory.services.catalog import (
    catalog,
    categories,
    facets,
    front,
    nearest,
    own_filters,
    suggestions,
    tags,
    ways,
)
from directory.services.catalog.categories import Listed
from directory.services.catalog.category_slugs import present
from directory.services.catalog.filters import Filters
from directory.services.catalog.orders import PUBLIC
from directory.services.catalog.periods import MONTH, MONTHS, WEEK, containing
from directory.services.text.characters import fold
from directory.services.text.rules import CATEGORY_SLUG_MAX, SLUG, TAG_MAX, USERNAME, typed_tags

SIZE = 20
SORTS = {sort: NAMES[sort] for sort in ("best", *PUBLIC)}  # each public order has a name
MEANINGS = {
    "newest": _("Listed last first"), "popular": _("Votes weighed against age: ten times the votes are worth one week"),
    "upvotes": _("Most votes first"),
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


list_view = page_of(*QUERY.fields, "category", "tag", "page", own_filters.PARAMETER)


@bp.get("/")
@public
@list_view
def home(query: dict[str, str]) -> Any:
    """Show the directory. A client that prefers JSON gets links in its place."""
    if (links := links_for_programs()) is not None:
        return links
    if slug := query.get("category"):
        raise _moved("/categories", slug, CATEGORY_SLUG_MAX, query, "category")
    named = _tags(query.get("tag"))
    if len(named) == 1:
        raise _moved("/tags", named[0], TAG_MAX, query, "tag")
    page, headers = _list(Wanted(tags=named), query)
    return page, {**headers, "Vary": f"Accept, {headers['Vary']}" if "Vary" in headers else "Accept"}


@bp.get("/categories/<slug>")
@public
@list_view
def category(slug: str, query: dict[str, str]) -> Any:
    """Show the projects of a category, also narrowed to tags."""
    _require_lower("/categories", slug, CATEGORY_SLUG_MAX, query)
    return _list(Wanted(category=slug, tags=_tags(query.get("tag"))), query)


@bp.get("/tags/<tag>")
@public
@list_view
def tag_page(tag: str, query: dict[str, str]) -> Any:
    """Show the projects that carry a tag. With more tags, or in a category, they have another address."""
    _require_lower("/tags", tag, TAG_MAX, query)
    named = tags.SEPARATOR.join(_tags(f"{tag},{query.get('tag', '')}"))
    if slug := query.get("category"):
        raise _moved("/categories", slug, CATEGORY_SLUG_MAX, {**query, "tag": named}, "category")
    if named != tag:
        raise RequestRedirect(_with_query("/", {**query, "tag": named}))
    return _list(Wanted(tags=(tag,)), query)


@bp.get("/users/<username>")
@public
@page_view
def member(username: str, query: dict[str, str]) -> Any:
    """Show a member with their live projects. A suspended one is 404."""
    wanted = Wanted(user=username.lower(), page=page_number(query))
    if not USERNAME.fullmatch(username.lower()):
        raise NotFound
    if username != username.lower():
        raise RequestRedirect(wanted.path)
    profile = users.public(username)
    pages = max(1, -(-profile["live_projects"] // SIZE))
    if wanted.page > pages:
        raise NotFound
    filters = Filters(status="live", owner=username)
    items = catalog.page(filters, "upvotes", Window(SIZE, page=wanted.page), viewer=viewer()).items
    about = head.Head(
        head.paged(username, wanted.page),
        _("Projects that {name} submitted.", name=username),
        wanted.address,
        **wanted.neighbours(pages),
        data=[head.item_list(items, here(), (wanted.page - 1) * SIZE + 1)],
    )
    # The sum of votes is that of all projects, also of those on other pages.
    shown = CacheTags(tuple(project["id"] for project in items)) if pages == 1 else None
    return show(
        "member.html", about, tags=shown, member=profile, projects=items, page=wanted.page, pages=pages
    )  # fmt: skip


def _fits(slug: str, longest: int) -> bool:
    return len(slug) <= longest and SLUG.fullmatch(slug) is not None


def _tags(text: str | None) -> tuple[str, ...]:
    """The tags of the parameter `tag`. Raises NotFound for an impossible one, and for too many."""
    named = tags.split((text or "").lower())
    if len(named) > tags.MOST or not all(_fits(tag, TAG_MAX) for tag in named):
        raise NotFound
    return tuple(named)


def _require_lower(root: str, slug: str, longest: int, query: dict[str, str]) -> None:
    """Raise NotFound for an impossible slug, and RequestRedirect if it is not in lower case."""
    if not _fits(slug.lower(), longest):
        raise NotFound
    if slug != slug.lower():
        raise _moved(root, slug, longest, query)


def _moved(root: str, slug: str, longest: int, query: dict[str, str], *names: str) -> Exception:
    """The redirect to the page of a slug; the other parameters stay."""
    if not _fits(slug.lower(), longest):
        return NotFound()
    left = {name: value for name, value in query.items() if name not in names}
    return RequestRedirect(_with_query(f"{root}/{slug.lower()}", left))


def _with_query(path: str, query: dict[str, str]) -> str:
    left = "&".join(f"{quote(name)}={quote(value, safe=',')}" for name, value in query.items())
    return f"{path}?{left}" if left else path


def _list(at: Wanted, query: dict[str, str]) -> PageAnswer:
    """The page of a list. Raises SearchRefused, and NotFound for no such category, tag or page."""
    if (one := own_values.joined(query)) is not None:
        raise RequestRedirect(_with_query(at.path, one))
    wanted, refused = _read(at, query)
    tag = tags.SEPARATOR.join(wanted.tags) or None
    filters = Filters(status="live", category=wanted.category, tag=tag, q=wanted.q, own=wanted.own or None)
    listed = by_name(categories.listed())
    chosen = next((category for category in listed if category.slug == wanted.category), None)
    if wanted.category and chosen is None:
        if (slug := present(wanted.category)) is None:
            raise NotFound
        raise _moved("/categories", slug, CATEGORY_SLUG_MAX, query)
    projects, narrower = Slice([], None, None, total=0), None
    if not refused:
        found_by, window = ways.matched(filters), Window(SIZE, page=wanted.page)
        projects = catalog.page(filters, wanted.sort, window, viewer=viewer(), found_by=found_by)
        narrower = facets.of(filters, listed, found_by)
    total = projects.total or 0
    pages = min(-(-total // SIZE), DEPTH // SIZE)
    if wanted.page > max(1, pages) or (not total and not all(tags.used([*wanted.tags]).values())):
        raise NotFound
    searched = {} if wanted.q is None or refused else _of_search(wanted, filters, projects, listed)
    shown = {"items": projects.items, "nearest": searched.get("near"), "pagination": {"page": wanted.page}}
    tagged = page_tags(shown, {"q": wanted.q, "sort": wanted.sort})
    site = current_app.extensions["site"]
    is_front = wanted == Wanted() and not query.get("sort")
    shelves = shelves_of_first_page(listed) if is_front else []
    is_empty = not total and not searched.get("near")
    cards = trending() if is_empty and not refused else []
    if cards:
        tagged = None  # any vote may change them
    page, headers = show(
        "list.html", _head(wanted, chosen, projects, pages),
        tags=with_shelves(tagged, shelves) if is_front and tagged else tagged, shelves=shelves,
        came=front.published() if is_front and not (site.headline or site.tagline) else 0,
        front=current_app.extensions["own_site"].front(language().tag) if is_front else "",
        wanted=wanted, around=wanted if total else Wanted(), trending=cards, chosen=chosen,
        heading=_title(wanted, _subject(wanted, chosen)), categories=listed, found=projects,
        projects=projects.items, narrower=narrower,
        own_facets=own_values.narrower(narrower.fields if narrower else {}, wanted.own), most_tags=tags.MOST,
        pages=pages, under=partial(_heading, today=now().date()), sorts=SORTS, meanings=MEANINGS, ranked=RANKED,
        size=SIZE,
        refused=refused, typed=query.get("q", "").strip(), **searched,
    )  # fmt: skip
    if refused:
        raise SearchRefused(refused, (page, headers))
    return page, headers


def _heading(day: date, today: date) -> tuple[str, str]:
    """The period under whose heading the new projects of a day stand, and its name.

    Today and yesterday have their own; then come the rest of this week, of this month, of this year, and other years.
    """
    if today - day <= timedelta(days=1):
        return day.isoformat(), _("Yesterday") if day < today else _("Today")
    week, month = containing(today, WEEK), containing(today, MONTH)
    if week.first <= day:
        return str(week), _("This week")
    return (str(month), MONTHS[day.month - 1]) if month.first <= day else (str(day.year), str(day.year))


def _of_search(wanted: Wanted, filters: Filters, projects: Slice, listed: list[Listed]) -> dict[str, Any]:
    """What the page of a search has in addition: what is near to it, other spellings, and what it names."""
    query, total = wanted.q or "", projects.total or 0
    is_first = wanted.sort == "best" and wanted.page == 1
    return {
        "near": nearest.nearest(filters, projects.items, total, viewer=viewer()) if is_first else None,
        "suggested": [] if total else suggestions.nearest(filters),
        "as_words": suggestions.as_words(query),
        "named": _named(query, listed),
    }


def _named(query: str, listed: list[Listed]) -> list[tuple[str, str, Wanted]]:
    """The categories and tags that a whole query names: what each is, its name, and its list."""
    key, say = _key(query), language().say
    named = [
        category
        for category in listed
        if key in {_key(category.name), _key(say(category_name(category))), category.slug}
    ]
    spelled = typed_tags(query)
    possible = [tag for tag in dict.fromkeys((key, *(spelled if len(spelled) == 1 else ()))) if _fits(tag, TAG_MAX)]
    used = sorted(tag for tag, number in tags.used(possible).items() if number)
    return [
        *(("category", category_name(category), Wanted(category=category.slug)) for category in named),
        *(("tag", tag, Wanted(tags=(tag,))) for tag in used),
    ]


def _key(text: str) -> str:
    """A name as a slug would spell it."""
    return re.sub(r"[\s-]+", "-", fold(text)).strip("-")


def _read(at: Wanted, query: dict[str, str]) -> tuple[Wanted, str]:
    """The list that the parameters ask for, and the error of the search."""
    values = {name: query[name] for name in QUERY.fields if query.get(name)}
    refused: dict[str, Any] = {}
    try:
        taken = QUERY.load(values)
    except ValidationError as error:
        taken, refused = error.valid_data, error.messages  # type: ignore[assignment]
    page, text = page_number(query), taken.get("q")
    if page * SIZE > DEPTH or "sort" in refused:
        raise NotFound
    sort = order({"q": text, "sort": taken.get("sort")})
    own = own_values.asked(query)
    return replace(at, q=text, sort=sort, page=page, own=own), next(iter(refused.get("q", [])), "")


def _head(wanted: Wanted, chosen: Any, projects: Slice, pages: int) -> head.Head:
    page, subject, feeds = wanted.page, _subject(wanted, chosen), [head.NEW]
    if subject:
        filters = {"category": wanted.category, "tag": tags.SEPARATOR.join(wanted.tags)}
        path = address_with(head.NEW.path, **filters, **own_filters.texts(wanted.own))
        feeds.insert(0, head.Feed(_("New projects: {subject}", subject=subject), path))
    data = [head.item_list(projects.items, here(), (page - 1) * SIZE + 1)]
    return head.Head(
        head.paged(_title(wanted, subject), page),
        _described(subject, chosen) if subject else "",
        wanted.address,
        indexed=not (wanted.q or wanted.is_combined),
        **wanted.neighbours(pages),
        feeds=feeds,
        data=[*data, head.breadcrumbs(here(), (subject, wanted.searching(None).address))] if subject else data,
    )


def _subject(wanted: Wanted, chosen: Any) -> str:
    """The filters of the list, in words."""
    if wanted.own:
        own = language().say(own_values.COMMA).join(alone for _name, _said, alone in own_values.words(wanted.own))
        others = _subject(replace(wanted, own=()), chosen)
        return _("{subject}: {description}", subject=others, description=own) if others else own
    if not wanted.tags:
        return category_name(chosen) if chosen else ""
    tagged = reduce(lambda some, other: _("{some} and {other}", some=some, other=other), wanted.tags)
    if chosen is None:
        return _("Projects tagged {tags}", tags=tagged)
    return _("{category}, tagged {tags}", category=category_name(chosen), tags=tagged)


def _title(wanted: Wanted, subject: str) -> str:
    """The title of a list: what is searched for, and where."""
    if not wanted.q:
        return subject
    if not subject:
        return _("“{query}”", query=wanted.q)
    return _("“{query}” in {subject}", query=wanted.q, subject=subject)


def _described(subject: str, chosen: Any) -> str:
    if chosen and chosen.description:
        return of_operator(CATEGORY, chosen.description)
    return _("{subject}: {description}", subject=subject, description=head.DESCRIPTION)
