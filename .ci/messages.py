"""Collect the messages for the translators: python .ci/messages.py [check].

It writes directory/locale/messages.pot from the templates and the Python sources; `check` compares instead, and fails
if the file is not up to date.
"""

import ast
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from jinja2 import nodes
from jinja2.environment import Environment

ROOT = Path(__file__).resolve().parents[1]
POT = ROOT / "directory" / "locale" / "messages.pot"
MESSAGE, PLURAL = "_", "ngettext"
NOTE = "# The messages of the service. Made by .ci/messages.py: make words"

Found = tuple[str, ...]  # a message, or its singular and its plural


def of_template(path: Path) -> Iterator[Found]:
    """The messages of a template."""
    for call in Environment().parse(path.read_text()).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in {MESSAGE, PLURAL}:
            texts = [each.value for each in call.args[: 1 if call.node.name == MESSAGE else 2]]
            yield tuple(texts)


def of_module(path: Path) -> Iterator[Found]:
    """The messages of a Python module. Raises SystemExit for one that is no constant."""
    for call in ast.walk(ast.parse(path.read_text())):
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if name in {MESSAGE, PLURAL}:
            given: Any = call.args[: 1 if name == MESSAGE else 2]  # type: ignore[attr-defined]
            if not all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in given):
                raise SystemExit(f"{path}:{call.lineno}: a message is a constant text")  # type: ignore[attr-defined]
            yield tuple(each.value for each in given)


def collected() -> str:
    """The text of the file: the messages in the order of the files that have them."""
    catalog = Catalog(fuzzy=False)
    files = [*sorted(ROOT.glob("directory/templates/*.html")), *sorted(ROOT.glob("directory/**/*.py"))]
    for path in files:
        for found in (of_template if path.suffix == ".html" else of_module)(path):
            catalog.add(found if len(found) > 1 else found[0], locations=[(path.relative_to(ROOT).as_posix(), None)])
    out = io.BytesIO()
    write_po(out, catalog, width=120, omit_header=True)
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    # Babel marks those with percent signs and such for other formats than ours.
    lines = [line for line in out.getvalue().decode().splitlines() if not line.startswith("#, ")]
    return "\n".join([NOTE, header, *lines, ""])


def main(arguments: list[str]) -> None:
    """Write the file, or compare it. Raises SystemExit if it is not up to date."""
    text = collected()
    if not arguments:
        POT.parent.mkdir(exist_ok=True)
        POT.write_text(text)
    elif not POT.exists() or POT.read_text() != text:
        raise SystemExit("directory/locale/messages.pot is not up to date: run make words")


if __name__ == "__main__":
    main(sys.argv[1:])
