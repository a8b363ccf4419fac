"""A process that votes as one user after another, and says so each time a vote was acknowledged."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import build
from tests.factories import Api


@contextmanager
def voting(url: str, project: int, tokens: list[str | None]) -> Iterator[Iterator[int]]:
    """A process of its own that votes for the project; gives how many votes were acknowledged, each as it is."""
    command = [sys.executable, "-m", "tests.voter"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as voter:
        assert voter.stdin is not None
        assert voter.stdout is not None
        voter.stdin.write(json.dumps({"url": url, "tokens": tokens, "project": project}))
        voter.stdin.close()
        yield (int(line) for line in voter.stdout)
    assert voter.returncode == 0


def main() -> None:
    order = json.loads(sys.stdin.read())
    app = build(order["url"])
    for n, token in enumerate(order["tokens"], start=1):
        assert Api(app, token).put(f"/api/projects/{order['project']}/upvote").status_code == 200
        print(n, flush=True)


if __name__ == "__main__":
    main()
