"""The tool that collects messages: what it takes from sources, and what it finds wrong in translations."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog

MANY = ("{number} vote for {title}", "{number} votes for {title}")


@pytest.fixture(scope="module")
def tool() -> Any:
    path = Path(__file__).resolve().parents[2] / ".ci" / "messages.py"
    spec = importlib.util.spec_from_file_location("messages_tool", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_messages_of_templates_and_modules_are_found_and_no_other_text_is(tool: Any, tmp_path: Path) -> None:
    template, module = tmp_path / "a.html", tmp_path / "a.py"
    template.write_text(
        'Plain {{ _("Hi {name}", name=x) }}{% set y = ngettext("{number} a", "{number} b", n) %}{{ "z" }}'
        '{{ pgettext("of sky", "Blue") }}'
    )
    module.write_text(
        'plain = "Plain"\nraise ValueError(_("Must " "be {what}.", what=f(_("so"))))\npgettext("of mood", "Blue")\n'
    )
    assert sorted(tool.of_template(template)) == [
        ("", "Hi {name}"), ("", "{number} a", "{number} b"), ("of sky", "Blue"),
    ]  # fmt: skip
    assert sorted(tool.of_module(module)) == [("", "Must be {what}."), ("", "so"), ("of mood", "Blue")]
    module.write_text("_(text)")
    with pytest.raises(SystemExit, match=r"a\.py:1: a message is a constant"):
        list(tool.of_module(module))


@pytest.mark.parametrize(
    ("message", "translation", "is_right"),
    [
        ("Hi {name}", "{name}, moin", True),
        ("Hi {name}", "Moin", False),
        ("Hi {name}", "Moin {nam}", False),
        ("Hi {name}", "", True),  # the English text stays
        (MANY, ("eine Stimme für {title}", "{number}: {title}"), True),
        (MANY, ("eine Stimme", "{number}: {title}"), False),
    ],
)  # fmt: skip
def test_a_translation_has_the_placeholders_of_its_message(
    tool: Any, message: Any, translation: Any, is_right: bool
) -> None:
    catalog = Catalog(locale="de")
    catalog.add(message, translation)
    assert (list(tool.faults(catalog)) == []) == is_right
