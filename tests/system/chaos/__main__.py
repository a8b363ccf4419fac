"""Play the scenarios, long, and print the table: `python -m tests.system.chaos [WORD ...]`; exit 1 on a broken promise.

With words, those whose name has one of them. `--short` plays them as the suite does. All of them take more
than half an hour; Ctrl-C ends that early, with the table so far and nothing left behind.
"""

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from directory.services.accounts import passwords
from tests.system.chaos import Outcome, Scenario, load, scenarios
from tests.system.chaos.tidy import tidied

INTERRUPTED = 130


class Row(NamedTuple):
    """A line of the table."""

    fault: str
    done: str
    promise: str
    seen: str
    seconds: str
    verdict: str


def main(arguments: list[str] | None = None) -> int:
    """Play, print, and say by the status whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.chaos", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background work begins with it ignored
    passwords.configure(8, 1, 1)  # the accounts are made by the dozen
    if not given.short:
        load.LATE, load.ALIVE_WITHIN = 0.0, 0.1
    chosen = [one for one in scenarios() if not given.words or any(word in one.name for word in given.words)]
    rows: list[Row] = []
    with suppress(KeyboardInterrupt), tidied() as sweep:
        for number, one in enumerate(chosen, 1):
            _say(f"{number}/{len(chosen)} {one.name}")
            rows.append(_play(one, sweep, short=given.short))
            _say(f"    {rows[-1].verdict} in {rows[-1].seconds} s: {rows[-1].seen}")
    print(table(rows))
    if len(rows) < len(chosen):
        return INTERRUPTED
    return 0 if rows and all(row.verdict == "pass" for row in rows) else 1


def _play(one: Scenario, sweep: Callable[[], list[str]], *, short: bool) -> Row:
    began = time.monotonic()
    try:
        outcome, verdict = one.play(**(one.short if short else one.long)), "pass"
    except Exception as error:
        traceback.print_exc()
        outcome, verdict = Outcome("", f"{type(error).__name__}: {error}".splitlines()[0]), "FAIL"
    if left := sweep():
        outcome, verdict = Outcome(outcome.done, f"{outcome.seen}; left behind: {', '.join(left)}"), "FAIL"
    return Row(one.name, outcome.done, one.promise, outcome.seen, f"{time.monotonic() - began:.0f}", verdict)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def table(rows: list[Row]) -> str:
    """The rows in Markdown, and how long they took together."""
    total = sum(int(row.seconds) for row in rows)
    head = Row("fault", "done", "promise", "seen", "s", "")
    rule = Row(*("---" for _ in head))
    foot = Row("all", f"{len(rows)} scenarios", "", "", str(total), "")
    lines = (head, rule, *rows, foot)
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)


if __name__ == "__main__":
    sys.exit(main())
