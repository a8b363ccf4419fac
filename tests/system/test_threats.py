"""The table of threats names a test for each attack, and each is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"\| [^|]+ \| [^|]+ \| (`tests/[\w/]+\.py::test_\w+`) \|")


def rows() -> list[str]:
    """The rows of the tables, without their heads."""
    lines = (ROOT / "docs" / "threats.md").read_text().splitlines()
    return [
        line
        for line in lines
        if line.startswith("|") and not line.startswith(("| Attack |", "| A browser sends |", "|---"))
    ]


def is_there(name: str) -> bool:
    path, _, function = name.strip("`").partition("::")
    tree = ast.parse((ROOT / path).read_text())
    return function in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_each_attack_has_a_test_that_is_there() -> None:
    found = [(row, ROW.fullmatch(row)) for row in rows()]
    assert [row for row, match in found if match is None or not is_there(match[1])] == []
    assert len(found) > 30


def test_a_test_that_is_not_there_is_found() -> None:
    assert not is_there("`tests/system/test_threats.py::test_of_nothing`")
    assert is_there("`tests/system/test_threats.py::test_each_attack_has_a_test_that_is_there`")
