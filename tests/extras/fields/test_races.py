"""Sixteen at once: of changes to one definition, of new ones, and of one project's values."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, ada, admin, define, submit
from tests.support.factories import Api, World

__all__ = ["ada", "admin"]
NUMBER = 16


def at_once(ask: Callable[[int], Any]) -> list[int]:
    """The states of sixteen answers that were asked for at once, sorted."""
    with ThreadPoolExecutor(NUMBER) as pool:
        return sorted(answer.status_code for answer in pool.map(ask, range(NUMBER)))


def test_of_those_who_change_or_add_one_definition_at_once_one_wins(world: World, admin: Api) -> None:
    define(admin, OTHERS[0], OTHERS[1])
    callers = [world.caller(world.admin()) for _ in range(NUMBER)]
    tags = {"If-Match": admin.get(f"{FIELDS}/team").headers["ETag"]}
    assert (
        at_once(lambda n: callers[n].put(f"{FIELDS}/team", {"label": f"Team {n}"}, headers=tags)) == [200] + [412] * 15
    )
    orders = {"If-Match": admin.get(FIELDS).headers["ETag"]}
    turned = {"order": ["docs", "team"]}
    assert at_once(lambda n: callers[n].put(f"{FIELDS}/order", turned, headers=orders)) == [200] + [412] * 15
    assert at_once(lambda n: callers[n].post(FIELDS, LICENSE)) == [201] + [409] * 15
    tags = {"If-Match": admin.get(f"{FIELDS}/license").headers["ETag"]}
    assert at_once(lambda n: callers[n].delete(f"{FIELDS}/license", headers=tags)) == [204] + [404] * 15
    assert [each["name"] for each in admin.get(FIELDS).json["items"]] == ["docs", "team"]


def test_of_those_who_change_one_value_at_once_one_wins_and_others_lose_nothing(
    world: World, admin: Api, ada: Api
) -> None:
    define(admin, OTHERS[0], PLATFORMS, *({**OTHERS[0], "name": f"team_{n}"} for n in range(NUMBER)))
    path = submit(ada)
    tags = {"If-Match": ada.get(path).headers["ETag"]}
    callers = [world.caller(world.admin()) if n % 2 else ada for n in range(NUMBER)]

    def named(n: int, name: str, **options: Any) -> Any:
        return callers[n].put(path, {"fields": {name: f"Team {n}"}}, **options)

    assert at_once(lambda n: named(n, "team", headers=tags)) == [200] + [412] * 15
    assert at_once(lambda n: named(n, f"team_{n}")) == [200] * NUMBER
    values = ada.get(path).json["fields"]
    assert len(values) == 1 + NUMBER
    assert {name: text for name, text in values.items() if name != "team"} == {
        f"team_{n}": f"Team {n}" for n in range(NUMBER)
    }
