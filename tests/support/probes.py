"""Measures which lines and branches of `directory/` run: a plugin, which `make check` gives to pytest.

Coverage's own tracer stops at each line of each test, which takes half as long again as the tests. SlipCover puts a
probe before each line and branch as a module is imported, and takes it out again when it has been passed. What it saw
is written as data of coverage.py, which combines and reports it, by its own rules for what counts as a line.
"""

import os
import runpy
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import slipcover
from coverage import CoverageData
from coverage.parser import PythonParser
from slipcover.importer import SlipcoverLoader

SOURCE = Path(__file__).parents[2] / "directory"

seen = slipcover.Slipcover(branch=True, source=[str(SOURCE)])
# For as long as the process lives: `directory` is imported after this module, by the first conftest.py.
matcher = slipcover.FileMatcher(sources=[str(SOURCE)])
slipcover.ImportManager(seen, matcher).__enter__()
run_path = runpy.run_path


def run_measured(path: str, *given: Any, **named: Any) -> dict[str, Any]:
    """Run a file as `runpy.run_path` does, which asks no importer: the settings of extras are read so."""
    if not matcher.matches(path):
        return run_path(path, *given, **named)
    module = ModuleType("<run_path>")
    SlipcoverLoader(seen, SourceFileLoader("<run_path>", path), path).exec_module(module)
    return vars(module)


runpy.run_path = run_measured  # type: ignore[assignment]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was seen, before a worker tells that it ends: xdist gives it no time afterwards."""
    data = CoverageData(f"{os.environ.get('COVERAGE_FILE', '.coverage')}.{os.getpid()}")
    files = {str(Path(file).absolute()): found for file, found in seen.get_coverage()["files"].items()}
    data.add_arcs({path: _arcs(path, found) for path, found in files.items()})
    data.touch_files(files)  # also where no line ran
    data.write()


def _arcs(path: str, found: Any) -> set[tuple[int, int]]:
    """What ran in a file, as coverage.py writes it: from a line to another, or to the negative number of an exit."""
    arcs = {(-1, line) for line in found["executed_lines"]}
    arcs |= {(start, end) for start, end in found["executed_branches"] if end}
    if left := {start for start, end in found["executed_branches"] if not end}:
        parser = PythonParser(filename=path)
        parser.parse_source()
        lines = {parser.first_line(start) for start in left}
        arcs |= {(start, end) for start, end in parser.arcs() if start in lines and end < 0}
    return arcs
