"""flask links: look at the links of projects now."""

from collections.abc import Iterator

import click
from flask import current_app
from flask.cli import AppGroup
from sqlalchemy import select

from directory.cli.console import count, table, writes
from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.links import schedule, states, worker
from directory.extras.links.schedule import Watch
from directory.models import Project, now
from directory.models.base import HIGHEST_ID

links = AppGroup("links", help="Look at the websites and repositories of projects.")


@links.command()
@click.argument("ids", type=click.IntRange(1, HIGHEST_ID), nargs=-1)
@writes
def check(ids: tuple[int, ...]) -> None:
    """Look at the links of the projects with these IDS, or at all that are due."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    if not db.shows_links:
        raise click.ClickException("LINK_CHECKS is off: nothing makes a request to the outside")
    asking, rows, seen = worker.asking_of(app), list[tuple[object, ...]](), 0
    for watch in _named(ids) if ids else _due(app.config["LINK_CHECK_DAYS"]):
        looked = worker.look(app, watch, asking, at_once=bool(ids))
        seen += 1
        for name, entry in looked.entries.items():
            if name == states.FORGE:
                continue
            rows.append((watch.project_id, name, entry["state"], entry["status"] or "", entry["url"]))
    if rows:
        click.echo(table(("PROJECT", "LINK", "STATE", "STATUS", "ADDRESS"), rows))
    click.echo(f"{count(seen, 'project')} looked at")


def _named(ids: tuple[int, ...]) -> list[Watch]:
    """These projects, leased. Raises ClickException for the first that does not exist."""
    known = set(db.session.scalars(select(Project.id).where(Project.id.in_(ids))))
    if unknown := next((project_id for project_id in ids if project_id not in known), None):
        raise click.ClickException(f"there is no project {unknown}")
    return transaction(lambda: schedule.take(len(ids), now(), schedule.add(ids)))


def _due(days: int) -> Iterator[Watch]:
    """What is due, leased one by one."""
    while transaction(lambda: schedule.plan(days)) == schedule.AT_ONCE:
        pass
    while watches := transaction(lambda: schedule.take(1, now())):
        yield from watches
