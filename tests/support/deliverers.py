"""Several deliverer processes, some of which are killed: `python -m tests.support.deliverers`, settings as usual.

It runs until its standard input ends, stops all of them in good order, and prints how many it has killed.
"""

import argparse
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask

import config
from directory import create_app
from directory.runtime.delivering import deliver
from directory.services.delivery.schedule import DeliveryPolicy

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.deliverers", description=__doc__)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--kill-every", type=float, help="seconds")
    parser.add_argument("--deadline", type=float, default=15.0)
    parser.add_argument("--slack", type=float, default=5.0)
    parser.add_argument("--delay", type=float, help="seconds between tries, in place of the schedule")
    given = parser.parse_args()
    policy = DeliveryPolicy(deadline=given.deadline, slack=given.slack, poll=0.1)
    if given.delay is not None:
        policy = DeliveryPolicy(policy.connect, policy.deadline, policy.slack, policy.poll, (given.delay,) * 30)
    # Everything is loaded once: a deliverer that is killed five times a second has no time to load it again.
    app = create_app(config.load())
    fleet = [_fork(app, policy) for _ in range(given.count)]
    print("ready", flush=True)
    kills = 0
    while not select.select([0], [], [], given.kill_every)[0]:
        at = random.randrange(len(fleet))
        os.kill(fleet[at], signal.SIGKILL)
        os.waitpid(fleet[at], 0)
        kills += 1
        fleet[at] = _fork(app, policy)
    for pid in fleet:
        os.waitpid(pid, 0)
    print(kills, flush=True)


def _fork(app: Flask, policy: DeliveryPolicy) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        random.seed()
        deliver(app, policy, until_eof=True)
    finally:
        os._exit(0)


class Fleet:
    """What a test holds of them. `kills` is known once the `with` is over."""

    kills = 0


@contextmanager
def running(environment: dict[str, str], *options: object) -> Iterator[Fleet]:
    """The deliverers in the background, for as long as the block runs."""
    command = [sys.executable, "-m", "tests.support.deliverers", *map(str, options)]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    fleet = Fleet()
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield fleet
        assert process.stdin is not None
        process.stdin.close()
        fleet.kills = int(process.stdout.readline())


if __name__ == "__main__":
    main()
