"""Many callers at once, in threads of several processes, over one database: the races that the tests run.

`run` starts the processes and gathers what every call answered; a process is `python -m tests.support.hammer`.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.conftest import build
from tests.support.factories import Api

Call = tuple[Any, ...]  # token, method, path, body and, if there are any, headers


def run(url: str, scripts: Iterable[list[Call]], *, processes: int) -> list[dict[str, Any]]:
    """Run each script, a list of calls in order, in a thread of its own; the answers, in no order."""
    dealt = [list(scripts)[n::processes] for n in range(processes)]
    command = [sys.executable, "-m", "tests.support.hammer"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in dealt]
    for process, share in zip(running, dealt, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps({"url": url, "scripts": share}))
        process.stdin.close()
    answers: list[dict[str, Any]] = []
    for process in running:
        assert process.stdout is not None
        answers += json.loads(process.stdout.read())
        assert process.wait() == 0
        process.stdout.close()
    return answers


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


def shuffled(calls: list[Call], seed: int) -> list[Call]:
    """The calls in an order of their own."""
    return random.Random(seed).sample(calls, len(calls))


def main() -> None:
    order = json.loads(sys.stdin.read())
    app = build(order["url"])
    json.dump(threads(app, order["scripts"]), sys.stdout)


if __name__ == "__main__":
    main()
