"""The shelves of the first page, above the list."""

from directory.http.authentication import viewer
from directory.http.cache_policy import CacheTags
from directory.pages.layout import slot_values
from directory.services.catalog import front
from directory.services.catalog.categories import Listed


def shelves_of_first_page(listed: list[Listed]) -> list[front.Shelf]:
    """The shelves of the first page: that of an extra comes before the others."""
    first = slot_values("shelf", viewer()).get("shelf")
    return front.shelves([first] if first else [], listed, viewer=viewer())


def with_shelves(listed: CacheTags, shelves: list[front.Shelf]) -> CacheTags | None:
    """The cache tags of the newest projects with shelves; None where these show a rank, which any vote may change.

    Any vote among those of the best may change these; unless it is the full shelf of the week, so may the first vote of
    any project.
    """
    if any(shelf.kind == "category" for shelf in shelves):
        return None
    votes = [project["upvotes"] for shelf in shelves if shelf.kind in {"week", "thirty"} for project in shelf.projects]
    is_full = any(shelf.kind == "week" and len(shelf.projects) == front.BEST for shelf in shelves)
    lowest, highest = min(votes) if is_full else 0, max(votes, default=0)
    shown = (project["id"] for shelf in shelves for project in shelf.projects)
    return CacheTags((*listed.projects, *shown), lowest, highest)
