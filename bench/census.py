"""Counts our own functions that one request calls: python -m bench.census. `--names` lists them, with their calls.

Over SQLite in a temporary folder, by WSGI, and after a request of the same kind: so nothing is imported or compiled. A
list and a search are not in the response cache, and a vote is alone.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from tests.conftest import build, migrate
from tests.support.factories import Api, World

OWN = str(Path(__file__).parent.parent / "directory") + os.sep


def calls(api: Api, method: str, path: str) -> Counter[str]:
    """The calls of our own functions in one request, by name; comprehensions and lambdas are not counted."""
    counted: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OWN) and not code.co_name.startswith("<"):
            counted[f"{code.co_filename.removeprefix(OWN)}:{code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        response = api.call(method, path)
    finally:
        sys.setprofile(None)
    assert response.status_code == 200, response.text
    return counted


def census(folder: str) -> dict[str, Counter[str]]:
    """The calls of each operation."""
    url = f"sqlite:///{folder}/census.db"
    migrate(url)
    app = build(url)
    world = World(app)
    first, *rest = [world.project(title=f"Census {place}") for place in range(20)]
    waiting = [world.project(status="pending") for _ in range(2)]
    member, admin, visitor = world.caller(world.user()), world.caller(world.admin()), Api(app)
    for path in ("/api/projects", "/api/projects?q=census"):
        visitor.get(path)
    for caller in (member, admin):
        caller.get("/api/auth/me")
    member.post(f"/api/projects/{first}/upvote")  # the list of before is not valid any more
    admin.put(f"/api/admin/projects/{waiting[0]}/approve")
    return {
        "an uncached list": calls(visitor, "GET", "/api/projects"),
        "a search": calls(visitor, "GET", "/api/projects?q=census"),
        "a vote": calls(member, "POST", f"/api/projects/{rest[0]}/upvote"),
        "an approval": calls(admin, "PUT", f"/api/admin/projects/{waiting[1]}/approve"),
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="list the functions and their calls")
    wants_names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as folder:
        counted = census(folder)
    print("| operation | functions | calls |", "|---|---|---|", sep="\n")
    for operation, by_name in counted.items():
        print(f"| {operation} | {len(by_name)} | {by_name.total()} |")
    if wants_names:
        for operation, by_name in counted.items():
            print(f"\n{operation}:", *(f"{times:5} {name}" for name, times in by_name.items()), sep="\n")


if __name__ == "__main__":
    main()
