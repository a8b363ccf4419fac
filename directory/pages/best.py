"""The best projects of a day, a week, a month or a year: the list by votes of one period."""

from datetime import date

from werkzeug.routing import RequestRedirect

from directory.errors import NotFound
from directory.http.access import public
from directory.language.messages import Message, _
from directory.models import now
from directory.pages.layout import PageAnswer, address_with, bp, page_view
from directory.pages.paged_lists import show_list
from directory.services.catalog import best, periods
from directory.services.catalog.filters import Filters
from directory.services.catalog.periods import DAY, MONTH, WEEK, YEAR, Period

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
    today, around = now().date(), best.around(period)
    return show_list(
        "best.html", _title(period, today), INTROS[period.kind], _address(period), query,
        Filters(status="live", published=str(period)), "upvotes",
        may_be_empty=period.first <= today <= period.last, period=period, nothing=EMPTY[period.kind],
        kinds=[(name, periods.containing(around.newest or today, kind)) for kind, name in KINDS.items()],
        before=around.before, after=around.after, root=PATH,
    )  # fmt: skip


def _title(period: Period, today: date) -> Message:
    """The heading; that of a week has its days, and the year of another year."""
    if period.kind != WEEK:
        return _("Best of {period}", period=period.name)
    days = period.days
    if period.last.year != today.year:
        days = _("{month} {year}", month=days, year=period.last.year)
    return _("Best of the week, {days}", days=days)


def _address(period: Period) -> str:
    return f"{PATH}/{period}"
