"""How the projects of a list are found and counted. All of it is for speed: each way finds the same projects.

A list without a query is read in its order from an index, until the page is full, with its filters tested for each
project. Four lists are collected whole and then sorted, because they are short: the projects with several tags, if at
most `search.MOST` have all of them (TAGGED); those that a user voted for; the picks; and those of a period, if they are
few, or if the ranking would be read for long before it has a page of them (`_length`). Counters have the total of most
lists; otherwise a statement counts.

A query has the matches counted first, up to a bound a little above `search.MOST` (`search_counts`), because a way that
is fast for a word of ten projects takes seconds for a word of half of them, and the reverse:

- FEW, at most MOST: the index of words finds all of them, and they are sorted. TESTED: the same for a query with one
  rare word among common ones. The index is asked for the rare one alone, and the others are tested.
- MANY: more than MOST match, but the list has filters that were not counted. It is scanned in its order, and each
  project tested; then its own matches are counted.
- CAPPED: the list itself has more than MOST matches, as was counted, or as the FIRST matches of the query show. It is
  scanned, and its total is MOST "and more".
- Best match of CAPPED ranks the MOST matches with the most votes. `best_match` looks at the first 64, 500 or 2,500 of
  them and proves that a page of these is the page of all. If it cannot, the list is scanned for all MOST; unless so few
  match that to collect all from the index is sooner (COLLECTED).

A count that exceeds MOST is stored, and holds until so many projects were removed that it may not be true any more. So
a common word is counted once. Which words are rare or common PostgreSQL's statistics say (`search_frequency`); a query
of common words is counted by some of their forms first, which mostly suffices.

With `least`, for what is nearest to a search that finds nothing, any so many words of the query are enough. These
combinations are not counted if a sample of the most voted projects says that very many match (`best_match.is_common`).
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

from directory.db.paging import Window
from directory.db.statements import Row
from directory.db.transactions import by_index, in_transaction
from directory.extensions import db
from directory.models import Status, now
from directory.services.catalog import (
    best_match,
    orders,
    own_counts,
    own_fields,
    own_filters,
    periods,
    queries,
    search,
    search_counts,
    search_frequency,
    search_language,
    shapes,
    stored_counts,
    tags,
)
from directory.services.catalog.columns import AFTER, ID, STATUS
from directory.services.catalog.filters import Filters
from directory.services.catalog.stored_counts import StoredCounts
from directory.services.identity import Caller

# Of a period SHORT projects, or one in SPARSE of all, are read and sorted. Of a longer one the ranking is read, where
# a look at one project costs as much as LOOKUP of those.
SHORT, SPARSE, LOOKUP = 10_000, 10, 5
STORED_BY = {"status", "category", "tag", "published", "own"}  # filters of lists whose numbers are stored
totals = StoredCounts[int](1_000)
COLLECTED = 5_000  # up to so many projects with values of own fields are collected for a page
FIRST = 100_000  # matches of a query that are looked at, to find that more than `search.MOST` are in a narrowed list
FIRST_BY = {"status", "q", "category", "published", "own"}  # filters of these lists
RELATED = 3  # times as many projects as expected may have all words of a query, since words occur together


class Matched(NamedTuple):
    """How the projects that match filters are found.

    `narrowing` has the values of the filters by their names in statements, `given` the parameters of the statements,
    `matches` the method of `shapes.ListShape`. `counted` is for a search, `total` for several tags.
    """

    narrowing: dict[str, Any]
    given: dict[str, Any]
    matches: str
    counted: search_counts.Matches | None
    total: int | None

    @property
    def is_empty(self) -> bool:
        """Whether a query is known to have no match. Then no statement has to ask the index of words again."""
        return self.counted is not None and self.counted.number == 0


def matched(filters: Filters, least: int | None = None) -> Matched | None:
    """How the projects that match `filters` are found; None if nothing matches: for example, the query has no word.

    With `least` so many words of the query are enough. Their matches are not counted where they are certainly many: to
    count those of many combinations of common words takes a second.
    """
    if filters.nothing:
        return None
    narrowing = _narrowing(filters)
    given = _parameters(filters, narrowing, least)
    if given is None:
        return None
    names = tuple(narrowing)
    if least is not None and _is_common(filters, names, given):
        return Matched(narrowing, given, shapes.CAPPED, None, None)
    is_search = filters.q is not None
    counted = search_counts.Matches(names, filters.status, given, db.engine.dialect.name) if is_search else None
    total = _total(narrowing, given, "") if filters.has_several_tags and counted is None else None
    way = _way(counted, total)
    if counted is not None and way == shapes.MANY and (many := _surely(filters, names, given)) > search.MOST:
        counted.store(many)
        way = shapes.CAPPED
    if filters.own is not None and db.engine.dialect.name == "sqlite":
        narrowing, total = _by_each(filters, narrowing, given, total)
    return Matched(narrowing, given, way, counted, total)


def _by_each(
    filters: Filters, narrowing: dict[str, Any], given: dict[str, Any], total: int | None
) -> tuple[dict[str, Any], int | None]:
    """The filters with own fields looked up for each project, and the number of the list if it was counted.

    So SQLite finds the first of many soonest, and those of a list that other filters make short. It would begin each
    page with a list of all projects with the values. PostgreSQL chooses by itself.
    """
    if _is_stored(filters):
        total = _number(filters, narrowing, given, "") if total is None else total
        if total <= COLLECTED:
            return narrowing, total
    return dict(zip(own_filters.by_each(narrowing), narrowing.values(), strict=True)), total


def rows(
    found_by: Matched, filters: Filters, sort: str, window: Window, viewer: Caller | None
) -> tuple[list[Row], int]:
    """The rows of a page and one more, and the number of all: of a query's matches at most `search.MOST` + 1."""
    narrowing, given, matches, counted, total = found_by
    if found_by.is_empty:
        return [], 0
    dialect, names = db.engine.dialect.name, tuple(narrowing)
    viewed = {} if viewer is None else {"viewer_id": viewer.id}
    can_rank = own_filters.others(names) <= {*best_match.NARROWED_BY, "published"}
    if sort == "best" and matches == shapes.CAPPED and can_rank:
        asked = best_match.Search(own_filters.by_each(names), given, dialect, filters.status)
        best = _best(asked, window, viewed)
        if best is not None:
            return best, search.MOST + 1
        matches = shapes.COLLECTED if best_match.is_rare(asked) else matches
    is_short, length = _length(filters, sort, window, matches, given)
    total = length if {*names} == {"status", "published"} else total
    synonyms = filters.q is not None and search_language.name(search_language.TYPED) in given
    shape = shapes.ListShape(names, filters.status, dialect, sort, matches, is_short, synonyms)
    statement = queries.page(shape, window.start, window.limit, viewer is not None)
    with by_index() if matches in {shapes.TESTED, shapes.COLLECTED} else nullcontext():
        found = statement.all({**given, **window.parameters(), **viewed})
    if found and total is None:
        total = found[0][AFTER[viewer is not None]]
    if total is None:
        total = search.MOST + 1 if matches == shapes.CAPPED else _number(filters, narrowing, given, matches)
    if counted is not None and matches == shapes.MANY:
        counted.store(int(total))
    return found, int(total)


def total(filters: Filters) -> int:
    """The number of projects that match `filters` without a query: from counters, if these have it."""
    narrowing = _narrowing(filters)
    return _total(narrowing, narrowing | _bounds(filters), "")


def _is_common(filters: Filters, names: tuple[str, ...], given: dict[str, Any]) -> bool:
    """Whether the matches are found as those of a query with very many matches, which is exact for any number."""
    can_look = filters.status == Status.LIVE and {*names} <= best_match.NARROWED_BY
    asked = best_match.Search(names, given, db.engine.dialect.name, filters.status)
    return can_look and best_match.is_common(asked)


def _way(counted: search_counts.Matches | None, total: int | None) -> str:
    """The method for a page: few matches of a search are collected; with more, the list is scanned for them.

    A narrowed list may have few of them, unless its matches were counted. So are the projects with several tags, if
    their number, `total`, is small.
    """
    if counted is None:
        return shapes.TAGGED if total is not None and total <= search.MOST else ""
    if counted.number is None:
        return shapes.CAPPED
    if counted.number <= search.MOST:
        return shapes.TESTED if counted.is_tested else shapes.FEW
    return shapes.CAPPED if counted.is_exact else shapes.MANY


def _surely(filters: Filters, names: tuple[str, ...], given: dict[str, Any]) -> int:
    """How many projects a list has at least, by the first matches of its query; 0 if too few are to be expected.

    PostgreSQL collects all matches before the first one. So it counts a list without own fields as soon by a scan.
    """
    dialect, is_year = db.engine.dialect.name, len(filters.published or "") <= len("2026")
    looks = is_year and (dialect == "sqlite" or filters.own is not None)
    if not looks or filters.status != Status.LIVE or not {*filters.given()} <= FIRST_BY:
        return 0
    _, live = search_counts.state()
    most = [live, *([own_counts.at_most(filters.own)] if filters.own else [])]
    most += [total(Filters(status=Status.LIVE, category=filters.category))] if filters.category else []
    if min(most) * FIRST < search.MOST * live:
        return 0
    looked_up = own_filters.by_each(shapes.without_query(names))
    shape = shapes.ListShape(looked_up, filters.status, dialect)
    with by_index():
        [[number]] = queries.among_matches(shape, FIRST).all(given)
    return int(number)


def _length(
    filters: Filters, sort: str, window: Window, matches: str, given: dict[str, Any]
) -> tuple[bool, int | None]:
    """Whether the projects of a period are collected for a list by votes, and their number; it is None if not counted.

    Otherwise the ranking is read from the top, and by `hot` from near the end of the period: `given` gets its ranks.
    """
    if None in {filters.published, filters.status} or orders.is_without_votes(sort):
        return False, None
    if matches in {*shapes.BY_INDEX, shapes.TAGGED} or filters.voter_id is not None or filters.picked is not None:
        return False, None  # these are collected
    [[number, total, votes]] = queries.length(str(filters.status), db.engine.dialect.name).all(given)
    begin, end = given["published_from"], given["published_until"]
    # With a margin of a week, that is ten times the votes: votes may come meanwhile.
    given |= {"hot_from": orders.hot(0, begin) - 1, "hot_until": orders.hot(votes, end) + 1}
    if number <= max(SHORT, total // SPARSE):
        return True, int(number)
    read = (window.skipped + window.limit) * (1 if sort == "popular" else total / number)
    return read * LOOKUP > number, int(number)


def _best(asked: best_match.Search, window: Window, viewed: dict[str, Any]) -> list[Row] | None:
    """The rows of a page of live projects, best match first; None if that needs all matches."""
    matches = best_match.page(asked, window)
    if matches is None:
        return None
    ids = [match.id for match in matches]
    status = asked.list.status
    shown = queries.these(bool(viewed), asked.list.dialect).all({**viewed, "ids": ids})
    by_id = {row[ID]: row for row in shown if status in {None, row[STATUS]}}
    if len(by_id) < len(matches):  # one has left the state
        return None
    return [(*by_id[match.id], search.MOST + 1, *match) for match in matches]


def number(filters: Filters, found_by: Matched) -> int:
    """The number of projects of a list without a query, as `_number` has it."""
    if found_by.total is not None:
        return found_by.total
    return _number(filters, found_by.narrowing, found_by.given, "")


def _number(filters: Filters, narrowing: dict[str, Any], given: dict[str, Any], matches: str) -> int:
    """The number of projects that match; of live ones with several values of own fields, as stored."""
    if (number := own_counts.number(filters)) is not None:
        return number
    if filters.own is None or not _is_stored(filters) or in_transaction():
        return _total(narrowing, given, matches)
    state = stored_counts.present(own_fields.present().stamp)
    return totals.of(filters, state, lambda: _total(narrowing, given, matches))


def _is_stored(filters: Filters) -> bool:
    return filters.status == Status.LIVE and {*filters.given()} <= STORED_BY


def _total(narrowing: dict[str, Any], given: dict[str, Any], matches: str) -> int:
    """The number of projects that match. Matches of a query are counted only up to `search.MOST` + 1."""
    if narrowing.keys() == {"status", "tag"} and narrowing["status"] == Status.LIVE:
        return tags.used([narrowing["tag"]])[narrowing["tag"]]
    dialect = db.engine.dialect.name
    shape = shapes.ListShape(tuple(narrowing), narrowing.get("status"), dialect, matches=matches)
    [[number]] = queries.count(shape).all(given)
    return int(number)


def _narrowing(filters: Filters) -> dict[str, Any]:
    """The values of the filters by their names in statements, where each tag has its own, the rarest one the first."""
    given = {name: value for name, value in filters.given().items() if name != "own"}
    given |= own_filters.narrowing(filters.own or ())
    if not filters.has_several_tags:
        return given
    return given | dict(zip(shapes.TAGS, tags.used(tags.split(str(filters.tag))), strict=False))


def _bounds(filters: Filters) -> dict[str, Any]:
    """What a statement may compare with: the present, the first and the last instant of the period, own fields."""
    given = {"present": now(), **own_filters.parameters(filters.own or ())}
    if filters.published is None:
        return given
    begin, end = periods.parse(filters.published).instants
    return {**given, "published_from": begin, "published_until": end}


def _parameters(filters: Filters, narrowing: dict[str, Any], least: int | None) -> dict[str, Any] | None:
    """The values for the statement of the filters; None if the query has no word, so that nothing matches."""
    given = {name: value for name, value in narrowing.items() if name != "q"} | _bounds(filters)
    if filters.q is None:
        return given
    dialect, query = db.engine.dialect.name, filters.q
    expressions = search_language.expressions(query, dialect, filters.tag, least, db.synonyms)
    if expressions is None:
        return None
    sooner = _sooner(query, filters.tag) if least is None else {}  # a part of the words says nothing of all
    return {**given, **expressions, **sooner, "most": search.MOST, "cap": search.MOST + 1 + search_counts.SPARE}


def _sooner(query: str, tag: str | None) -> dict[str, str]:
    """The conditions by which the matches of a query, many of them, or that there are none, are found sooner."""
    share = search_frequency.estimates()
    if share is None:
        return search_language.alone(query, db.synonyms) if db.engine.dialect.name == "sqlite" else {}
    is_many = search_language.expected(query, share) * search_frequency.projects() * RELATED > search.MOST
    known = search_language.known(query, search_frequency.known()) if is_many else []
    conditions = {search_language.KNOWN.format(n): condition for n, condition in enumerate(known)}
    rarest = search_language.rarest(query, tag, share, db.synonyms)
    return conditions if rarest is None else {**conditions, search_language.RAREST: rarest}
