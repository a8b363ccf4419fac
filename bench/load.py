"""The load on a server and its cost: prepared requests, wrk, CPU by process tree."""

import itertools
import json
import random
import string
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

from directory import extras

OPERATIONS = ("list", "list_mix", "one", "vote", "mixed", "analytics")
# Votes of 20,000 members, one each, by how long ago they were here: by a token, or as a browser does.
ONCE = {
    "vote_once": timedelta(days=1), "vote_once_cookie": timedelta(days=1),
    "vote_fresh": timedelta(), "vote_fresh_cookie": timedelta(),
}  # fmt: skip
# The same page and the same projects, asked for by members: by a token, or as a browser does.
SIGNED_IN = ("list_me", "list_me_cookie", "one_me", "one_me_cookie")
# What visitors see besides the list, from memory: the first page, the counts beside its filters, related projects.
VISITED = ("front", "facets", "related")
# Further requests whose cost must not grow with the directory. An administrator sends them, whose answers never come
# from memory, except the dashboard's: a vote precedes each of those. Of the queue, the pages that the smallest
# directory has as well.
GROWING = (
    "cursor", "search", "search_common", "queue", "queue_page", "users", "tags", "check", "session", "fresh_analytics",
)  # fmt: skip
# What a directory with ten fields of the operator's own (bench/own_fields.py) is asked for: the first page and the
# counts, from memory, and by an administrator lists narrowed by a choice and by a number, beside those of a category.
OF_FIELDS = ("list_fields", "facets_fields", "filter_category", "filter_choice", "filter_number")
FIELDS = OF_FIELDS if "fields" in extras.NAMES else ()
CHOICES = ("one", "two", "three", "four", "five", "six", "seven", "eight")
SCRIPT = Path(__file__).parent / "replay.lua"
WARM_UP = 2  # seconds


@dataclass(frozen=True)
class Subjects:
    """The subjects of requests; `tokens` and `cookies` are members', `admin` the administrator's token.

    `cursors` stand anywhere in the list of the newest, `words` each in one project. `crowd` and `crowd_cookies` are
    those of many members, for ONCE.
    """

    live: list[int]
    categories: list[str]
    tokens: list[str]
    cookies: list[str]
    admin: str
    cursors: list[str]
    words: list[str]
    crowd: list[str]
    crowd_cookies: list[str]


def requests(operation: str, subjects: Subjects) -> list[str]:
    """The lines for replay.lua: the same for every server and round."""
    callers = [f"cookie:{cookie}" for cookie in subjects.cookies] if operation.endswith("_cookie") else subjects.tokens
    rng = random.Random(f"7-{operation}")  # not the same votes for two: the second would take back those of the first
    popular = random.Random(7).sample(subjects.live, len(subjects.live))
    weights = list(itertools.accumulate((n + 1) ** -0.9 for n in range(len(popular))))
    drawn: Iterator[int] = itertools.chain.from_iterable(
        iter(lambda: rng.choices(popular, cum_weights=weights, k=1000), None)
    )
    slugs = subjects.categories
    shares = [1 / (n + 1) ** 0.8 for n in range(len(slugs))]

    def page() -> str:
        sort = rng.choices(["newest", "upvotes"], [7, 3])[0]
        category = f"&category={rng.choices(slugs, shares)[0]}" if rng.random() < 0.5 else ""
        number = min(int(rng.paretovariate(1.3)), 10)
        return f"GET /api/projects?status=live&sort={sort}&page={number}&limit=20{category} -"

    def one(caller: str = "-") -> str:
        return f"GET /api/projects/{next(drawn)} {caller}"

    def vote() -> str:
        return f"POST /api/projects/{next(drawn)}/upvote {rng.choice(subjects.tokens)}"

    if operation in ONCE:
        crowd = (
            [f"cookie:{each}" for each in subjects.crowd_cookies] if operation.endswith("_cookie") else subjects.crowd
        )
        return [f"POST /api/projects/{next(drawn)}/upvote {caller}" for caller in rng.sample(crowd, len(crowd))]
    first_page = "GET /api/projects?status=live&sort=newest&page=1&limit=20"
    if operation in {"list", "list_fields"}:
        return [f"{first_page} -"]
    if operation == "analytics":
        return [f"GET /api/admin/analytics {subjects.admin}"]
    if operation in {*VISITED, "facets_fields"}:
        counts = dict.fromkeys(("facets", "facets_fields"), "/api/projects/facets")
        paths = {**counts, "related": f"/api/projects/{popular[0]}/related"}
        return [f"GET {paths.get(operation, '/')} -"]
    admin = subjects.admin
    makers: dict[str, Callable[[], str]] = {
        "cursor": lambda: f"GET /api/projects?cursor={rng.choice(subjects.cursors)} {admin}",
        "search": lambda: f"GET /api/projects?q={rng.choice(subjects.words)} {admin}",
        "queue": lambda: f"GET /api/admin/projects?status=pending&page={rng.randint(1, 3)} {admin}",
        "queue_page": lambda: f"GET /api/admin/projects?status=pending {admin}",
        "tags": lambda: f"GET /api/tags?prefix={rng.choice(string.ascii_lowercase)} -",
        "check": lambda: f"GET /api/projects/check?{check(rng, subjects.words)} {rng.choice(subjects.tokens)}",
        "session": lambda: f"GET /api/session cookie:{rng.choice(subjects.cookies)}",
        "filter_category": lambda: f"GET /api/projects?category={rng.choices(slugs, shares)[0]} {admin}",
        "filter_choice": lambda: f"GET /api/projects?field.license={rng.choice(CHOICES)} {admin}",
        "filter_number": lambda: f"GET /api/projects?field.price={rng.randrange(900)}..999 {admin}",
        "users": lambda: f"GET /api/admin/users?page={rng.randint(1, 10)} {admin}",
        "list_mix": page,
        "one": one,
        "list_me": lambda: f"{first_page} {rng.choice(callers)}",
        "one_me": lambda: one(rng.choice(callers)),
        "vote": vote,
        "mixed": lambda: rng.choices([page, one, vote], [70, 20, 10])[0](),
    }
    return [makers[operation.removesuffix("_cookie")]() for _ in range(20_000 if operation == "vote" else 5_000)]


def check(rng: random.Random, words: list[str]) -> str:
    """A check before a submission: of a URL that no project has, and of a title with a word that one project has."""
    return urlencode({"url": f"https://bench.example/{rng.randrange(10**9)}", "title": f"A new {rng.choice(words)}"})


def measure(
    url: str,
    lines: list[str],
    *,
    seconds: int,
    connections: int,
    pids: dict[str, int],
    warm_up: list[str] | None = None,
    before: Callable[[], None] | None = None,
    status: int | None = None,
) -> dict[str, Any]:
    """Replay `lines` for a while, after a warm-up; rates, latencies, and CPU microseconds a request by party.

    The warm-up is by `warm_up`, or by the same lines; `before` is done after it. With `status` each line is sent once,
    and SystemExit is raised where an answer has another status, or the lines do not last.
    """
    wrk(url, warm_up or lines, WARM_UP, connections, status)
    if before:
        before()
    spent = {party: cpu_seconds(pid) for party, pid in pids.items()}
    result = wrk(url, lines, seconds, connections, status)
    cpu = {party: cpu_seconds(pid) - spent[party] for party, pid in pids.items()}
    result["rps"] = result["requests"] / result["seconds"]
    result |= {f"{party}_us": 1e6 * used / max(1, result["requests"]) for party, used in cpu.items()}
    result["worker_mb"] = worker_megabytes(pids["server"])
    return result


def fresh(url: str, subjects: Subjects, *, times: int = 15) -> dict[str, Any]:
    """How long the dashboard takes right after a vote, which leaves nothing of it in memory."""
    import requests as http

    admin = {"Authorization": f"Bearer {subjects.admin}"}
    took = []
    with http.Session() as session:
        for n in range(times):
            voter = {"Authorization": f"Bearer {subjects.tokens[n]}"}
            session.post(f"{url}/api/projects/{subjects.live[n]}/upvote", headers=voter, timeout=30).raise_for_status()
            began = time.perf_counter()
            session.get(f"{url}/api/admin/analytics", headers=admin, timeout=30).raise_for_status()
            took.append(1000 * (time.perf_counter() - began))
    return {"rps": 1000 * times / sum(took), "p50_ms": sorted(took)[times // 2], "p99_ms": max(took), "errors": 0}


def wrk(url: str, lines: list[str], seconds: int, connections: int, status: int | None = None) -> dict[str, Any]:
    threads = str(min(2, connections))
    options = ["-t", threads, f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        command = ["wrk", *options, url, "--", file.name, threads, *([] if status is None else [str(status)])]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(out[out.rindex('{"requests"') :])
    others, repeated = result.pop("others"), result.pop("repeated")
    if status is not None and (result["errors"] or others or repeated):
        raise SystemExit(f"{lines[0]}: {others} answers have another status than {status}, {repeated} lines were sent "
                         f"twice, {result['errors']} requests failed")  # fmt: skip
    return result


def cpu_seconds(pid: int) -> float:
    """The CPU seconds of a process and its children, those that ended included."""
    total = 0.0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def worker_megabytes(pid: int) -> float:
    """The largest resident size of the server's workers."""
    workers = psutil.Process(pid).children()
    return max((worker.memory_info().rss for worker in workers), default=0) / 2**20


def wait_for(url: str, process: subprocess.Popen[bytes], *, patience: float = 60) -> float:
    """Seconds until the server answers. Raises RuntimeError where it does not."""
    import requests as http

    began = time.perf_counter()
    while time.perf_counter() - began < patience:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            if http.get(f"{url}/api/projects", timeout=5).ok:
                return time.perf_counter() - began
        except http.RequestException:
            time.sleep(0.01)
    raise RuntimeError("the server does not answer")
