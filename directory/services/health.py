"""The health of the service: checks of its database that end in bounded time even if the database hangs."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, and_, case, func, inspect, literal_column, select, text

from directory import events
from directory.db.deadline import within
from directory.db.paging import AnySelect
from directory.events import Event
from directory.models import (
    STORED_ROLES,
    AccountStatus,
    AuditEntry,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    MailLink,
    PasskeyChallenge,
    Review,
    Role,
    RuleDay,
    Session,
    SignInAttempt,
    SpamRule,
    User,
    UserCount,
    now,
)
from directory.services.accounts.sessions import LIFETIME
from directory.services.delivery.channels import MAIL
from directory.services.delivery.leases import PENDING, RECIPIENT_REFUSED
from directory.services.delivery.schedule import DELAYS, RETENTION
from directory.services.review import approvals
from directory.services.turns import in_queue, of_changes

T = TypeVar("T")
MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
OF_MAIL = Delivery.endpoint == literal_column(f"'{MAIL}'")
# Mail that the server has not refused because of its recipient, at the last try: anybody can give an address that does
# not exist, so such a refusal says nothing about the server.
NOT_REFUSED: ColumnElement[bool] = and_(
    OF_MAIL,
    select(DeliveryAttempt.error)
    .where(DeliveryAttempt.delivery_id == Delivery.id)
    .order_by(DeliveryAttempt.id.desc())
    .limit(1)
    .scalar_subquery()
    .is_distinct_from(RECIPIENT_REFUSED),
)
OLDEST_MAIL = select(func.min(Delivery.created_at)).where(PENDING, NOT_REFUSED)
# Others ended before their last try: the recipient or the message was refused for good, or there was no recipient.
FAILED_MAILS = select(func.count()).where(
    Delivery.state == DeliveryState.DEAD, Delivery.attempts >= len(DELAYS), NOT_REFUSED
)
EXPIRIES = (SignInAttempt.expires_at, PasskeyChallenge.expires_at, MailLink.expires_at)
# What comes after this migration only drops what processes of the version before read until they are replaced.
NEEDED = "0071"
QUEUE = select(func.count(), func.min(Review.place)).where(in_queue())
CHANGES = select(func.count()).where(in_queue(), of_changes())
SCRAPE_SECONDS = 3.0  # a scrape waits no longer for `ledger`
REVIEWERS = select(func.count()).where(User.is_reviewer, User.status == AccountStatus.ACTIVE)
COUNTED = tuple(event for event in events.TABLE if event.after)
# Includes prepared transactions, which have no session.
OLDEST_TRANSACTION = text(
    "SELECT min(began) FROM (SELECT xact_start FROM pg_stat_activity "
    "WHERE datname = current_database() AND backend_xid IS NOT NULL "
    "UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS open (began)"
)

# Connections to all databases of the server, because all count towards its limit. Other roles' states may be hidden.
CONNECTIONS = text(
    "SELECT count(*) FILTER (WHERE state = 'active'), count(*) FILTER (WHERE state = 'idle'), "
    "count(*) FILTER (WHERE state LIKE 'idle in transaction%'), count(*) FILTER (WHERE state IS NULL), "
    "current_setting('max_connections')::int FROM pg_stat_activity "
    "WHERE datname IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'"
)


class Bounded(Generic[T]):
    """A check that may hang: it runs in a thread of its own, and its caller waits at most `seconds`.

    Some drivers' timeouts fail if a server accepts bytes and never answers. While one run hangs no other is started, so
    such a server costs one thread and one connection, however often the check is called.
    """

    def __init__(self, work: Callable[[], T], seconds: float) -> None:
        self._work, self._seconds = work, seconds
        self._lock = Lock()
        self._running: Future[T] | None = None

    def __call__(self) -> T:
        """Return the check's result or raise its error. Raises TimeoutError; the check then continues in its thread."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                Thread(target=self._run, args=(self._running,), daemon=True).start()
            running = self._running
        return running.result(self._seconds)

    def _run(self, outcome: "Future[T]") -> None:
        try:
            with within(self._seconds):
                outcome.set_result(self._work())
        except BaseException as error:
            outcome.set_exception(error)


@dataclass(frozen=True, slots=True)
class State:
    """The state of the database: its migrations, and the times of its oldest pending webhook and mail."""

    revisions: tuple[str, ...]
    undelivered_since: datetime | None = None
    unsent_since: datetime | None = None


def state(engine: Engine) -> State:
    """The state now, over a connection of its own. Raises SQLAlchemyError."""
    with engine.connect() as connection:
        revisions = migrations(connection)
        if not suffices(revisions):
            return State(revisions)
        return State(revisions, *connection.execute(_oldest_pending()).one())


def _oldest_pending(*more: Any) -> AnySelect:
    """Select when the oldest pending webhook and mail were created, and `more` about the pending deliveries."""
    oldest = (func.min(Delivery.created_at).filter(of_kind) for of_kind in (~OF_MAIL, OF_MAIL))
    return select(*oldest, *more).where(Delivery.state == DeliveryState.PENDING)


def migrations(connection: Connection) -> tuple[str, ...]:
    """The revisions that the database was migrated to; empty if it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return ()
    return tuple(connection.scalars(text("SELECT version_num FROM alembic_version ORDER BY 1")))


def suffices(revisions: tuple[str, ...]) -> bool:
    """Whether this version can work with a database of these migrations: its own, or those of a later version.

    Migrations are numbered, so the later one is the greater one; a version that is not a number is not ours.
    """
    return len(revisions) == 1 and revisions[0].isdigit() and revisions[0] >= NEEDED


@cache
def heads() -> tuple[str, ...]:
    """The newest migration of this version, by the numbers of the files: Alembic would take 11 MB of memory."""
    return (max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")),)


class Connections(NamedTuple):
    """The client connections to the PostgreSQL server by state, and its limit; on SQLite all are 0.

    The state of other roles' connections is unknown, unless ours has `pg_read_all_stats`.
    """

    active: int = 0
    idle: int = 0
    in_transaction: int = 0
    unknown: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The numbers of webhooks and mails by state, of audit entries by counted action, and of accounts by status.

    `reviewers` is the number of active accounts that may review: reviewers and administrators.

    `failed_mails` are the dead mails whose tries all failed, the last one not because of the recipient. `oldest` has
    the time of the oldest pending delivery of each endpoint, of mail without what was refused because of its recipient;
    `due` is when the first delivery without a lease was due. `pending` is the number of pending projects that wait for
    review, `pending_since` the time of the oldest entry of the queue.
    `expired_since` is when the first row expired that housekeeping has not deleted. `transaction`, the start of the
    oldest transaction that has written or locked something, and `connections` are PostgreSQL's only.
    `partly_approved` is the number of projects and revisions with some approvals, and fewer than are required.
    `rule_matches` has the name, the state and the number of matches of each rule. `gauges` has the rows of the numbers
    of extras, by name.
    """

    deliveries: dict[str, int]
    mails: dict[str, int]
    failed_mails: int
    actions: dict[Event, int]
    accounts: dict[str, int]
    reviewers: int
    oldest: dict[str, datetime | None]
    due: datetime | None
    transaction: datetime | None
    pending: int
    pending_since: datetime | None
    expired_since: datetime | None
    connections: Connections
    partly_approved: int
    rule_matches: list[tuple[str, str, int]]
    gauges: dict[str, list[tuple[Any, ...]]]


RULE_MATCHES = (
    select(SpamRule.name, SpamRule.state, func.coalesce(func.sum(RuleDay.matched), 0))
    .outerjoin(RuleDay, RuleDay.rule_id == SpamRule.id)
    .group_by(SpamRule.id, SpamRule.name, SpamRule.state)
    .order_by(SpamRule.id)
)


def ledger(
    engine: Engine,
    audit_days: int | None,
    *,
    approvals_required: int = 1,
    gauges: Mapping[str, AnySelect] = MappingProxyType({}),
) -> Ledger:
    """The counts now, from indexes and the few pending deliveries, and by the statements of extras.

    Raises SQLAlchemyError.
    """
    by_state = select(OF_MAIL, Delivery.state, func.count()).group_by(OF_MAIL, Delivery.state)
    by_action = select(AuditEntry.action, func.count()).where(AuditEntry.action.in_(COUNTED))
    by_status = select(UserCount.status, UserCount.role, UserCount.users)
    by_endpoint = select(Delivery.endpoint, func.min(Delivery.created_at)).where(PENDING).group_by(Delivery.endpoint)
    free = case((func.coalesce(Delivery.leased_until, Delivery.next_attempt_at) <= now(), Delivery.next_attempt_at))
    with engine.connect() as connection:
        states = {(bool(of_mail), state): count for of_mail, state, count in connection.execute(by_state)}
        actions = dict(connection.execute(by_action.group_by(AuditEntry.action)).all())
        users = {(status, role): int(number) for status, role, number in connection.execute(by_status)}
        reviewers = connection.scalar(REVIEWERS) or 0
        oldest = {**dict(connection.execute(by_endpoint).all()), MAIL: connection.scalar(OLDEST_MAIL)}
        failed = connection.scalar(FAILED_MAILS) or 0
        due = connection.scalar(select(func.min(free)).where(PENDING))
        queued, since = connection.execute(QUEUE).one()
        pending = queued - (connection.scalar(CHANGES) or 0)
        expired = _expired_since(connection, audit_days)
        partly = connection.scalar(approvals.pending(approvals_required)) if approvals_required > 1 else 0
        matches = [(name, state, int(number)) for name, state, number in connection.execute(RULE_MATCHES)]
        of_extras = {name: [tuple(row) for row in connection.execute(query)] for name, query in gauges.items()}
        transaction, connections = None, Connections()
        if engine.dialect.name == "postgresql":
            transaction = connection.scalar(OLDEST_TRANSACTION)
            connections = Connections(*connection.execute(CONNECTIONS).one())
    return Ledger(
        {state: states.get((False, state), 0) for state in DeliveryState},
        {state: states.get((True, state), 0) for state in DeliveryState},
        failed,
        {action: actions.get(action, 0) for action in COUNTED},
        {status: sum(users.get((status, role), 0) for role in STORED_ROLES) for status in AccountStatus},
        users.get((AccountStatus.ACTIVE, Role.ADMIN), 0) + reviewers,
        oldest,
        due,
        transaction,
        pending,
        since,
        expired,
        connections,
        partly or 0,
        matches,
        of_extras,
    )


def _expired_since(connection: Connection, audit_days: int | None) -> datetime | None:
    """When the first row expired that is still there, of the tables in which an index or the lowest id finds it."""
    oldest_session = select(Session.created_at).order_by(Session.id).limit(1)
    lifetimes = [(select(func.min(expiry)), timedelta()) for expiry in EXPIRIES]
    lifetimes += [(select(func.min(Delivery.settled_at)), RETENTION), (oldest_session, LIFETIME)]
    if audit_days is not None:
        oldest_entry = select(AuditEntry.at).order_by(AuditEntry.id).limit(1)
        lifetimes.append((oldest_entry, timedelta(days=audit_days)))
    row = connection.execute(select(*(query.scalar_subquery() for query, _ in lifetimes))).one()
    ends = [at + lifetime for at, (_, lifetime) in zip(row, lifetimes, strict=True) if at is not None]
    return min((end for end in ends if end < now()), default=None)
