"""flask rules: export rules, import them, and preview one over the past."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from flask.cli import AppGroup

from directory.cli.console import checked, count, refusals, table, writes
from directory.cli.output import TO_FILE, opened
from directory.db.transactions import transaction
from directory.extras.spam_rules import editing, preview
from directory.extras.spam_rules.schemas import DAYS_MAX, RuleInput
from directory.models.base import HIGHEST_ID

rules = AppGroup("rules", help="Export, import and preview the rules that judge what members do.")


@rules.command("export")
@TO_FILE
@refusals()
def export_(output: str) -> None:
    """Write all rules as a JSON list."""
    exported = [{name: rule[name] for name in editing.MEMBERS} for rule in editing.listed()]
    with opened(output) as stream:
        stream.write(json.dumps(exported, ensure_ascii=False, indent=2) + "\n")


@rules.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@writes
def import_(file: str) -> None:
    """Add the rules of FILE, a JSON list, or of standard input for "-"; all or none.

    A rule whose name is there is changed, and keeps its state; it becomes dry if it was on and judges by something else
    now. New rules are off.
    """
    imported = _read(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())
    added, changed = transaction(lambda: editing.take_over(imported))
    click.echo(f"{count(added, 'rule')} added, {changed} changed.")


def _read(content: bytes) -> list[dict[str, Any]]:
    """The rules of a file. Raises ClickException, Invalid."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"this is no JSON: {error}") from None
    if not isinstance(value, list) or not all(isinstance(rule, dict) for rule in value):
        raise click.ClickException("the file must hold a list of objects")
    return [checked(RuleInput(), rule) for rule in value]


@rules.command("preview")
@click.argument("rule_id", metavar="ID", type=click.IntRange(1, HIGHEST_ID))
@click.option("--days", type=click.IntRange(1, DAYS_MAX), default=30, show_default=True, help="How far back.")
@writes
def preview_(rule_id: int, days: int) -> None:
    """Show what a rule would have matched, and what became of it.

    For a day afterwards the rule may be switched on, as after a preview in the console.
    """
    rule = editing.one(rule_id)
    transaction(lambda: editing.note_preview(rule["on"], rule["when"]))
    result = preview.run(rule["on"], rule["when"], days)
    click.echo(f"{result['evaluated']:,} evaluated, {result['unknown']:,} unknown, {result['matched']:,} matched")
    lines = [
        (outcome, f"{number:,}", ", ".join(str(project["id"]) for project in result["examples"][outcome]))
        for outcome, number in result["by_outcome"].items()
    ]
    click.echo(table(("OUTCOME", "MATCHED", "PROJECTS"), lines))
