"""What a list can be narrowed to: categories, the most used tags and own fields of its projects, with their numbers.

Of a list with more than `search.MOST` projects the newest ones are counted. They do not depend on votes, and neither
does an answer that shows them. Of a search, or a list by tags or own fields, that is known to have more, the numbers
are estimated from the newest quarter of these: to find so many takes long.

Counting takes much longer than reading a page of the list. So the process stores what was counted.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from sqlalchemy import Text, bindparam, cast, func, literal_column, select, true, union_all

from directory.db.paging import AnySelect, carried, directed, windowed
from directory.db.statements import Prepared
from directory.db.transactions import by_index, in_order
from directory.extensions import db
from directory.models import Project, Status
from directory.services.catalog import (
    best_match,
    category_slugs,
    own_counts,
    own_fields,
    own_filters,
    queries,
    search,
    shapes,
    stored_counts,
    tags,
    ways,
)
from directory.services.catalog.categories import Listed
from directory.services.catalog.fields import Kind
from directory.services.catalog.filters import Filters
from directory.services.catalog.own_fields import OwnField
from directory.services.catalog.stored_counts import StoredCounts

MOST = 10  # tags
PART = 4  # of the newest projects of such a list so many times fewer are counted
LOOK = 0.06  # what reading one project of a list takes, as so many times the look at one that an index of tags names
COLLECTING = 4  # what collecting a project with a value takes, as so many times the look-up of one project's value
# Projects with a tag. PostgreSQL would compare with more than 131,072 one by one, where work_mem is 4 MB.
IN_MEMORY = 100_000
TRUTHS = {"1": "true", "0": "false"}  # as SQLite reads them from JSON
# Up to so many live projects SQLite takes all matches from its index of words: then it has them much sooner than a scan
# of the list has tested the texts of the newest ones.
LISTED = 2_000_000
LIVE = Filters(status=Status.LIVE)
P = Project.__table__.c
Fields = Mapping[str, OwnField]
TAG, CATEGORY, FIELD, ALL = "tag", "category", "field", "all"  # the kinds of rows
NAMED = "field_{}"  # the parameters with the names of own fields


class Facets(NamedTuple):
    """The numbers of projects by the category's id, by tag and by the values of own fields, most first.

    `capped` says whether only some were counted.
    """

    categories: dict[int, int]
    tags: dict[str, int]
    fields: dict[str, dict[str, int]]
    capped: bool


stored = StoredCounts[Facets](1_000)


def of(filters: Filters, categories: list[Listed], found_by: ways.Matched | None = None) -> Facets:
    """The categories and tags, except the chosen ones, and own fields of the live projects that match `filters`.

    Categories are counted without regard to the category of `filters`, an own field to the filter by it. `categories`
    are all that there are, and `found_by` is what `ways.matched` returns for the filters, where the caller has it. To
    be called outside of transactions that write.
    """
    defined = own_fields.present()
    fields = own_filters.facets(defined)
    if filters == LIVE and not fields:
        return _of_all(categories)
    state = stored_counts.present(defined.stamp)

    def counted(filters: Filters, found_by: ways.Matched | None = None) -> Facets:
        make = partial(_made, filters, categories, found_by, state.live, fields)
        return stored.of(filters, state, make)

    made = counted(filters, found_by)
    asked, numbers, capped = filters.own or (), made.fields, made.capped
    for each in asked:
        if fields[each.field].kind in own_filters.COUNTED:
            wider = counted(replace(filters, own=tuple(other for other in asked if other is not each) or None))
            numbers = {**numbers, each.field: wider.fields.get(each.field, {})}
            capped = capped or wider.capped
    return made._replace(fields=own_filters.narrower(numbers, fields, asked), capped=capped)


def _made(
    filters: Filters, categories: list[Listed], found_by: ways.Matched | None, live: int, fields: Fields
) -> Facets:
    """The facets of a list in a directory with `live` live projects, those of own fields as they are counted."""
    found_by = found_by or ways.matched(filters)
    chosen = {name: field for name, field in fields.items() if field.kind in own_filters.COUNTED}
    known = own_counts.by_value(filters, chosen) if own_counts.are_known(filters) else None
    if filters == LIVE:
        return _of_all(categories)._replace(fields=known or {})
    kinds = (TAG, FIELD) if known is None and fields else (TAG,)
    if filters.category is None:
        narrowed = _counted(filters, found_by, (*kinds, CATEGORY), live, fields)
        return narrowed._replace(categories=_sorted(narrowed.categories, categories))
    narrowed, wider = _counted(filters, found_by, kinds, live, fields), replace(filters, category=None)
    all_, capped = _live(categories), False
    if wider != LIVE:
        all_, _, _, capped = _counted(wider, ways.matched(wider), (CATEGORY,), live, fields)
    is_present = any(each.slug == filters.category for each in categories)
    slug = filters.category if is_present else category_slugs.present(filters.category)
    others = [each for each in categories if each.slug != slug]
    of_fields = narrowed.fields if known is None else known
    return narrowed._replace(categories=_sorted(all_, others), fields=of_fields, capped=narrowed.capped or capped)


def _of_all(categories: list[Listed]) -> Facets:
    """The facets of all live projects, by the counters of categories and tags."""
    used = {each["tag"]: each["live_projects"] for each in tags.listed(None, MOST)}
    return Facets(_sorted(_live(categories), categories), used, {}, capped=False)


def _live(categories: list[Listed]) -> dict[int, int]:
    return {each.id: each.live_projects for each in categories}


def _sorted(counts: dict[int, int], categories: list[Listed]) -> dict[int, int]:
    """The categories that have a project, most first, equals by name, which is the order of `categories`."""
    found = sorted((each.id for each in categories if counts.get(each.id)), key=counts.__getitem__, reverse=True)
    return {each: counts[each] for each in found}


def _counted(
    filters: Filters, found_by: ways.Matched | None, kinds: tuple[str, ...], live: int, fields: Fields
) -> Facets:
    """The numbers of these kinds, as one statement counts them."""
    if found_by is None or found_by.is_empty:
        return Facets({}, {}, {}, capped=False)
    names, dialect, matches = tuple(found_by.narrowing), db.engine.dialect.name, found_by.matches
    is_scan, is_collected = matches in {shapes.CAPPED, shapes.MANY}, matches in {shapes.TESTED, shapes.COLLECTED}
    if filters.tag is not None and not filters.has_several_tags:
        if not matches:
            matches, names = _way(filters.tag, names, live)
        elif is_scan:  # few of the list have the tag: only their words are looked up
            names = _scanned(sum(tags.used([filters.tag]).values()), names)
    number = 0 if matches else _known(filters, found_by)
    part = PART if matches == shapes.CAPPED or number > search.MOST else 1
    if filters.own is not None and (is_scan or not matches):
        having = own_counts.at_most(filters.own)
        is_collected = having * (number or having) * COLLECTING < search.MOST // part * live
        names = own_filters.by_each(names, is_of_each=not is_collected)
    is_listed = is_scan and dialect == "sqlite" and live <= LISTED
    if is_listed and not (part > 1 and filters.tag is None and best_match.is_frequent(_search(filters, found_by))):
        names = tuple("q_in_memory" if name == "q" else name for name in names)
    shape = shapes.ListShape(names, filters.status, dialect, matches=matches)
    own = [name for name, field in fields.items() if field.kind in own_filters.COUNTED] if FIELD in kinds else []
    with _plan(matches, is_collected=is_collected):
        named = {NAMED.format(number): name for number, name in enumerate(own)}
        rows = _statement(shape, search.MOST // part, kinds, len(own)).all({**found_by.given, **named})
    numbers: dict[str, dict[str, int]] = {TAG: {}, CATEGORY: {}, FIELD: {}, ALL: {}}
    for kind, key, number in rows:
        numbers[kind][key] = number * part
    others = numbers[TAG].keys() - {*tags.split(filters.tag or "")}
    used = sorted(others, key=lambda tag: (-numbers[TAG][tag], tag))[:MOST]
    by_category = {int(key): number for key, number in numbers[CATEGORY].items()}
    used_tags = {tag: numbers[TAG][tag] for tag in used}
    return Facets(by_category, used_tags, _by_value(numbers[FIELD], fields), capped=numbers[ALL][""] > search.MOST)


def _search(filters: Filters, found_by: ways.Matched) -> best_match.Search:
    names = own_filters.by_each(found_by.narrowing)
    return best_match.Search(names, found_by.given, db.engine.dialect.name, filters.status)


def _by_value(numbers: Mapping[str, int], fields: Fields) -> dict[str, dict[str, int]]:
    """The numbers by field and value, of projects whose category has the field."""
    found: dict[str, dict[str, int]] = {}
    for key, number in numbers.items():
        name, category_id, text = key.split(" ", 2)
        field = fields[name]
        if field.is_in(int(category_id)):
            of_field = found.setdefault(name, {})
            for value in _values(text, field.kind):
                of_field[value] = of_field.get(value, 0) + number
    return found


def _values(text: str, kind: Kind) -> list[str]:
    """The values, as filters take them, that `_value` has as a text."""
    if kind is Kind.CHOICES:
        return json.loads(text)  # type: ignore[no-any-return]
    return [TRUTHS.get(text, text)] if kind is Kind.TRUTH else [text]


def _plan(matches: str, *, is_collected: bool) -> AbstractContextManager[None]:
    """What the planner of PostgreSQL may choose for projects that are found so."""
    if is_collected:
        return by_index()
    return nullcontext() if matches in {*shapes.BY_INDEX, shapes.TAGGED} else in_order()


def _known(filters: Filters, found_by: ways.Matched) -> int:
    """The number of projects of a list by tags or own fields; 0 if it is not known."""
    is_known = filters.own is not None or filters.has_several_tags or {*filters.given()} == {"status", "tag"}
    return ways.number(filters, found_by) if is_known else 0


def _way(tag: str, names: tuple[str, ...], live: int) -> tuple[str, tuple[str, ...]]:
    """How the newest projects with a tag are found, and the names of the filters for that.

    Those with a rare tag are collected and sorted. Otherwise the list is read until there are enough, and the projects
    with the tag are in memory, unless they are very many: then few of the list have to be looked up.
    """
    number = sum(tags.used([tag]).values())
    if number * number < search.MOST * live * LOOK:
        return shapes.TAGGED, names
    return "", _scanned(number, names)


def _scanned(number: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the filters for a scan of the list for the `number` projects with a tag."""
    return shapes.by_project(names, "tag_in_memory" if number <= IN_MEMORY else "tag_of_each")


@lru_cache(maxsize=200)
def _statement(shape: shapes.ListShape, most: int, kinds: tuple[str, ...], own: int) -> Prepared:
    """The numbers of these kinds among the newest `most` projects; and how many there are, `most` + 1 for more.

    `own` is the number of own fields that are counted.
    """
    ids, by, _ = queries.listed(shape)
    first = windowed(ids, by, "top", most).subquery("first")
    number = func.row_number().over(order_by=directed(carried(first, by), by, "top")).label("number")
    matched = select(first.c.id, number).cte("matched").prefix_with("MATERIALIZED")
    columns = [P.category_id, *([P.tags] if TAG in kinds else ()), *([P.fields] if own else ())]
    row: Any = select(*columns).where(P.id == matched.c.id).correlate(matched)
    of_project = search.looked_up(row) if shape.dialect == "postgresql" else P.id.table
    shown = [of_project.c[column.name] for column in columns if column is not P.fields]
    values = [_value(of_project.c.fields, shape.dialect, place) for place in range(own)]
    counted: Any = select(*shown, *values).where(matched.c.number <= most)
    counted = counted.join_from(matched, of_project, true() if shape.dialect == "postgresql" else P.id == matched.c.id)
    counted = counted.cte("counted").prefix_with("MATERIALIZED")
    parts = [_PARTS[kind](counted, shape.dialect) for kind in kinds if kind != FIELD]
    parts += [_by_field(counted, place) for place in range(own)]
    size: AnySelect = select(literal_column(f"'{ALL}'"), literal_column("''"), func.count()).select_from(matched)
    return Prepared(union_all(*(select(part.subquery()) for part in parts), size), replan=True)


def _by_tag(counted: Any, dialect: str) -> AnySelect:
    """The numbers by tag, from the rows of the projects: to look the tags up in their index takes much longer."""
    on_postgresql = dialect == "postgresql"
    each = func.jsonb_array_elements_text(counted.c.tags) if on_postgresql else func.json_each(counted.c.tags)
    tag, number = each.table_valued("value", name="each").c.value, func.count()
    query: AnySelect = select(literal_column(f"'{TAG}'").label("kind"), tag.label("key"), number.label("number"))
    in_bytes = tag.collate("C") if on_postgresql else tag  # the order of bytes, as tags are listed elsewhere
    query = query.select_from(counted).join(tag.table, true())
    return query.group_by(tag).order_by(number.desc(), in_bytes).limit(MOST + tags.MOST)


def _by_category(counted: Any, _dialect: str) -> AnySelect:
    key: Any = counted.c.category_id
    query: AnySelect = select(literal_column(f"'{CATEGORY}'").label("kind"), cast(key, Text).label("key"))
    return query.add_columns(func.count().label("number")).group_by(key)


def _value(own_fields: Any, dialect: str, place: int) -> Any:
    """The text of a project's value of an own field; that of several choices is a list in JSON."""
    name: Any = bindparam(NAMED.format(place), type_=Text)
    if dialect == "postgresql":
        return own_fields.op("->>")(name).label(name.key)
    return func.json_extract(own_fields, literal_column("'$.'").concat(name)).label(name.key)


def _by_field(counted: Any, place: int) -> AnySelect:
    """The numbers by category and by the text of a value. To look values up in their index takes longer."""
    name: Any = bindparam(NAMED.format(place), type_=Text)
    value: Any = counted.c[name.key]
    space: Any = literal_column("' '")
    key = name.concat(space).concat(cast(counted.c.category_id, Text)).concat(space).concat(cast(value, Text))
    query: AnySelect = select(literal_column(f"'{FIELD}'").label("kind"), key.label("key"))
    query = query.add_columns(func.count().label("number")).where(value.is_not(None))
    return query.group_by(counted.c.category_id, value)


_PARTS = {TAG: _by_tag, CATEGORY: _by_category}
