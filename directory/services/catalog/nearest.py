"""Projects that have most words of a search that finds almost nothing."""

from typing import Any

from directory.db.paging import Window
from directory.models import Status
from directory.services.catalog import catalog, search_language, ways
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

FEW = 3  # projects that are enough, and words of which one may be missing
# Of a search. For a part of more words the conditions are long, and the index finds the projects slowly.
MOST_WORDS = 6
MOST = 10  # projects that are shown
# So many have ten that are not shown yet: fewer than three are found, and fewer than ten have more words.
_READ = MOST + FEW - 1 + MOST - 1


def nearest(
    filters: Filters, found: list[dict[str, Any]], total: int, *, viewer: Caller | None
) -> list[dict[str, Any]] | None:
    """Live projects that match more than half of the words of a search, under its other filters, at most MOST.

    Those that match more words come first, then the best matches. None of them matches the search itself, which finds
    `total`; `found` is its first page, best match first. None where it finds enough, or has too few words or too many.
    """
    if filters.status != Status.LIVE or total >= FEW:
        return None
    size = search_language.size(filters.q or "")
    if not FEW <= size <= MOST_WORDS:
        return None
    if len(found) < total:  # the page is shorter
        found = catalog.page(filters, "best", Window(FEW), viewer=viewer).items
    seen = {item["id"] for item in found}
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
