"""The extras of a run, by EXTRAS, and what their tests add to tables that tests of the core walk."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from directory.extras import chosen

FOLDER = Path(__file__).parents[1] / "extras"
ON = chosen(os.environ.get("EXTRAS", "all"))


def rows(table: str, *given: Any) -> dict[str, Any]:
    """The rows for a table, by a function of that name in `tables.py` of each extra that is on."""
    found: dict[str, Any] = {}
    for name in ON:
        if (FOLDER / name / "tables.py").exists():
            module = import_module(f"tests.extras.{name}.tables")
            found |= getattr(module, table)(*given) if hasattr(module, table) else {}
    return found
