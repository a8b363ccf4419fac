"""Projects that have most words of a search that finds almost nothing."""

from dataclasses import replace
from typing import Any

from directory.db.paging import Window
from directory.models import Status
from directory.services.catalog import catalog, search_language, ways
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

FEW = 3  # projects that are enough
LEAST_WORDS = 2  # of a search
# Of a search. For a part of more words the conditions are long, and the index finds the projects slowly.
MOST_WORDS = 6
MOST = 10  # projects that are shown
# So many have ten that are not shown yet: fewer than three are found, and fewer than ten have more words.
_READ = MOST + FEW - 1 + MOST - 1


def nearest(
    filters: Filters, projects: list[dict[str, Any]], total: int, *, viewer: Caller | None
) -> list[dict[str, Any]] | None:
    """Live projects that match more than half of the words of a search, under its other filters, at most MOST.

    Those that match more words come first, then the best matches; of two words one is enough, and the rarer comes
    first. None of them matches the search itself, which finds `total`; `projects` are its first page, best match first.
    None where it finds enough, or has too few words or too many.
    """
    size = search_language.size(filters.q or "")
    if not _has_near(filters, size) or total >= FEW:
        return None
    if len(projects) < total:  # the page is shorter
        projects = catalog.page(filters, "best", Window(FEW), viewer=viewer).items
    seen = {item["id"] for item in projects}
    if size == LEAST_WORDS:
        return _with_one_of_two(filters, seen, viewer)
    items: list[dict[str, Any]] = []
    for least in range(size - 1, size // 2, -1):
        some = ways.matched(filters, least)
        # They are counted without some filters, or not at all.
        counted = None if some is None or some.counted is None else some.counted.number
        if some is not None and (counted is None or counted > len(seen)):
            page = catalog.page(filters, "best", Window(_READ), viewer=viewer, found_by=some)
            items += [item for item in page.items if item["id"] not in seen]
            seen |= {item["id"] for item in items}
        if len(items) >= MOST:
            break
    return items[:MOST]


def finds(filters: Filters) -> bool:
    """Whether a search finds something, or there is something near to it."""
    size = search_language.size(filters.q or "")
    least = size // 2 + (size > LEAST_WORDS) if _has_near(filters, size) else None
    matches = ways.matched(filters, least)
    return matches is not None and bool(catalog.page(filters, "newest", Window(1), viewer=None, found_by=matches).items)


def _has_near(filters: Filters, size: int) -> bool:
    """Whether there may be something near: not to two words that mean nothing."""
    is_of_words = size > LEAST_WORDS or (size == LEAST_WORDS and not search_language.is_little(filters.q or ""))
    return filters.status == Status.LIVE and is_of_words and size <= MOST_WORDS


def _with_one_of_two(filters: Filters, seen: set[int], viewer: Caller | None) -> list[dict[str, Any]]:
    """The live projects with one of the two words of a search, those with the rarer one first, without those `seen`."""
    words = [unit.alone for unit in search_language.units_of(filters.q or "")]
    window = Window(MOST + FEW - 1)
    pages = [catalog.page(replace(filters, q=word), "best", window, viewer=viewer) for word in words]
    pages.sort(key=lambda page: page.total or 0)
    return [item for page in pages for item in page.items if item["id"] not in seen][:MOST]
