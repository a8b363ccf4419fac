"""The tool that collects messages: what it takes from sources, and what it finds wrong in translations."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog

import directory
from directory.errors import DirectoryError
from directory.http.problem_kinds import KINDS
from directory.language import po
from directory.language.messages import Message
from tests.support import extras

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


ROOT = Path(directory.__file__).parent
SHIPPED = ("de", "fr", "es", "pt-BR", "ja", "ar")


def below(error: type[DirectoryError]) -> list[type[DirectoryError]]:
    """A class of refusals, and all that are derived from it."""
    return [error, *(found for each in error.__subclasses__() for found in below(each))]


for name in extras.ON:
    import_module(f"directory.extras.{name}")  # some have refusals of their own
REFUSING = {each.__name__ for each in below(DirectoryError)} | {"ValidationError", "Range"}
OF_COMMANDS = {"cli", "data", "runtime"}  # which are English alone


def test_every_text_of_a_refusal_is_a_message() -> None:
    """What people read of a refusal stands within `_`: where it is raised, as its default, and as a problem's title."""
    found = [f"{each.__name__}: {each.default}" for each in below(DirectoryError) if type(each.default) is not Message]
    found += [f"{code}: {kind.title}" for code, kind in KINDS.items() if type(kind.title) is not Message]
    for path in ROOT.rglob("*.py"):
        if not OF_COMMANDS & {*path.relative_to(ROOT).parts}:
            found += [f"{path.relative_to(ROOT)}: {text}" for text in untranslated(ast.parse(path.read_text()))]
    assert found == []


def untranslated(module: ast.AST) -> Iterator[str]:
    """The sentences that a module gives to what refuses, outside of messages."""
    for call in ast.walk(module):
        if not isinstance(call, ast.Call):
            continue
        named = call.func.value if isinstance(call.func, ast.Attribute) else call.func  # Invalid.field(…)
        if isinstance(named, ast.Name) and named.id in REFUSING:
            given = [*call.args, *(each.value for each in call.keywords if each.arg in {"detail", "error"})]
            yield from (text for each in given for text in sentences(each))


def sentences(value: ast.AST) -> Iterator[str]:
    """The constant texts of an expression that begin with a capital letter and have a blank, outside of calls."""
    if isinstance(value, ast.Constant) and re.match("[A-Z][a-z]* ", str(value.value)):
        yield str(value.value)
    for child in () if isinstance(value, ast.Call) else ast.iter_child_nodes(value):
        yield from sentences(child)


def test_a_text_outside_of_messages_is_found() -> None:
    refusals = ("LastAdmin('The last one.')", "Range(1, error=f'Must be {x}.')", "Invalid.field('x', 'Not a day.')")
    for each, text in zip(refusals, ("The last one.", "Must be ", "Not a day."), strict=True):
        assert [*untranslated(ast.parse(f"raise {each}"))] == [text]
    assert [*untranslated(ast.parse("Invalid.field('x', _('Not a day.'))"))] == []
    of_extras = {"providers": "NotAdmitted", "passkeys": "TooManyPasskeys"}
    assert {"LastAdmin", "SearchRefused", *(of_extras[name] for name in of_extras.keys() & extras.ON)} <= REFUSING


@pytest.mark.parametrize("tag", SHIPPED)
def test_every_title_of_a_problem_is_in_the_catalogue_of_each_language(tag: str) -> None:
    texts = po.catalogue(tag, po.our_files(tag)).texts
    assert [kind.title for kind in KINDS.values() if ("", kind.title) not in texts] == []
