"""A process that votes as one user after another, and says so each time a vote was acknowledged."""

import json
import sys

from tests.conftest import build
from tests.factories import Api


def main() -> None:
    order = json.loads(sys.stdin.read())
    app = build(order["url"])
    for n, token in enumerate(order["tokens"], start=1):
        assert Api(app, token).put(f"/api/projects/{order['project']}/upvote").status_code == 200
        print(n, flush=True)


if __name__ == "__main__":
    main()
