"""Searches for words that many projects have: the same answers as a plain look at all, at a cost of few."""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from flask import Flask, current_app
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from directory.db.paging import Position, Slice, Window
from directory.db.transactions import by_index, lift_time_limits, on_postgresql, writing
from directory.extensions import db
from directory.models import Category
from directory.services.catalog import (
    best_match,
    categories,
    queries,
    search,
    search_counts,
    search_frequency,
    search_language,
    synonyms,
    ways,
)
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from tests.support.factories import World
from tests.support.lists import QUEUE_ORDERS
from tests.support.search_reference import expected, listed, made_up, same_as, written

QUERIES = (
    "ab", "abc", "a", "x", "ab cd", "cd abc", "node.js", "nodejs", "node js", "x ab", "nil", "the ab of cd",
    "for x", "to",
)  # fmt: skip
GROUPS = ("", "ab, x\ncd, node.js", "abc, nil, ab")  # of synonyms
KNOWN = ("abc", "cd", "node")  # words that the statistics list
SORTS = ("best", *QUEUE_ORDERS)
NARROWED: list[dict[str, Any]] = [
    {}, {}, {"category": "tools"}, {"status": "pending"}, {"status": None}, {"tag": "ab"}, {"tag": "node-js"},
    {"tag": "ab", "category": "tools"}, {"tag": "ab", "status": None}, {"tag": "x", "status": "pending"},
]  # fmt: skip


class Undone(Exception):
    """Ends a transaction that is to leave nothing behind."""


@contextmanager
def only_for_now() -> Iterator[None]:
    """A transaction that leaves nothing behind. On a busy machine the tests' own steps may be far apart in it."""
    with suppress(Undone), writing():
        lift_time_limits()
        yield
        raise Undone


@pytest.fixture
def places(app: Flask, world: World) -> Iterator[tuple[int, dict[str, int]]]:
    """An owner and the categories."""
    owner = world.user().id
    world.category("tools")
    world.category("games")
    with app.app_context():
        yield owner, {each.slug: each.id for each in db.session.query(Category)}


def walked(
    filters: Filters, sort: str, limit: int, *, forward: bool = True, start: Position | None = None
) -> list[int]:
    """The ids of a list page by page, by cursor."""
    ids: list[int] = []
    window = Window(limit, None if start else 1, start)
    while True:
        found = page(filters, sort, window, viewer=None)
        shown = [item["id"] for item in found.items]
        ids = ids + shown if forward else shown + ids
        position = found.next if forward else found.previous
        if position is None:
            return ids
        window = Window(limit, None, position)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32), query=st.sampled_from(QUERIES), limit=st.integers(1, 6), most=st.integers(2, 25),
    looked_at=st.integers(2, 12), better=st.integers(0, 4), look=st.sampled_from([0.0, 0.3, 100.0]),
    narrow=st.sampled_from(NARROWED),
    common=st.sets(st.sampled_from(["ab", "abc", "cd", "x", "node", "js"])), groups=st.sampled_from(GROUPS),
)  # fmt: skip
def test_every_order_is_what_a_look_at_each_project_gives(
    places: tuple[int, dict[str, int]], monkeypatch: Any, seed: int, query: str, limit: int, most: int,
    looked_at: int, better: int, look: float, narrow: dict[str, Any], common: set[str], groups: str,
) -> None:  # fmt: skip
    """By number and by cursor, forwards and back, wherever the numbers are between few matches and many."""
    monkeypatch.setitem(current_app.extensions, "synonyms", synonyms.parse(groups))
    same = same_as(groups)
    monkeypatch.setattr(search, "MOST", most)
    monkeypatch.setattr(best_match, "LOOKED_AT", (looked_at, 2 * looked_at))
    monkeypatch.setattr(best_match, "BETTER", better)
    monkeypatch.setattr(best_match, "LOOK", {"sqlite": look, "postgresql": look})
    if on_postgresql():  # any words may be the rarest, by which it finds all matches, or known to be common
        monkeypatch.setattr(search_frequency, "projects", lambda: 1e6 if most % 2 else 0.0)
        monkeypatch.setattr(search_frequency, "estimates", lambda: lambda word, _: 0.9 if word in common else 0.1)
        monkeypatch.setattr(search_frequency, "known", lambda: lambda word: [each for each in KNOWN if word in each])
    rng = random.Random(seed)
    made = [one._replace(tags=rng.choice([(), ("ab",), ("x", "node-js"), ("cd", "ab")])) for one in made_up(rng, 40)]
    filters = Filters(**{"status": "live", "q": query, **narrow})
    with only_for_now():
        written(made, *places)
        for sort in SORTS:
            right = expected(made, filters, sort, same)
            matching = len(expected(made, filters, "newest", same))
            assert walked(filters, sort, limit) == right, (sort, query)
            pages = [page(filters, sort, Window(limit, n), viewer=None) for n in (1, 2, 4)]
            for n, found in zip((1, 2, 4), pages, strict=True):
                assert [item["id"] for item in found.items] == right[(n - 1) * limit : n * limit], (sort, query, n)
                assert (found.total, found.total_capped) == (min(matching, most), matching > most)
            last = pages[1]
            if last.previous is not None:
                assert walked(filters, sort, limit, forward=False, start=last.previous) == right[:limit], (sort, query)


class Work:
    """What the database did: rows that PostgreSQL's plans went through, or steps of SQLite's machine, in hundreds."""

    def __init__(self) -> None:
        self.done = 0

    def explain(self, _conn: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        """Run a statement once more, to see what it does. What counts the matches by the index is not seen."""
        if statement.startswith("SET LOCAL") or "set_config" in statement or "AS surely" in statement:
            return
        driver = db.session.connection().connection.dbapi_connection
        sql = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
        with driver.cursor() as cursor:
            cursor.execute("SELECT 1")
        result = driver.pgconn.exec_params(sql.encode(), [None if v is None else _encoded(v) for v in values])
        self.done += _rows(json.loads(result.get_value(0, 0))[0]["Plan"])

    def step(self) -> int:
        self.done += 1
        return 0


def _encoded(value: Any) -> bytes:
    return (f"{{{','.join(map(str, value))}}}" if isinstance(value, list) else str(value)).encode()


def _rows(plan: dict[str, Any]) -> int:
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return int(own) + sum(_rows(part) for part in plan.get("Plans", []))


def work_of(filters: Filters, sort: str, window: Window) -> tuple[Slice, int]:
    """A page, and what it took."""
    work = Work()
    page(filters, sort, window, viewer=None)  # compiled
    if on_postgresql():
        event.listen(db.engine, "before_cursor_execute", work.explain)
    else:
        db.session.connection().connection.dbapi_connection.set_progress_handler(work.step, 100)
    try:
        return page(filters, sort, window, viewer=None), work.done
    finally:
        if on_postgresql():
            event.remove(db.engine, "before_cursor_execute", work.explain)
        else:
            db.session.connection().connection.dbapi_connection.set_progress_handler(None, 100)


@pytest.mark.parametrize("status", ["live", None])
@pytest.mark.parametrize("sort", SORTS)
def test_a_common_word_costs_the_same_in_a_directory_four_times_as_large(
    places: tuple[int, dict[str, int]], monkeypatch: Any, sort: str, status: str | None
) -> None:
    monkeypatch.setattr(search, "MOST", 60)
    monkeypatch.setattr(search_counts, "SPARE", 2)
    monkeypatch.setattr(best_match, "LOOKED_AT", (60,))
    filters, done = Filters(status=status, q="common"), []
    for size in (400, 1600):
        made = listed(2, size)
        if status is None:  # matches in each state that has projects
            made = [one._replace(status="pending" if one.id % 10 == 8 else "live") for one in made]
        with only_for_now():
            written(made, *places)
            if on_postgresql():
                db.session.connection().exec_driver_sql("ANALYZE projects, standings, project_search")
                if status is None:  # three lists of some hundreds it would rather sort than merge
                    db.session.connection().exec_driver_sql("SET LOCAL enable_sort = off")
            first, work = work_of(filters, sort, Window(5))
            assert first.total_capped
            assert len(first.items) == 5
            following, more = work_of(filters, sort, Window(5, None, first.next))
            assert len(following.items) == 5
            done.append((work, more))
    (small, small_more), (large, large_more) = done
    assert large <= 1.2 * small + 20, done
    assert large_more <= 1.2 * small_more + 20, done


@pytest.mark.parametrize(("matching", "scanning"), [(20, ()), (4, ("postgresql",)), (2, ("postgresql", "sqlite"))])
def test_the_matches_of_a_rare_word_are_collected_instead_of_a_scan_for_them(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str], matching: int, scanning: tuple[str]
) -> None:
    """By a cursor that goes back, for which best match looks at as many matches as it may.

    A scan for 20 matches reads 80 of 400 projects, of which every fourth matches. SQLite's index finds all 100 sooner.
    """
    monkeypatch.setattr(search, "MOST", 20)
    monkeypatch.setattr(best_match, "SAMPLE", 50)
    made, filters = listed(matching, 400), Filters(status="live", q="common")
    with only_for_now():
        written(made, *places)
        second = page(filters, "best", Window(5, 2), viewer=None)
        statements.clear()
        first = page(filters, "best", Window(5, None, second.previous), viewer=None)
        assert [item["id"] for item in first.items] == expected(made, filters, "best")[:5]
        assert (first.total, first.total_capped) == (20, True)
        is_scanned = any("most_voted" in each for each in statements)
        assert is_scanned == (db.engine.dialect.name in scanning)


def test_a_search_in_all_states_reads_each_state_in_the_order_of_its_index(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    monkeypatch.setattr(search, "MOST", 20)
    made, filters = listed(2, 400), Filters(q="common")
    with only_for_now():
        written(made, *places)
        for sort in SORTS:
            statements.clear()
            found = page(filters, sort, Window(5), viewer=None)
            assert [item["id"] for item in found.items] == expected(made, filters, sort)[:5]
            assert (found.total, found.total_capped) == (20, True)
            assert not any("gathered" in each for each in statements), sort
            assert len([each for each in statements if "search_matches" in each or "surely" in each]) == 1


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_no_statistics_have_the_functions_read_the_whole_index(places: tuple[int, dict[str, int]]) -> None:
    """Of so small a table the planner would read all rows, which is the cheapest way there."""
    calls = [
        f"search_matches(CAST('words' AS tsquery), {live}, {most})" for live in ("true", "false") for most in (5, 500)
    ]
    calls += [f"search_leading('{scope}', CAST('other' AS tsquery), 5)" for scope in ("title", "brief")]
    reads = text("SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'project_search'")
    with only_for_now():
        written(listed(2, 200), *places)
        before = db.session.scalar(reads)
        found = [len(db.session.execute(text(f"SELECT {call}")).all()) for call in calls]
        assert found == [1, 1, 1, 1, 5, 5]
        assert db.session.scalar(reads) == before


def test_the_best_matches_take_no_look_at_all_where_a_few_tell(
    places: tuple[int, dict[str, int]], monkeypatch: Any
) -> None:
    """Neither where all match alike nor where the few that match better are among the most voted."""
    monkeypatch.setattr(search, "MOST", 100)
    monkeypatch.setattr(best_match, "LOOKED_AT", (2, 90))
    given_values = {"most": 100, "cap": 151}
    made = listed(2, 400)
    with only_for_now():
        written(made, *places)
        dialect = db.engine.dialect.name
        values = given_values | (search_language.expressions("common", dialect) or {})
        asked = best_match.Search(("status", "q"), values, dialect, "live")
        first = best_match.page(asked, Window(5))
        assert first is not None
        assert [match.id for match in first] == expected(made, Filters(status="live", q="common"), "best")[:6]
        assert [match.rank for match in first] == [6, 6, 0, 0, 0, 0]
        after = best_match.page(asked, Window(5, None, Position(tuple(first[4]), forward=True)))
        assert after is not None
        assert after[0] == first[5]
        assert best_match.page(asked, Window(5, None, Position(tuple(first[4]), forward=False))) is None


def test_a_better_match_with_few_votes_takes_a_look_at_all(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    monkeypatch.setattr(search, "MOST", 100)
    monkeypatch.setattr(best_match, "SAMPLE", best_match.LOOKED_AT[0])
    monkeypatch.setattr(best_match, "LOOK", {"sqlite": 0.0, "postgresql": 0.0})
    made = [one._replace(upvotes=0) if one.title == "common" else one for one in listed(2, 400)]
    filters = Filters(status="live", q="common")
    with only_for_now():
        written(made, *places)
        dialect = db.engine.dialect.name
        values = {"most": 100, "cap": 151, **(search_language.expressions("common", dialect) or {})}
        asked = best_match.Search(("status", "q"), values, dialect, "live")
        assert best_match.page(asked, Window(5)) is None
        statements.clear()
        assert not best_match.is_rare(asked)
        assert len(statements) == 1  # the number of projects; it knows the sample from the page
        found = page(filters, "best", Window(5), viewer=None)
        assert [item["id"] for item in found.items] == expected(made, filters, "best")[:5]


def test_a_project_that_goes_meanwhile_shortens_no_page(places: tuple[int, dict[str, int]], monkeypatch: Any) -> None:
    monkeypatch.setattr(search, "MOST", 100)
    made = listed(2, 400)
    with only_for_now():
        written(made, *places)
        shown = queries.these(False, db.engine.dialect.name)
        monkeypatch.setattr(queries, "these", lambda *_: Without(shown))
        found = page(Filters(status="live", q="common"), "best", Window(5), viewer=None)
        assert [item["id"] for item in found.items] == expected(made, Filters(status="live", q="common"), "best")[:5]
        assert found.next is not None


class Without:
    """A statement whose last row has gone."""

    def __init__(self, statement: Any) -> None:
        self.statement = statement

    def all(self, values: dict[str, Any]) -> list[Any]:
        return self.statement.all(values)[:-1]  # type: ignore[no-any-return]


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_of_common_words_the_index_is_asked_for_the_rarest_alone(
    places: tuple[int, dict[str, int]], monkeypatch: Any
) -> None:
    """It reads all entries of a word that it is asked for, so common ones must not be among its conditions."""
    shares = {"common": 0.9, "words": 0.9, "thing": 0.001}
    monkeypatch.setattr(search_frequency, "estimates", lambda: lambda word, _: shares.get(word, 0.0))
    filters, plans = Filters(status="live", q="common words thing"), list[str]()

    def explain(_conn: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        if "rarest" in str(values) or "'thing'" in str(values):
            driver = db.session.connection().connection.dbapi_connection
            given_values = [None if v is None else _encoded(v) for v in values]
            result = driver.pgconn.exec_params(f"EXPLAIN {statement}".encode(), given_values)
            plans.append("\n".join(result.get_value(n, 0).decode() for n in range(result.ntuples)))

    with only_for_now():
        written(listed(2, 200), *places)
        event.listen(db.engine, "before_cursor_execute", explain)
        found = page(filters, "newest", Window(5), viewer=None)
        event.remove(db.engine, "before_cursor_execute", explain)
        assert [item["id"] for item in found.items] == expected(listed(2, 200), filters, "newest")[:5]
    conditions = [line for plan in plans for line in plan.splitlines() if "Index Cond" in line and "@@" in line]
    assert len(plans) == len(conditions) == 2, plans  # they are counted, then collected
    for condition in conditions:
        assert "thing" in condition
        assert "''common''" not in condition
        assert "''words''" not in condition
    assert not any("Seq Scan on project_search " in plan for plan in plans), plans


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_that_many_match_is_known_without_a_look_at_all_words_with_a_beginning(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    monkeypatch.setattr(search, "MOST", 20)
    monkeypatch.setattr(search_counts, "SPARE", 2)
    known = {"com": ["common"], "wor": ["words"], "thi": ["things"]}
    monkeypatch.setattr(search_frequency, "estimates", lambda: lambda word, _: 0.5)
    monkeypatch.setattr(search_frequency, "projects", lambda: 400.0)
    monkeypatch.setattr(ways, "RELATED", 3)
    monkeypatch.setattr(search_frequency, "known", lambda: lambda word: known.get(word, []))
    many, others = Filters(status="live", q="com wor"), Filters(status="live", q="com thi")
    made, plans = listed(2, 400), list[str]()

    def explain(_conn: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        if "AS surely" in statement:
            driver = db.session.connection().connection.dbapi_connection
            result = driver.pgconn.exec_params(f"EXPLAIN {statement}".encode(), [_encoded(value) for value in values])
            plans.append("\n".join(result.get_value(n, 0).decode() for n in range(result.ntuples)))

    with only_for_now():
        written(made, *places)
        event.listen(db.engine, "before_cursor_execute", explain)
        for filters, is_enough in ((many, True), (others, False)):
            statements.clear()
            found = page(filters, "newest", Window(5), viewer=None)
            assert [item["id"] for item in found.items] == expected(made, filters, "newest")[:5]
            assert (found.total, found.total_capped) == (20, True)
            assert any("search_matches" in each for each in statements) != is_enough
        event.remove(db.engine, "before_cursor_execute", explain)
    assert len(plans) == 2
    for plan in plans:
        # With few rows the planner may read one of the two indexes for both.
        assert "ix_project_search_" in plan, plan
        assert not re.search(r"Seq Scan on project_search\b", plan), plan
        assert ":*" not in plan
        assert "Seq Scan on project_search " not in plan


def test_the_projects_of_a_common_tag_are_not_looked_through_for_a_common_word(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    """The index has the words of tags too: it finds the projects with both, and they are counted by it."""
    monkeypatch.setattr(search, "MOST", 20)
    made = [one._replace(tags=("node-js",) if one.id % 3 else ()) for one in listed(2, 400)]
    filters = Filters(status="live", q="common", tag="node-js")
    with only_for_now():
        written(made, *places)
        for sort in SORTS:
            statements.clear()
            found = page(filters, sort, Window(5), viewer=None)
            assert [item["id"] for item in found.items] == expected(made, filters, sort)[:5]
            assert (found.total, found.total_capped) == (20, True)
            assert not any("within" in each for each in statements), statements


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
@pytest.mark.parametrize("narrow", [{"category": "tools"}, {"category": "games"}, {"published": "2026"}])
def test_a_narrowed_list_has_many_if_so_many_are_among_the_first_matches(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str], narrow: dict[str, Any]
) -> None:
    """Then nothing counts its own matches; and where its category has few projects, no match is looked at."""
    monkeypatch.setattr(search, "MOST", 20)
    monkeypatch.setattr(search_counts, "SPARE", 2)
    monkeypatch.setattr(ways, "FIRST", 200)
    made = [one._replace(category="games" if one.id % 30 == 0 else "tools") for one in listed(2, 400)]
    filters = Filters(status="live", q="common", **narrow)
    with only_for_now():
        written(made, *places)
        for sort in SORTS:
            statements.clear()
            found = page(filters, sort, Window(5), viewer=None)
            assert [item["id"] for item in found.items] == expected(made, filters, sort)[:5]
            matching = len(expected(made, filters, "newest"))
            assert (found.total, found.total_capped) == (min(matching, 20), matching > 20)
            looked = [each for each in statements if "AS within" in each and "project_search MATCH" in each]
            assert len(looked) == (narrow != {"category": "games"}), statements


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_matches_are_looked_up_one_by_one_rather_than_joined_with_all_projects(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    """The planner takes a join with the whole table for cheaper, where the texts alone are hundreds of megabytes."""
    with only_for_now():
        written(listed(2, 400), *places)
        page(Filters(status="live", q="common"), "best", Window(5), viewer=None)
    assert statements[-1].count("LATERAL") == 2, statements[-1]
    assert statements[-1].count("OFFSET 0") == 2, statements[-1]


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_the_shares_of_words_are_those_of_the_statistics(
    places: tuple[int, dict[str, int]], monkeypatch: Any, statements: list[str]
) -> None:
    monkeypatch.setattr(search_frequency, "_read", {})
    with only_for_now():
        # The statistics of tests before this one, should PostgreSQL have collected some.
        db.session.connection().exec_driver_sql("DELETE FROM pg_statistic WHERE starelid = 'project_search'::regclass")
        assert search_frequency.estimates() is None
        written(listed(4, 400), *places)
        db.session.connection().exec_driver_sql("ANALYZE project_search")
        assert search_frequency.estimates() is None  # until they are read again
        monkeypatch.setattr(search_frequency, "SECONDS", 0.0)
        share = search_frequency.estimates()
        assert share is not None
        assert [round(share("common", begun), 2) for begun in (False, True)] == [0.25, 0.25]
        assert [share("words", False), share("wor", True)] == [1.0, 1.0]
        assert share("wor", False) == share("nothing", True) < 0.25
        assert [search_frequency.known()(word) for word in ("comm", "nothing")] == [["common"], []]
        assert search_frequency.projects() == 400
        monkeypatch.setattr(search_frequency, "SECONDS", 600.0)
        statements.clear()
        assert search_frequency.estimates() is not None
        assert not statements


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_setting_of_the_planner_holds_for_its_block_alone(app: Flask, world: World, statements: list[str]) -> None:
    slugs = [world.category(slug) for slug in ("games", "tools")]
    with app.app_context():
        listed = categories.listed()
        with by_index():
            statements.clear()
            assert [each.slug for each in listed] == slugs
            assert not statements  # it reads none of them again
        setting = text("SHOW enable_seqscan")
        assert db.session.scalar(setting) == "on"  # a read before it, which is no transaction of the database
        with by_index():
            assert db.session.scalar(setting) == "off"
        assert db.session.scalar(setting) == "on"
        with only_for_now():
            with by_index():
                assert db.session.scalar(setting) == "off"
            assert db.session.scalar(setting) == "on"
        assert db.session.scalar(setting) == "on"
        db.session.remove()
