"""The orders and the filters of the lists, as the schemas of the routes have them: a new one is then tested as well."""

from typing import Any, cast

from marshmallow import Schema

from directory.api.schemas.lists import ProjectQuery
from directory.api.schemas.review import QueueQuery
from directory.api.schemas.users import UsersQuery
from directory.http.fields import Word
from directory.models import now
from directory.services.catalog.orders import SORTS


def _orders(query: Schema) -> tuple[str, ...]:
    return cast(Word, query.fields["sort"]).words


ORDERS = tuple(name for name in _orders(ProjectQuery()) if name in SORTS)  # that of picks is of these alone
QUEUE_ORDERS, USER_ORDERS = (_orders(query) for query in (QueueQuery(), UsersQuery()))
ORDERS_BY_VOTES = tuple(name for name in ORDERS if SORTS[name].by_votes)
THIS_YEAR = str(now().year)  # in which tests publish projects
# What picks are is tested in tests/extras/picks.
FILTERS = ProjectQuery().fields.keys() - {"sort", "page", "limit", "cursor", "picked"}


def by_each_filter(**values: Any) -> list[str]:
    """Queries that each narrow the public list by one filter; `values` must have all filters that need no sign-in."""
    missing = FILTERS - {"upvoted"} - values.keys()
    assert not missing, f"this test needs values for the filters {sorted(missing)}"
    return [f"{name}={value}" for name, value in values.items()]
