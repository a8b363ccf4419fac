"""The route of a project's badge."""

from typing import Any

from directory.db.paging import Window
from directory.http import languages
from directory.http.access import for_other_sites, public
from directory.http.cache_policy import CacheTags
from directory.http.endpoint import operation
from directory.language.messages import _, ngettext
from directory.pages.badge_drawing import DARK, LIGHT, drawn
from directory.pages.layout import PAGE, Page, PageAnswer, bp, here
from directory.services.catalog import catalog, periods
from directory.services.catalog.filters import Filters
from directory.services.catalog.periods import WEEK


@bp.get("/p/<id:project_id>/badge.svg")
@public
@operation(tier="read", page=True, parameters=frozenset({"theme"}), etag=True, cache=PAGE, media_type="image/svg+xml")
def badge(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Give the badge of a live project, in the language of the site: it is shown on pages elsewhere."""
    project = catalog.one(project_id, viewer=None)
    week = periods.containing(project["published_at"].date(), WEEK)
    first = (_first(str(week)) if project["upvotes"] else None) or project
    language, number = languages.of_app().catalogue(), project["upvotes"]
    votes = language.say(ngettext("{number} vote", "{number} votes", number, number=language.locale.number(number)))
    if number and first["id"] == project_id:
        votes += f" · {language.say(_('#1 of week {week}', week=week.first.isocalendar().week))}"
    page = Page(drawn(here().name, votes, DARK if query.get("theme") == "dark" else LIGHT, language).encode())
    # Another project becomes the first only by a vote that moves it to as many votes as the first one has, or past it.
    page.tags = CacheTags((project_id, first["id"]), first["upvotes"], first["upvotes"])
    return page, for_other_sites()


def _first(week: str) -> dict[str, Any] | None:
    """The project with the most votes of those that were published in a week; None without any."""
    filters = Filters(status="live", published=week)
    return next(iter(catalog.page(filters, "upvotes", Window(1, page=1), viewer=None).items), None)
