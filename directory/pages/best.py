"""The best projects of a day, a week, a month or a year: the list by votes of one period."""

from werkzeug.routing import RequestRedirect

from directory.db.paging import Slice, Window
from directory.errors import NotFound
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.pagination import DEPTH
from directory.http.project_lists import page_tags
from directory.language.messages import _
from directory.models import now
from directory.pages import head
from directory.pages.layout import PageAnswer, address_with, bp, here, page_number, page_view, show
from directory.services.catalog import best, catalog, periods
from directory.services.catalog.filters import Filters
from directory.services.catalog.periods import DAY, MONTH, WEEK, YEAR, Period

SIZE = 20
PATH = "/best"
INTROS = {
    DAY: _("The projects that were published in this day, most votes first."),
    WEEK: _("The projects that were published in this week, most votes first."),
    MONTH: _("The projects that were published in this month, most votes first."),
    YEAR: _("The projects that were published in this year, most votes first."),
}
EMPTY = {
    DAY: _("Nothing has been published in this day so far."),
    WEEK: _("Nothing has been published in this week so far."),
    MONTH: _("Nothing has been published in this month so far."),
    YEAR: _("Nothing has been published in this year so far."),
}
KINDS = {DAY: _("Day"), WEEK: _("Week"), MONTH: _("Month"), YEAR: _("Year")}


@bp.get(PATH)
@public
@page_view
def this_week(query: dict[str, str]) -> PageAnswer:
    """Show the best projects of the current week."""
    return _page(periods.containing(now().date(), WEEK), query)


@bp.get(f"{PATH}/<published>")
@public
@page_view
def of_period(published: str, query: dict[str, str]) -> PageAnswer:
    """Show the best projects of a period; 404 for a past or a coming one without projects."""
    try:
        period = periods.parse(published.upper())
    except ValueError:
        raise NotFound from None
    if str(period) != published:
        raise RequestRedirect(address_with(_address(period), page=query.get("page")))
    return _page(period, query)


def _page(period: Period, query: dict[str, str]) -> PageAnswer:
    page, today = page_number(query), now().date()
    if page * SIZE > DEPTH:
        raise NotFound
    filters = Filters(status="live", published=str(period))
    found = catalog.page(filters, "upvotes", Window(SIZE, page=page), viewer=viewer())
    pages = min(-(-(found.total or 0) // SIZE), DEPTH // SIZE)
    if page > max(1, pages) or (not found.total and not period.first <= today <= period.last):
        raise NotFound
    around = best.around(period)
    shown = {"items": found.items, "pagination": {"page": page}}
    return show(
        "best.html", _head(period, page, pages, found), tags=page_tags(shown, {"sort": "upvotes"}),
        period=period, projects=found.items, found=found, page=page, pages=pages, first=(page - 1) * SIZE + 1,
        kinds=[(name, periods.containing(around.newest or today, kind)) for kind, name in KINDS.items()],
        intro=INTROS[period.kind], nothing=EMPTY[period.kind], before=around.before, after=around.after, root=PATH,
    )  # fmt: skip


def _head(period: Period, page: int, pages: int, found: Slice) -> head.Head:
    title = _("Best of {period}", period=period.name)
    return head.Head(
        head.paged(title, page),
        INTROS[period.kind],
        _address(period, page),
        previous=_address(period, page - 1) if page > 1 else "",
        next=_address(period, page + 1) if page < pages else "",
        data=[
            head.item_list(found.items, here(), (page - 1) * SIZE + 1),
            head.breadcrumbs(here(), (title, _address(period))),
        ],
    )


def _address(period: Period, page: int = 1) -> str:
    return address_with(f"{PATH}/{period}", page=page if page > 1 else None)
