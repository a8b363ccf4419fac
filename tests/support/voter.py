"""A process that votes as one user after another, and says so each time a vote was acknowledged."""

import json
import subprocess
import sys
from collections.abc import Callable
from threading import Event, Thread

from tests.conftest import build
from tests.support.factories import Api


def race(url: str, project: int, tokens: list[str | None], read: Callable[[list[int], Event], None]) -> list[int]:
    """Have three threads `read` while a process of its own votes for the project.

    They are given how many votes were acknowledged, one after the other, which is returned, and what is set at the end.
    """
    acknowledged, ended = [0], Event()
    readers = [Thread(target=read, args=(acknowledged, ended)) for _ in range(3)]
    command = [sys.executable, "-m", "tests.support.voter"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as voter:
        assert voter.stdin is not None
        assert voter.stdout is not None
        voter.stdin.write(json.dumps({"url": url, "tokens": tokens, "project": project}))
        voter.stdin.close()
        for reader in readers:
            reader.start()
        acknowledged.extend(int(line) for line in voter.stdout)
        ended.set()
        for reader in readers:
            reader.join()
    assert voter.returncode == 0
    return acknowledged


def main() -> None:
    order = json.loads(sys.stdin.read())
    app = build(order["url"])
    for n, token in enumerate(order["tokens"], start=1):
        assert Api(app, token).put(f"/api/projects/{order['project']}/upvote").status_code == 200
        print(n, flush=True)


if __name__ == "__main__":
    main()
