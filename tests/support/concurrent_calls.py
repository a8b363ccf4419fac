"""Many callers at once, in threads of several processes, over one database: the races that the tests run.

`run` starts the processes and returns what every call answered. They are forks of one process that has the application
imported already, so that a race takes as long as its calls and not as its imports.
"""

import multiprocessing
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any

from tests.conftest import build
from tests.support import quick
from tests.support.factories import Api

Call = tuple[Any, ...]  # token, method, path, body and, if there are any, headers


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def run(url: str, scripts: Iterable[list[Call]], *, processes: int) -> list[dict[str, Any]]:
    """Run each script, a list of calls in order, in a thread of its own; the answers, in no order.

    Raises EOFError where a process ends before it has answered.
    """
    scripts, running = list(scripts), []
    for number in range(processes):
        ours, theirs = _context().Pipe()
        process = _context().Process(target=_serve, args=(url, scripts[number::processes], theirs))
        process.start()
        theirs.close()
        running.append((process, ours))
    answers: list[dict[str, Any]] = []
    for process, ours in running:
        answers += ours.recv()
        process.join()
        assert process.exitcode == 0
    return answers


def _serve(url: str, scripts: list[list[Call]], answers: Connection) -> None:
    quick.hash_cheaply()
    quick.wait_long()
    answers.send(threads(build(url), scripts))


def threads(app: Any, scripts: Iterable[list[Call]]) -> list[dict[str, Any]]:
    """Run each script in a thread of this process."""
    scripts = list(scripts)
    with ThreadPoolExecutor(len(scripts)) as pool:
        return [answer for answers in pool.map(lambda script: _play(app, script), scripts) for answer in answers]


def _play(app: Any, script: list[Call]) -> list[dict[str, Any]]:
    answers = []
    for token, method, path, body, *headers in script:
        response = Api(app, token).call(method, path, body, headers=headers[0] if headers else {})
        answers.append(
            {"token": token, "method": method, "path": path, "status": response.status_code, "json": response.json}
        )
    return answers


def shuffled(calls: list[Any], seed: int) -> list[Any]:
    """The calls in an order of their own."""
    return random.Random(seed).sample(calls, len(calls))
