"""flask seed: the demo directory, or a made-up one of any size."""

import secrets
from importlib import import_module
from typing import Any

import click
from flask import current_app
from flask.cli import with_appcontext

from directory.cli.console import Progress, count, table, writes
from directory.db.transactions import transaction
from directory.models import Status
from directory.services.accounts.passwords import hash_password
from directory.services.data import demo, seeding

DEFAULT_SEED = 1
DEFAULT_PROJECTS = 1_000
VOTES_PER_PROJECT = 10


@click.command("seed")
@click.option("--if-empty", is_flag=True, help="Do nothing if there is a project or a user.")
@click.option("--categories", is_flag=True, help="Add the demo's categories that are missing, and nothing else.")
@click.option("--projects", type=click.IntRange(min=0), metavar="N", help="Make N projects.")
@click.option("--users", type=click.IntRange(min=1), metavar="N", help="Make N users.  [default: half the projects]")
@click.option("--votes", type=click.IntRange(min=0), metavar="N", help="Make N votes.  [default: ten for each project]")
@click.option(
    "--random-seed",
    type=int,
    metavar="S",
    default=DEFAULT_SEED,
    show_default=True,
    help="Another number makes other content.",
)
@click.option("--force", is_flag=True, help="Seed also in production, and also if there are projects already.")
@with_appcontext
@writes
def seed(
    if_empty: bool, categories: bool, projects: int | None, users: int | None, votes: int | None, random_seed: int,
    force: bool,
) -> None:  # fmt: skip
    """Fill the directory with projects.

    With --categories it adds only the demo's categories, also in production: a start for your own directory. Without
    numbers it adds the demo: some dozens of real projects, submitted, reviewed and voted for by invented people over
    the past months. With numbers the projects are made up; this needs a checkout of the repository. Passwords are
    random and shown only once.
    """
    if categories:
        if if_empty or force or not projects is users is votes is None:
            raise click.UsageError("--categories goes with no other option.")
        _, added = transaction(lambda: seeding.add_categories(demo.data("demo")["categories"]))
        click.echo(f"Added {count(added, 'category', 'categories')}.")
        return
    if if_empty and not seeding.is_empty():
        click.echo("Nothing seeded: the directory is not empty.")
        return
    if current_app.config["APP_ENV"] == "production" and not force:
        if not if_empty:
            raise click.ClickException("This is production (APP_ENV): use --force to seed anyway.")
        click.echo("Nothing seeded: this is production (APP_ENV).")
        return
    if seeding.has_projects() and not force:
        raise click.ClickException("There are projects already: use --force to add to them.")
    if projects is users is votes is None:
        seed_demo(random_seed)
    else:
        seed_sizes(*_sizes(projects, users, votes), random_seed)


def seed_demo(random_seed: int) -> None:
    """Add the demo directory, and show its size and two users who can sign in."""
    story = demo.compose(random_seed)
    planted = transaction(lambda: seeding.plant(story))
    states = ", ".join(f"{planted.statuses.count(status)} {status}" for status in Status)
    projects, votes = count(len(planted.statuses), "project"), count(planted.votes, "vote")
    said = f"{count(planted.categories, 'category', 'categories')}, {count(len(planted.people), 'user')}"
    click.echo(f"Seeded {said}, {projects} ({states}) and {votes}.")
    shown = planted.people[:2]
    if shown:
        click.echo("Passwords are random. These two are shown this once:")
        click.echo(table(("USERNAME", "PASSWORD", "ROLE"), [(one.username, one.password, one.role) for one in shown]))


def seed_sizes(projects: int, users: int, votes: int, random_seed: int) -> None:
    """Add a made-up directory, in one transaction for each chunk, and show the password of its users."""
    bench, password = _bench(), secrets.token_urlsafe(12)
    sizes = bench.Sizes(projects, users, votes)
    plan = bench.Plan(sizes, seed=random_seed, password_hash=hash_password(password))
    with Progress(projects + users + votes, "Seeding") as progress:
        for step in plan.steps():
            transaction(step.work)
            progress.advance(step.rows)
    click.echo(f"Seeded {count(projects, 'project')}, {count(users, 'user')} and {count(votes, 'vote')}.")
    click.echo(f"The password of all of these users, shown this once: {password}")


def _bench() -> Any:
    """The generator of directories of any size. It serves measurements, so it is not in the package."""
    try:
        return import_module("bench.synthetic")
    except ModuleNotFoundError:
        raise click.ClickException(
            "Numbers need the folder bench/ of the repository. Without them it is the demo."
        ) from None


def _sizes(projects: int | None, users: int | None, votes: int | None) -> tuple[int, int, int]:
    """The given sizes, and defaults in proportion for the others."""
    projects = DEFAULT_PROJECTS if projects is None else projects
    users = max(10, projects // 2) if users is None else users
    return projects, users, min(projects * VOTES_PER_PROJECT, projects * users // 2) if votes is None else votes
