"""The routes of a project's card and of its badge, and what the core's pages show of them."""

from typing import Any

from flask import Blueprint, Response, current_app, request

from directory.db.paging import Window
from directory.extras.previews import cards
from directory.extras.previews.badge_drawing import DARK, LIGHT, drawn, snippet
from directory.http import languages
from directory.http.access import for_other_sites, is_closed, public
from directory.http.cache_policy import CacheTags
from directory.http.endpoint import operation, tag
from directory.language.messages import _, ngettext
from directory.models import now
from directory.pages.layout import PAGE, Page, PageAnswer, here, letters
from directory.services.catalog import catalog, periods
from directory.services.catalog.filters import Filters
from directory.services.catalog.periods import WEEK
from directory.services.pictures import logos
from directory.services.votes import weeks

bp = Blueprint("pages", __name__)


def in_head(project: dict[str, Any]) -> dict[str, Any]:
    """The picture in the head of a live project's page."""
    return {"image": f"/p/{project['id']}/card.png", "is_card": True}


def for_owner(project: dict[str, Any]) -> dict[str, Any]:
    """What the owner of a live project shows to others: its card, its address and badge, and its place."""
    if project["status"] != "live" or is_closed():
        return {"is_shown": False, "badge": None}
    week, place = weeks.place(project["id"], project["published_at"])
    shown = {"is_shown": True, "badge": snippet(project, here()), "place": place}
    return {**shown, "week": week, "week_is_over": now().date() > week.last}


@bp.get("/p/<id:project_id>/card.png")
@public
@operation(tier="read", page=True)
def card_of_project(project_id: int) -> Response:
    """Give the picture of a live project for previews of links."""
    project = catalog.one(project_id, viewer=None)
    site = here().name
    card = cards.Card(
        project["title"], project["tagline"], letters(cards.drawable(project["title"]) or site),
        logo=project["logo"] and logos.digest_of(project["logo"]["256"]),
        picture=logos.digest_of(project["pictures"][0]["640"]) if project["pictures"] else None,
        site=site, accent=current_app.config["SITE_ACCENT"].get("light", cards.ACCENT),
    )  # fmt: skip
    has_it = request.if_none_match.contains_weak(card.name)
    response = Response(b"" if has_it else cards.drawn(card), content_type="image/png")
    tag(response, card.name)
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers.update(for_other_sites())
    return response


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
