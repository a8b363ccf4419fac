"""The facts of what a member submits, edits or registers: collected by one statement, and stored with it.

Counts leave out the project that is judged, and end at COUNTED_TO, so that what they read is bounded. The stored facts
have numbers, truths, choices, the mail domain, and of links the state and the licence alone.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    String,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    select,
    text,
    union,
    update,
)

from directory import events
from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.extensions import db, modify
from directory.extras.spam_rules import texts
from directory.extras.spam_rules.conditions import OF_LINKS, OWN_KINDS, licence
from directory.extras.spam_rules.texts import Words
from directory.models import AuditEntry, Judged, Project, RuleFacts, RuleState, SpamRule, Status, User
from directory.models.base import UtcDateTime
from directory.services.catalog import own_fields
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_filters import PARAMETER
from directory.services.drafts import Draft, Registration
from directory.services.text.characters import has_lookalikes

COUNTED_TO = 1_000
HOUR, DAY, FOUR_WEEKS = timedelta(hours=1), timedelta(days=1), timedelta(weeks=4)
HOURS = FOUR_WEEKS // HOUR
# What a person decides about a project, and about what a rule did with it.
VERDICTS = tuple(event for event in events.TABLE if event.is_verdict)
_ONE: Any = literal_column("1")
P, F, A, R = Project.__table__.c, RuleFacts.__table__.c, AuditEntry.__table__.c, SpamRule.__table__.c
U = User.__table__.c
# What together changes with each change of the rules that are not off.
_PRINT = select(func.count(), func.sum(R.id), func.sum(R.version), func.max(R.changed_at)).where(
    R.state != literal_column(f"'{RuleState.OFF}'")
)
_PRINTED = len(_PRINT.selected_columns)
_medians: dict[tuple[Any, datetime], float] = {}  # of this hour, by database


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of something that is judged, by name, and its words.

    `is_decided`: a person has decided about the project. `rules` changes whenever a rule that is not off does.
    """

    values: dict[str, Any]
    words: Words = field(default_factory=Words)
    is_decided: bool = False
    rules: tuple[Any, ...] = (0,)


def of_project(draft: Draft) -> Facts:
    """The facts of a project as a draft has it, by one statement."""
    project = draft.after
    asked = {"domain": project.domain, "text_key": project.text_key, "owner": project.owner_id, "project": project.id}
    asked |= {"hour_ago": draft.at - HOUR, "day_ago": draft.at - DAY}
    median, row = _asked(asked, draft.at)
    created_at, email, verified_at, *counts, is_repeated, hour, is_decided = row[:-_PRINTED]
    names = ("domain_live", "domain_rejected", "domain_waiting", "approved", "rejected", "submitted_24h")
    shown = texts.seen(project.description)
    own, written = _own(project)
    values = {
        "account_hours": round((draft.at - created_at) / HOUR, 4),
        **_of_address(email, is_confirmed=verified_at is not None),
        **dict(zip(names, counts, strict=True)),
        "domain": None if project.domain is None else texts.number_of(project.domain),
        "links": shown.links,
        "text_of_rejected": bool(is_repeated),
        "title_lookalike": has_lookalikes(project.title),
        "has_repository": project.repository_url is not None,
        "burst": round(max(0, hour) / max(1.0, median), 4),
        **own,
        **_of_links(draft),
    }
    return Facts(values, texts.words_of(project, shown, written), bool(is_decided), tuple(row[-_PRINTED:]))


def _own(project: Any) -> tuple[dict[str, Any], list[str]]:
    """The facts of a project by the operator's own fields, and its texts of these, as its category has them."""
    if not project.fields:
        return {}, []
    defined = own_fields.present()
    shown = own_fields.shown(project.fields, defined, project.category_id, to_all=False)
    facts = {f"{PARAMETER}{name}": value for name, value in shown.items() if defined[name].kind in OWN_KINDS}
    return facts, [value for name, value in shown.items() if defined[name].kind is Kind.LINE]


def _of_links(draft: Draft) -> dict[str, Any]:
    """What is known of the links of a project: nothing of a new submission, nor of changes of a live project."""
    is_new = draft.kind is Judged.SUBMISSION and not draft.seen
    if is_new or draft.of_changes or not db.shows_links:
        return {}
    website, said = (draft.after.links or {}).get("url") or {}, draft.after.repository or {}
    facts = {
        "link_state": website.get("state"),
        "repository_archived": said.get("archived"),
        "repository_days": _days(said.get("created_at"), draft.at),
        "repository_pushed_days": _days(said.get("pushed_at"), draft.at),
        "repository_stars": said.get("stars"),
        "repository_license": licence(said.get("license") or ""),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _days(since: str | None, at: datetime) -> float | None:
    return None if since is None else round(max(at - datetime.fromisoformat(since), timedelta()) / DAY, 4)


def add_seen(facts: Facts, *, account_id: int, project_id: int) -> None:
    """Add what was seen of links to the facts that were stored last of a project."""
    of_project = RuleFacts.account_id == account_id, RuleFacts.project_id == project_id
    query = select(RuleFacts.id, RuleFacts.facts).where(*of_project).order_by(RuleFacts.id.desc()).limit(1)
    row = db.session.execute(query).one_or_none()
    if row is not None:
        seen = {name: value for name, value in facts.values.items() if name in OF_LINKS}
        modify(update(RuleFacts).where(RuleFacts.id == row.id).values(facts={**row.facts, **seen}))


def of_registration(draft: Registration) -> Facts:
    """The facts of a registration, by one statement."""
    [row] = _prints().all({})
    return Facts(_of_address(draft.email, is_confirmed=draft.is_confirmed), rules=tuple(row))


def _of_address(email: str, *, is_confirmed: bool) -> dict[str, Any]:
    """The facts of an account's address. A deleted account has none."""
    domain = email.rpartition("@")[2].lower()
    return {"email_confirmed": is_confirmed, "email_domain": domain, "email_disposable": is_disposable(domain)}


def is_disposable(domain: str) -> bool:
    """Whether a mail domain, or one above it, gives out addresses for a few minutes."""
    known, labels = _disposable(), domain.split(".")
    return any(".".join(labels[n:]) in known for n in range(len(labels) - 1))


@cache
def _disposable() -> frozenset[str]:
    from disposable_email_domains import blocklist  # not before it is needed

    return frozenset(blocklist)


def store(kind: Judged, facts: Facts, *, account_id: int, project_id: int | None, at: datetime) -> None:
    """Store facts with what they are of, by one statement; those of an edit in the place of the project's last one."""
    if kind is Judged.EDIT:
        last = RuleFacts.account_id == account_id, RuleFacts.project_id == project_id, RuleFacts.kind == kind
        modify(delete(RuleFacts).where(*last))
    dialect, words = db.engine.dialect.name, texts.packed(facts.words)
    row = {"kind": kind.value, "at": at, "project_id": project_id, "account_id": account_id}
    _insert(dialect).later(
        {**row, "facts": json.dumps(facts.values), "words": words.hex() if dialect == "postgresql" else words}
    )


def _asked(asked: dict[str, Any], at: datetime) -> tuple[float, tuple[Any, ...]]:
    """The median of submissions in an hour, and the other columns of the statement.

    The hours before this one do not change any more, so each process asks for their median once in an hour.
    """
    hour = at.replace(minute=0, second=0, microsecond=0)
    key = db.engine.url, hour
    dialect = db.engine.dialect.name
    if key in _medians:
        [row] = _statement(dialect).all(asked)
        return _medians[key], row
    [(median, *others)] = _with_median(dialect).all({**asked, "this_hour": hour, "weeks_ago": hour - FOUR_WEEKS})
    _medians.clear()
    _medians[key] = float(median)
    return _medians[key], tuple(others)


@cache
def _statement(dialect: str) -> Prepared:
    return Prepared(_facts())


@cache
def _with_median(dialect: str) -> Prepared:
    return Prepared(_facts(_median(dialect)))


@cache
def _insert(dialect: str) -> Prepared:
    facts, words = (
        ("CAST(:facts AS json)", "decode(:words, 'hex')") if dialect == "postgresql" else (":facts", ":words")
    )
    statement = text(
        "INSERT INTO rule_facts (kind, at, project_id, account_id, facts, words) "  # noqa: S608 (our own words)
        f"VALUES (:kind, :at, :project_id, :account_id, {facts}, {words}) RETURNING id"
    )
    return Prepared(statement.bindparams(bindparam("at", type_=UtcDateTime())))


@cache
def _prints() -> Prepared:
    return Prepared(_PRINT)


def _facts(*first: Any) -> AnySelect:
    """The statement for the facts of a project that the database knows, with the columns `first` before them."""
    project, owner = bindparam("project", type_=BigInteger()), bindparam("owner", type_=BigInteger())
    domain, key = bindparam("domain", type_=String()), bindparam("text_key", type_=String())
    of_domain = (
        _counted(select(_ONE).where(P.domain == domain, P.status == _word(status), P.id != project))
        for status in (Status.LIVE, Status.REJECTED, Status.PENDING)
    )
    is_repeated = select(P.id).where(P.text_key == key, P.status == _word(Status.REJECTED), P.id != project).exists()
    submitted = select(_ONE).where(
        F.account_id == owner, F.at > bindparam("day_ago", type_=UtcDateTime()), F.kind == _word(Judged.SUBMISSION)
    )
    # The project's own entry is taken off, rather than left out, so that an index is enough for the others.
    in_hour = A.action == _word(events.PROJECT_SUBMITTED), A.at > bindparam("hour_ago", type_=UtcDateTime())
    decided, logged, rules = _decided(owner, project), _logged(project, and_(*in_hour)), _PRINT.subquery()
    return select(
        *first,
        U.created_at,
        U.email,
        U.email_verified_at,
        *of_domain,
        *decided.c,
        _counted(submitted.where(F.project_id != project)),
        is_repeated,
        _counted(select(_ONE).where(*in_hour)) - logged.c.in_hour,
        logged.c.by_person,
        *rules.c,
    ).where(U.id == owner)


def _counted(rows: AnySelect) -> Any:
    return select(func.count()).select_from(rows.limit(_word(COUNTED_TO)).subquery()).scalar_subquery()


def _decided(owner: Any, project: Any) -> Any:
    """How many projects of an owner were approved and rejected at least once, as two columns of one row.

    It counts the projects that are there, and those that are gone. A decision raises the version, so the log is not
    asked about projects that have their first one.
    """
    most = _word(COUNTED_TO)
    there = select(P.id, P.version).where(P.owner_id == owner).limit(most).cte("there")
    of_account = select(F.project_id.label("id")).where(F.account_id == owner, F.project_id.is_not(None))
    judged = of_account.order_by(F.at.desc()).limit(most).subquery()
    changed = select(there.c.id).where(there.c.version > _ONE)
    own = union(changed, select(judged.c.id).where(judged.c.id.not_in(select(there.c.id)))).subquery()
    decisions = [_word(events.DECIDED[decision]) for decision in ("approve", "reject")]
    numbers = (func.count(case((A.action == decision, own.c.id)).distinct()) for decision in decisions)
    logged = select(*numbers).join_from(own, AuditEntry, and_(A.project_id == own.c.id, A.action.in_(decisions)))
    return logged.where(own.c.id != project).subquery()


def _logged(project: Any, in_hour: Any) -> Any:
    """How many entries about a project are `in_hour`, and how many a person's decisions, as two columns of one row.

    One subquery asks for both, by the project: alone, the first made SQLite read all entries of the hour.
    """
    by_person = and_(A.actor_id.is_not(None), A.action.in_(map(_word, VERDICTS)))
    numbers = _number(in_hour).label("in_hour"), _number(by_person).label("by_person")
    return select(*numbers).where(A.project_id == project).subquery()


def _number(condition: Any) -> Any:
    """In how many rows a condition holds."""
    return func.count(case((condition, _ONE)))


def _median(dialect: str) -> Any:
    """The median of the numbers of submissions in the hours of four weeks, most of which may be 0."""
    since, until = (bindparam(name, type_=UtcDateTime()) for name in ("weeks_ago", "this_hour"))
    hour = func.date_trunc(literal_column("'hour'"), A.at) if dialect == "postgresql" else func.substr(A.at, 1, 13)
    number = func.count().label("number")
    hours = (
        select(number).where(A.action == _word(events.PROJECT_SUBMITTED), A.at >= since, A.at < until).group_by(hour)
    )
    # An even number of hours has two in the middle.
    middle = hours.order_by(number.desc()).limit(literal_column("2")).offset(_word(HOURS // 2 - 1)).subquery()
    return select(func.coalesce(func.sum(middle.c.number), 0) / literal_column("2.0")).scalar_subquery()


def _word(value: Any) -> Any:
    """A constant in the text of a statement."""
    return literal_column(str(value) if isinstance(value, int) else f"'{value}'")
