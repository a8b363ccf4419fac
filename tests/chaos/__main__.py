"""Play the scenarios, long, and print the table: `python -m tests.chaos [WORD ...]`; exit 1 on a broken promise.

With words, those whose name has one of them. `--short` plays them as the suite does.
"""

import argparse
import sys
import time
import traceback
from typing import NamedTuple

from directory.services import passwords
from tests.chaos import Outcome, Scenario, scenarios


class Row(NamedTuple):
    """A line of the table."""

    fault: str
    done: str
    promise: str
    seen: str
    verdict: str


def main(arguments: list[str] | None = None) -> int:
    """Play, print, and say by the status whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args(arguments)
    passwords.configure(8, 1, 1)  # the accounts are made by the dozen
    chosen = [one for one in scenarios() if not given.words or any(word in one.name for word in given.words)]
    rows = [_play(one, short=given.short) for one in chosen]
    print(table(rows))
    return 0 if rows and all(row.verdict == "pass" for row in rows) else 1


def _play(one: Scenario, *, short: bool) -> Row:
    print(f"… {one.name}", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        outcome, verdict = one.play(**(one.short if short else one.long)), "pass"
    except Exception as error:
        traceback.print_exc()
        outcome, verdict = Outcome("", f"{type(error).__name__}: {error}".splitlines()[0]), "FAIL"
    seconds = time.monotonic() - began
    print(f"  {verdict} in {seconds:.0f} s: {outcome.seen}", file=sys.stderr, flush=True)
    return Row(one.name, outcome.done, one.promise, outcome.seen, verdict)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    head = Row("fault", "done", "promise", "seen", "")
    rule = Row(*("---" for _ in head))
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in (head, rule, *rows))


if __name__ == "__main__":
    sys.exit(main())
