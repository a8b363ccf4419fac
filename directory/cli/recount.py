"""flask recount: compares the copies and counters of the projects with the projects, and repairs them."""

import sys
from functools import partial

import click
from flask.cli import with_appcontext

from directory.cli.console import Progress, count, writes
from directory.db.portions import Portions
from directory.db.transactions import transaction
from directory.extensions import db
from directory.services.catalog import ways
from directory.services.catalog.filters import Filters
from directory.services.data import counter_checks, recount

SHOWN = 20  # faults of a kind; a lost index would be a line for each project


class Findings:
    """The faults found so far; the first of each kind are printed."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.numbers: dict[str, int] = {}

    def add(self, faults: list[recount.Fault]) -> None:
        """Report faults."""
        for fault in faults:
            number = self.numbers[fault.kind] = self.numbers.get(fault.kind, 0) + 1
            if number <= SHOWN:
                self.progress.note(str(fault))
            elif number == SHOWN + 1:
                self.progress.note(f"… more of {fault.kind} follow; they are counted, not shown.")


@click.command("recount")
@click.option("--check", is_flag=True, help="Report differences, change nothing.")
@with_appcontext
@writes
def recount_all(check: bool) -> None:
    """Compare the counters with the rows that they count, and repair them.

    These are votes, ranks, vote rankings, tags, own fields, search entries, the counters of categories, tags and own
    fields, and the numbers of users and of their submissions. Fields that need no decision are removed from revisions.
    The exit status is 0 if all was right, otherwise 1. The service may run meanwhile.
    """
    projects, votes, portions = 0, 0, Portions("counting")
    with Progress(ways.total(Filters()), "Counting") as progress:
        findings = Findings(progress)
        for scope in recount.scopes():
            seen = recount.look(scope)
            db.session.rollback()
            projects, votes = projects + seen.projects, votes + seen.votes
            suspects = seen.suspects()
            while ids := suspects[: portions.size]:
                suspects, began = suspects[len(ids) :], portions.clock()
                findings.add(transaction(partial(recount.confirm, ids, repair=not check)))
                portions.took(portions.clock() - began, len(ids))
            progress.advance(seen.projects)
        for kind in counter_checks.CHECKS:
            if kind.look():
                findings.add(transaction(partial(kind.confirm, repair=not check)))
    _conclude(projects, votes, sum(findings.numbers.values()), check=check)


def _conclude(projects: int, votes: int, faults: int, *, check: bool) -> None:
    seen = f"Counted {count(projects, 'project')} and {count(votes, 'vote')}"
    if not faults:
        click.echo(f"{seen}: all is right.")
        return
    click.echo(f"{seen}: {count(faults, 'fault')} found{', none repaired (--check)' if check else ' and repaired'}.")
    sys.exit(1)
