"""The setting EXTRAS, and what holds for every extra."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from directory import extras
from directory.extras import NAMES, chosen

FOLDER = Path(extras.__file__).parent


@pytest.mark.parametrize(
    ("value", "on"),
    [
        ("all", NAMES),
        ("none", ()),
        (NAMES[0], NAMES[:1]),
        (f"-{NAMES[0]}", NAMES[1:]),
        (",".join(f" -{name} " for name in NAMES), ()),
        (",".join(reversed(NAMES)), NAMES),
    ],
)
def test_the_setting_names_what_is_on_or_what_is_off(value: str, on: tuple[str, ...]) -> None:
    assert chosen(value) == on


@pytest.mark.parametrize("value", ["nothing", "-nothing", f"{NAMES[0]},nothing"])
def test_an_unknown_name_is_refused_by_name(value: str) -> None:
    with pytest.raises(ValueError, match=f"^'nothing' is not one of {', '.join(NAMES)}$"):
        chosen(value)


def test_names_with_and_without_a_minus_do_not_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "NAMES", ("one", "two"))
    with pytest.raises(ValueError, match="but not both"):
        chosen("one,-two")


def test_each_folder_is_listed_and_has_its_value() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == set(NAMES)
    for name in NAMES:
        assert isinstance(import_module(f"directory.extras.{name}").extra, extras.Extra)


def test_one_extra_at_most_judges_what_is_submitted() -> None:
    """So nobody has to say whose verdict counts."""
    assert sum(import_module(f"directory.extras.{name}").extra.on_submit is not None for name in NAMES) <= 1


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", NAMES)
def test_the_service_serves_without_an_extra(make_app: Any, name: str) -> None:
    assert make_app(EXTRAS=f"-{name}").test_client().get("/healthz").status_code == 200
