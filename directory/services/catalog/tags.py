"""The tags of live projects, most used first."""

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Select, String, bindparam, func, select

from directory.db.statements import Prepared, among
from directory.extensions import db
from directory.models import TagCount
from directory.services.catalog.columns import unindexed

# Up to so many tags with a prefix are sorted by use. If there are more, a scan of all tags in the order of their use
# finds enough of them soon.
FEW = 1_000
SEPARATOR, MOST = ",", 5  # of several tags that a list is narrowed to
BEHIND = "{"  # the character after z, the last one that a tag can contain

T = TagCount.__table__.c


def listed(prefix: str | None, limit: int) -> list[dict[str, Any]]:
    """At most `limit` tags that begin with `prefix`, with numbers of live projects; most used first, then by name."""
    values: dict[str, Any] = {"limit": limit}
    if prefix is not None:
        values |= {"first": prefix, "behind": f"{prefix}{BEHIND}"}
    dialect = db.engine.dialect.name
    return [{"tag": tag, "live_projects": number} for tag, number in _statement(_way(values), dialect).all(values)]


def by_name(page: int, size: int) -> tuple[list[dict[str, Any]], bool]:
    """The tags of a page of so many, by name, with numbers of live projects; and whether the page is the last one."""
    values = {"limit": size + 1, "skipped": (page - 1) * size}
    listed = [{"tag": tag, "live_projects": number} for tag, number in _by_name().all(values)]
    return listed[:size], len(listed) <= size


def split(text: str) -> list[str]:
    """The tags of a filter for several; one that is repeated counts once, a blank one not at all."""
    return sorted({tag.strip(" ") for tag in text.split(SEPARATOR)} - {""})


def used(names: list[str]) -> dict[str, int]:
    """The numbers of live projects that have each of some tags, the rarest tag first."""
    counted: dict[str, int] = dict(_numbers(db.engine.dialect.name).all({"names": names}))
    return {tag: counted.get(tag, 0) for tag in sorted(names, key=lambda tag: (counted.get(tag, 0), tag))}


def _way(values: dict[str, Any]) -> str:
    """The method: "all" tags in their order, or those with a prefix, "sorted" or "sought" among all."""
    if "first" not in values:
        return "all"
    counted = _number().first({**values, "limit": FEW + 1})
    return "sought" if counted is not None and counted[0] > FEW else "sorted"


@cache
def _numbers(dialect: str) -> Prepared:
    return Prepared(select(T.tag, T.live_projects).where(among(T.tag, dialect, "names", String)))


@cache
def _by_name() -> Prepared:
    used = select(T.tag, T.live_projects).where(T.live_projects > 0).order_by(T.tag)
    return Prepared(used.limit(_LIMIT).offset(bindparam("skipped", type_=BigInteger)))


@cache
def _number() -> Prepared:
    return Prepared(select(func.count()).select_from(_begun().limit(_LIMIT).subquery()), replan=True)


@cache
def _statement(way: str, dialect: str) -> Prepared:
    used = select(T.tag, T.live_projects).where(T.live_projects > 0)
    if way == "sorted":
        begun = _begun().cte("begun").prefix_with("MATERIALIZED")
        used = select(begun).where(begun.c.live_projects > 0)
    elif way == "sought":
        name = unindexed(T.tag, dialect)  # with the index of names, all tags with the prefix would be sorted
        used = used.where(name >= _FIRST, name < _LAST)
    columns = used.selected_columns
    return Prepared(used.order_by(columns.live_projects.desc(), columns.tag).limit(_LIMIT), replan=True)


def _begun() -> Select[Any]:
    return select(T.tag, T.live_projects).where(T.tag >= _FIRST, T.tag < _LAST)


_LIMIT: Any = bindparam("limit", type_=BigInteger)
_FIRST, _LAST = bindparam("first", type_=String), bindparam("behind", type_=String)
