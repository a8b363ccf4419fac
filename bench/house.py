"""Counts what a reader of the code has to keep in mind: python -m bench.house. `--names` lists the files of each event.

It reads the checkout as text and imports nothing of it but the names of events.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from directory import events

ROOT = Path(__file__).parent.parent
DIRECTORY = ROOT / "directory"
SOURCES = {".py", ".ts", ".tsx", ".html", ".sql"}
GENERATED = {"schema.d.ts", "events.ts"}
SHORT = 45  # lines of a module that a reader meets without learning much


def sources() -> dict[Path, str]:
    """The text of each file that people write in `directory/`, without translations and tests."""
    left_out = {DIRECTORY / "locale", *(DIRECTORY / "web" / name for name in ("node_modules", "dist", "test"))}
    return {
        path.relative_to(DIRECTORY): path.read_text(encoding="utf-8")
        for path in sorted(DIRECTORY.rglob("*"))
        if path.suffix in SOURCES and path.name not in GENERATED and left_out.isdisjoint(path.parents)
    }


def files_of_events(texts: dict[Path, str]) -> dict[str, list[Path]]:
    """The files that name each event: by its constant, or in quotes, whole or, of two words, without what it is about.

    One word alone, as "rejected", is a state too.
    """
    found = {}
    for event in sorted(events.TABLE):
        about, _, name = event.partition(".")
        is_enough = "?" if "_" in name else ""
        constant = f"{about}_{name}".upper()
        named = re.compile(rf"[\"']({about}\.){is_enough}{name}[\"']|\bevents\.{constant}\b")
        found[event.name] = [path for path, text in texts.items() if named.search(text)]
    return found


def lines_by_package(texts: dict[Path, str]) -> Iterator[tuple[str, int]]:
    """The lines of Python of each package of `directory/`, and of all."""
    python = {path: text.count("\n") for path, text in texts.items() if path.suffix == ".py"}
    for package in sorted({path.parts[0] if len(path.parts) > 1 else "." for path in python}):
        yield (
            package,
            sum(n for path, n in python.items() if (path.parts[0] if len(path.parts) > 1 else ".") == package),
        )
    yield "all", sum(python.values())


def main() -> None:
    """Print three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="list the files that name each event")
    wants_names = parser.parse_args().names
    texts = sources()
    files = files_of_events(texts)
    sizes = sorted(map(len, files.values()))
    most = max(files, key=lambda event: len(files[event]))
    modules = [path for path, text in texts.items() if path.suffix == ".py" and text.count("\n") <= SHORT]
    print("| measured | number |", "|---|---|", sep="\n")
    print(f"| events | {len(files)} |")
    print(f"| files that name one event, median and most ({most}) | {median(sizes):g}, {sizes[-1]} |")
    print(
        f"| modules of at most {SHORT} lines, without package heads | {sum(m.name != '__init__.py' for m in modules)} |"
    )
    print(f"| lines of README.md | {(ROOT / 'README.md').read_text(encoding='utf-8').count(chr(10))} |")
    print("", "| package | lines of Python |", "|---|---|", sep="\n")
    for package, lines in lines_by_package(texts):
        print(f"| {package} | {lines:,} |")
    if wants_names:
        for event, paths in files.items():
            print(f"\n{event}:", *(f"  {path}" for path in paths), sep="\n")


if __name__ == "__main__":
    main()
