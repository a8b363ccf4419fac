"""Searches for real projects by their titles: which one is not the first that its own title finds.

    python -m tests.support.titles FILE [sqlite|postgresql …]

imports a file of projects, JSON Lines as `flask import` takes them, into an empty database of each kind.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

from directory.services.catalog.search_words import whole
from directory.services.text.equal_addresses import url_key
from tests.conftest import build, migrate
from tests.support import servers
from tests.support.caching import close_snapshots
from tests.support.factories import Api, World
from tests.support.variants import BACKENDS

QUERIES = ("web server", "c++", "image viewer", "games", "nodejs", "e-mail client")


def imported(app: Flask, file: Path) -> list[str]:
    """Add the projects of a file, live; their titles. Of those that share a URL each has another owner."""
    lines = file.read_text().splitlines()
    seen: Counter[str] = Counter()
    by_owner: dict[int, list[str]] = {}
    for line in lines:
        key = url_key(json.loads(line)["url"])
        by_owner.setdefault(seen[key], []).append(line)
        seen[key] += 1
    for rows in by_owner.values():
        _import(app, rows)
    return [json.loads(line)["title"] for line in lines]


def _import(app: Flask, rows: list[str]) -> None:
    owner = World(app).admin().username
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as part:
        part.write("\n".join(rows))
        part.flush()
        command = ["import", part.name, "--status", "live", "--create-categories", "--owner", owner]
        done = app.test_cli_runner().invoke(args=command)
    assert done.exit_code == 0, done.output
    assert f"imported {len(rows):,}, unchanged 0, refused 0" in done.output


def found(api: Api, query: str, limit: int = 100) -> list[str]:
    """The titles that a query finds, best match first."""
    answer = api.get("/api/projects", query_string={"q": query, "limit": str(limit)})
    assert answer.status_code == 200, answer.json
    return [item["title"] for item in answer.json["items"]]


def misplaced(api: Api, titles: list[str]) -> list[str]:
    """The titles that, searched for word for word, come after another one that does not equal them."""
    return [title for title in titles if not _leads(title, found(api, title))]


def _leads(title: str, titles: list[str]) -> bool:
    if title not in titles:
        return False
    return all(whole(before) == whole(title) for before in titles[: titles.index(title)])


@contextmanager
def _empty(backend: str) -> Iterator[Flask]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/titles.db"
        if backend == "postgresql":
            url = servers.create_database(servers.url_of(servers.DATABASE), "titles")
        migrate(url)
        app = build(url)
        try:
            yield app
        finally:
            close_snapshots(app)


def main(file: str, *backends: str) -> None:
    """Print for each kind of database how many titles lead, and the first five of some queries."""
    try:
        for backend in backends or BACKENDS:
            with _empty(backend) as app:
                titles, api = imported(app, Path(file)), Api(app)
                late = misplaced(api, titles)
                print(f"{backend}: {len(titles) - len(late):,} of {len(titles):,} titles come first or after equals")
                print(*(f"  not: {title}" for title in late), sep="\n", end="\n" if late else "")
                for query in QUERIES:
                    print(f"  {query}: {' | '.join(found(api, query, 5))}")
    finally:
        servers.stop_servers()


if __name__ == "__main__":
    main(*sys.argv[1:])
