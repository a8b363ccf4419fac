"""flask users: accounts, as an operator manages them."""

import json
from typing import Any

import click
from flask import current_app
from flask.cli import AppGroup

from directory.api.schemas.accounts import Export, RegisterInput
from directory.api.schemas.review import ReasonInput
from directory.api.schemas.users import UserChanges
from directory.cli import user_filters
from directory.cli.console import checked, count, refusals, table, writes
from directory.cli.output import TO_FILE, opened
from directory.db.paging import Window
from directory.db.transactions import lift_time_limits, transaction
from directory.errors import NotFound
from directory.http.receivers import subscribers
from directory.models import AccountStatus, Role, Session, Token, User
from directory.services.accounts import accounts
from directory.services.accounts import users as people
from directory.services.identity import Caller
from directory.services.people import account_deletion, account_export, administration
from directory.services.people.large_work import end_all
from directory.services.review import takedown
from directory.services.sign_in import links

users = AppGroup("users", help="Manage accounts.")

PASSWORD = click.option(
    "--password", help="At least 8 characters. Other users of this machine may see it: leave it out to be asked."
)
HEADS = ("USERNAME", "E-MAIL", "ROLE", "STATUS", "JOINED", "PROJECTS", "VOTES GIVEN")


@users.command("create-admin")
@click.option("--username", help="3 to 32 of a-z, 0-9, _ and -.")
@click.option("--email", help="Its e-mail address.")
@PASSWORD
@writes
def create_admin(username: str | None, email: str | None, password: str | None) -> None:
    """Add an administrator. Asks for the values that no option gives."""
    values = {
        "username": username if username is not None else click.prompt("Username"),
        "email": email if email is not None else click.prompt("E-mail address"),
        "password": password if password is not None else ask_password(),
    }
    fields = checked(RegisterInput(), values)
    name, address = fields["username"], fields["email"]
    hashed = accounts.prepare_password(fields["password"], username=name, email=address)
    transaction(lambda: accounts.register(name, address, hashed, role=Role.ADMIN, by_command=True))
    click.echo(f"{name} is an administrator now.")


@users.command("promote")
@click.argument("username")
@writes
def promote(username: str) -> None:
    """Make an account an administrator."""
    administer(username, "role", Role.ADMIN, "an administrator")


@users.command("demote")
@click.argument("username")
@writes
def demote(username: str) -> None:
    """Make an administrator or a reviewer a member again. The last active administrator stays."""
    administer(username, "role", Role.MEMBER, "a member")


@users.command("review")
@click.argument("username")
@click.option("--category", "categories", multiple=True, help="The slug of a category; several may be given.")
@writes
def review(username: str, categories: tuple[str, ...]) -> None:
    """Make an account a reviewer of the given categories, or of all."""
    fields = checked(UserChanges(), {"role": Role.REVIEWER.value, "review_categories": [*categories] or None})
    user = named(username)
    transaction(lambda: administration.administer(user.id, status=None, by=None, **fields))
    click.echo(f"{user.username} may review {', '.join(categories) or 'all categories'} now.")


@users.command("suspend")
@user_filters.filters
@click.option("--unpublish", is_flag=True, help="Also take down all of their live and pending projects.")
@click.option("--reason", help="For the audit log, and the owners of projects; at most 1,000 characters.")
@click.option("--yes", is_flag=True, help="With filters: suspend what matches, instead of showing it.")
@writes
def suspend(username: str | None, unpublish: bool, reason: str | None, yes: bool, **match: str | None) -> None:
    """Close the account of USERNAME, or all accounts that match the filters.

    Sessions and tokens end at once, and votes no longer count. The last active administrator stays. With filters no
    administrator is suspended, and without --yes nothing changes: the command shows what matches.
    """
    if username is None:
        user_filters.decide("suspend", match, yes=yes, unpublish=unpublish, **_reason(reason))
        return
    refuse_filters(match)
    administer(username, "status", AccountStatus.SUSPENDED, "suspended", unpublish=unpublish, **_reason(reason))


@users.command("activate")
@click.argument("username")
@writes
def activate(username: str) -> None:
    """Open a suspended account again. Its votes count again, but for those that are discounted."""
    administer(username, "status", AccountStatus.ACTIVE, "active")


@users.command("set-password")
@click.argument("username")
@PASSWORD
@writes
def set_password(username: str, password: str | None) -> None:
    """Give an account a new password and end all its sessions. Its API tokens stay."""
    user = named(username)
    secret = password if password is not None else ask_password()
    hashed = accounts.prepare_password(secret, username=user.username, email=user.email)
    caller = Caller(user.id, user.username, user.role)

    def work() -> None:
        known = accounts.get(user.id).password_hash
        accounts.change(caller, email=None, known_hash=known, new_hash=hashed, by_command=True)

    transaction(work)
    click.echo(f"{user.username} has a new password; all sessions are ended.")


@users.command("sign-in-link")
@click.argument("username")
@writes
def sign_in_link(username: str) -> None:
    """Print a link that signs in to an account once, within ten minutes: for the day on which a provider is down.

    Whoever has the link can sign in. The log has its use.
    """
    user_id, name = named(username).id, named(username).username
    token = transaction(lambda: links.make(user_id))
    config = current_app.config
    site = config["SITE_URL"] or f"http://{config['HOST']}:{config['PORT']}"
    click.echo(f"For one sign-in of {name} within ten minutes:", err=True)
    click.echo(f"{site}/sign-in/link?token={token}")


@users.command("delete")
@user_filters.filters
@click.option("--reason", help="For the audit log; at most 1,000 characters.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; with filters: delete what matches.")
@writes
def delete_user(username: str | None, reason: str | None, yes: bool, **match: str | None) -> None:
    """Delete the account of USERNAME for good, as its user can do, or all accounts that match the filters.

    Sessions, tokens, votes, and pending and rejected projects are deleted. Live projects stay, under the name
    deleted-[id]. The last active administrator stays. Asks for confirmation. With filters no administrator is deleted,
    and without --yes nothing changes: the command shows what matches.
    """
    fields = _reason(reason)
    if username is None:
        user_filters.decide("delete", match, yes=yes, **fields)
        return
    refuse_filters(match)
    user = named(username)
    user_id, name, notify = user.id, user.username, subscribers()
    if not yes:
        click.confirm(f"Delete the account of {name}? This cannot be undone.", abort=True, err=True)

    def work() -> None:
        lift_time_limits()  # a user may have very many votes
        account_deletion.delete_user(user_id, by=None, notify=notify, is_limited=False, **fields)

    accounts.release()
    transaction(work)
    click.echo(f"The account of {name} is deleted.")


@users.command("sign-out-all")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@writes
def sign_out_all(yes: bool) -> None:
    """Sign everybody out: all sessions of all users end. API tokens stay."""
    click.echo(f"{count(_end_all(Session, 'Sign everybody out?', yes=yes), 'session')} ended.")


@users.command("revoke-all-tokens")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@writes
def revoke_all_tokens(yes: bool) -> None:
    """Revoke all API tokens of all users. Sessions stay."""
    click.echo(f"{count(_end_all(Token, 'Revoke all API tokens of all users?', yes=yes), 'token')} revoked.")


@users.command("export")
@click.argument("username")
@TO_FILE
@refusals()
def export_user(username: str, output: str) -> None:
    """Write what the service holds of an account as JSON, as its user can do.

    It has all projects and votes, however many there are.
    """
    user = named(username)
    naming = current_app.config["REVIEWER_NAMES"] == "shown"
    data = account_export.export(Caller(user.id, user.username, user.role), is_limited=False, naming=naming)
    with opened(output) as file:
        file.write(json.dumps(Export().dump(data), ensure_ascii=False, indent=2) + "\n")


@users.command("list")
@click.option("--role", type=click.Choice([role.value for role in Role]), help="Only these.")
@click.option("--status", type=click.Choice([status.value for status in AccountStatus]), help="Only these.")
@click.option("--outside-domains", is_flag=True, help="Only those with an address outside of SIGNUP_DOMAINS.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Show at most N.")
@refusals()
def list_users(role: str | None, status: str | None, outside_domains: bool, limit: int) -> None:
    """Show the accounts, the newest first."""
    domains = current_app.config["SIGNUP_DOMAINS"] if outside_domains else None
    if domains == ():
        raise click.UsageError("--outside-domains needs SIGNUP_DOMAINS, which is not set")
    filters = people.Filters(role=role, status=status, outside=domains)
    listed = people.page(filters, "newest", Window(limit)).items
    click.echo(table(HEADS, [_row(user) for user in listed]) if listed else "No account matches.")
    total = people.total(filters)
    if total > len(listed):
        click.echo(f"… the newest {len(listed):,} of {count(total, 'account')}; --limit shows more.")


def _end_all(model: Any, question: str, *, yes: bool) -> int:
    """End all sessions or tokens, after a question, and return how many."""
    if not yes:
        click.confirm(question, abort=True, err=True)
    return end_all(model, by=None)[0]


def refuse_filters(match: dict[str, str | None]) -> None:
    """Refuse filters together with a username."""
    if any(value is not None for value in match.values()):
        raise click.UsageError("give a USERNAME or filters, not both")


def _reason(reason: str | None) -> dict[str, Any]:
    """The checked reason of an option, if it was given. Raises Invalid."""
    return checked(ReasonInput(), {} if reason is None else {"reason": reason})


def administer(
    username: str, attribute: str, value: str, state: str, *, unpublish: bool = False, reason: str | None = None
) -> None:
    """Change one attribute of an account, and show the result. Raises NotFound, LastAdmin, TooManyProjects."""
    user = named(username)
    if getattr(user, attribute) == value and not unpublish:
        click.echo(f"{user.username} is {state} already.")
        return
    changes: dict[str, Any] = {"role": None, "status": None, attribute: value}

    def work() -> int:
        lift_time_limits()  # a user may have very many votes
        votes = administration.administer(user.id, by=None, reason=reason, lock_owned=unpublish, **changes)
        if unpublish:
            takedown.take_down(user.id, by=None, notify=subscribers(), reason=reason)
        return votes

    votes = transaction(work)
    counted = "no longer count" if value == AccountStatus.SUSPENDED else "count again"
    click.echo(f"{user.username} is {state} now." + (f" {count(votes, 'vote')} {counted}." if votes else ""))


def named(login: str) -> User:
    """The account of a username or e-mail address. Raises NotFound."""
    user = accounts.find(login)
    if user is None:
        raise NotFound(f"There is no account named {login!r}.")
    return user


def ask_password() -> str:
    """A password, typed twice and not shown."""
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return password


def _row(user: dict[str, Any]) -> tuple[Any, ...]:
    joined = f"{user['created_at']:%Y-%m-%d}"
    stats = user["stats"]
    figures = (stats["projects"]["total"], stats["upvotes_given"])
    return (user["username"], user["email"], user["role"], user["status"], joined, *figures)
