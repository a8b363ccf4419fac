"""Only `directory/services/permissions.py` asks whether a person may do something.

No other module of `directory/`, read as syntax, takes one of FLAGS from a caller, compares a caller with an owner, or
compares anything with `refuse`, the word of SELF_REVIEW. A caller is a parameter of that type, what a function of
MAKERS returns, and what an object has as `by` or `caller`. A condition of a statement may name an owner: its column
belongs to a table, whose name begins with a capital, or to `.c`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

DIRECTORY = Path(__file__).parent.parent.parent / "directory"
ASKER = DIRECTORY / "services" / "permissions.py"
FLAGS = {"role", "is_admin", "review_categories", "role_by_passkey", "unconfirmed"}
MAKERS = {"caller", "viewer", "as_editor", "as_allowed", "require_person", "Caller"}
HOLDERS = {"by", "caller"}


def callers(tree: ast.AST) -> set[str]:
    """The names that a module gives to callers."""
    found = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.arg)
            and node.annotation is not None
            and "Caller" in ast.unparse(node.annotation).split()
        ):
            found.add(node.arg)
        elif isinstance(node, ast.NamedExpr) and is_made(node.value):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                found |= {name.id for name, value in pairs if isinstance(name, ast.Name) and is_made(value)}
    return found


def is_made(node: ast.AST) -> bool:
    """Whether an expression is a call that returns a caller."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in MAKERS


def is_owner(node: ast.AST) -> bool:
    """Whether an expression is the id of an owner, in a row, a value or an answer."""
    if isinstance(node, ast.Name):
        return node.id == "owner_id"
    if isinstance(node, ast.Attribute) and node.attr == "owner_id":
        of_table = isinstance(node.value, ast.Name) and node.value.id[0].isupper()
        return not (of_table or ast.unparse(node.value).endswith(".c"))
    return isinstance(node, ast.Subscript) and ast.unparse(node).endswith("['owner']['id']")


def questions(source: str) -> Iterator[str]:
    """The expressions of a module that ask what a caller may do."""
    tree = ast.parse(source)
    names = callers(tree)

    def is_caller(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in names
        return (isinstance(node, ast.Attribute) and node.attr in HOLDERS) or is_made(node)

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in FLAGS and is_caller(node.value):
            yield ast.unparse(node)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            by_id = any(
                isinstance(each, ast.Attribute) and each.attr == "id" and is_caller(each.value) for each in sides
            )
            is_word = any(isinstance(each, ast.Constant) and each.value == "refuse" for each in sides)
            if is_word or (by_id and any(map(is_owner, sides))):
                yield ast.unparse(node)


def test_no_other_module_asks_what_a_caller_may_do() -> None:
    asked = {
        str(path.relative_to(DIRECTORY)): found
        for path in DIRECTORY.rglob("*.py")
        if path != ASKER and (found := [*questions(path.read_text(encoding="utf-8"))])
    }
    assert asked == {}
    assert len([*questions(ASKER.read_text(encoding="utf-8"))]) > 5


@pytest.mark.parametrize(
    "line",
    [
        "def f(by: Caller): return by.role",
        "def f(viewer: Caller | None): return viewer and viewer.is_admin",
        "who = caller(); who.unconfirmed",
        "permissions.as_editor(by, 1, '').role",
        "a, b = 1, viewer(); b.id == project['owner']['id']",
        "vote.by.review_categories",
        "def f(by: Caller, project): return project.owner_id != by.id",
        "owner_id == current().caller.id",
        "config['SELF_REVIEW'] == 'refuse'",
    ],
)
def test_each_way_to_ask_is_found(line: str) -> None:
    assert [*questions(line)]


@pytest.mark.parametrize(
    "line",
    [
        "def f(by: Caller): return Project.owner_id == by.id",
        "def f(by: Caller): return t.c.owner_id == by.id",
        "user.role",
    ],
)
def test_conditions_of_statements_and_rows_of_accounts_may_be_read(line: str) -> None:
    assert not [*questions(line)]
