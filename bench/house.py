"""Counts what a reader of the code has to keep in mind: python -m bench.house. `--names` lists what is counted.

It reads the checkout as text and imports nothing of it but the names of events. With `--paths` it counts our own
functions, and their files, that one request calls: over SQLite in a temporary folder, by WSGI, and after a request of
the same kind, so nothing is imported or compiled. A list and a search are not in the response cache, a vote is alone.
"""

import argparse
import re
import tempfile
from collections import Counter
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


def paths(folder: str) -> dict[str, Counter[str]]:
    """The calls of each operation."""
    from tests.conftest import build, migrate
    from tests.support.calls import of_request, submission
    from tests.support.factories import Api, World

    url = f"sqlite:///{folder}/house.db"
    migrate(url)
    app = build(url)
    world = World(app)
    first, *rest = [world.project(title=f"House {place}") for place in range(20)]
    waiting = [world.project(status="pending") for _ in range(2)]
    member, admin, visitor = world.caller(world.user()), world.caller(world.admin()), Api(app)
    submissions = [submission(world, number) for number in range(3)]
    for path in ("/api/projects", "/api/projects?q=house"):
        visitor.get(path)
    for caller in (member, admin):
        caller.get("/api/auth/me")
    member.post(f"/api/projects/{first}/upvote")  # the list of before is not valid any more
    for each in submissions[1:]:
        member.post("/api/projects", each)
    admin.put(f"/api/admin/projects/{waiting[0]}/approve")
    return {
        "a submission": of_request(member, "POST", "/api/projects", submissions[0]),
        "an approval": of_request(admin, "PUT", f"/api/admin/projects/{waiting[1]}/approve"),
        "a search": of_request(visitor, "GET", "/api/projects?q=house"),
        "a list": of_request(visitor, "GET", "/api/projects"),
        "a vote": of_request(member, "POST", f"/api/projects/{rest[0]}/upvote"),
    }


def print_paths(*, with_names: bool) -> None:
    """Print a table of the requests."""
    with tempfile.TemporaryDirectory() as folder:
        counted = paths(folder)
    print("| request | functions | files | calls |", "|---|---|---|---|", sep="\n")
    for request, names in counted.items():
        print(f"| {request} | {len(names)} | {len({each.split(':')[0] for each in names})} | {names.total()} |")
    if with_names:
        for request, names in counted.items():
            print(f"\n{request}:", *(f"{times:5} {name}" for name, times in names.items()), sep="\n")


def main() -> None:
    """Print three tables, or that of the requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="list the files that name each event, or the functions")
    parser.add_argument("--paths", action="store_true", help="count the functions and files that requests call")
    asked = parser.parse_args()
    if asked.paths:
        print_paths(with_names=asked.names)
        return
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
    if asked.names:
        for event, paths in files.items():
            print(f"\n{event}:", *(f"  {path}" for path in paths), sep="\n")


if __name__ == "__main__":
    main()
