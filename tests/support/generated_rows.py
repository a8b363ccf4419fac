"""Rows for every table, of whatever its columns can hold on either database."""

from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import JSON, Boolean, Column, Date, Float, Integer, LargeBinary, String, Table, delete, insert

from directory.extensions import db
from directory.models import LastUse, Project, Upvote, User, now
from directory.models.base import (
    LogoAddresses,
    OwnValues,
    Pictures,
    UtcDateTime,
    addresses,
    logo_addresses,
    small_digest,
)
from directory.services.catalog import search_index
from directory.services.catalog.orders import hot
from directory.services.text.keys import keys_of

FIRST_ID = 2**52  # beyond what fits into a float or into 32 bits
SETTLED = {"state": "dead", "settled_at": now(), "lease_token": "t", "leased_until": now()}
UNSETTLED = {"state": "pending", "settled_at": None, "lease_token": None, "leased_until": None}
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=13))])
TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1), timezones=ZONES)  # noqa: DTZ001 (the zone follows)


def texts(length: int | None) -> st.SearchStrategy[str]:
    """Any text that UTF-8 can say; no database takes NUL."""
    return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=min(length or 60, 60))


def _values(column: Column[Any]) -> st.SearchStrategy[Any]:
    kinds = {
        Date: lambda: st.dates(date(1970, 1, 2), date(2199, 1, 1)),
        String: lambda: texts(column.type.length),  # type: ignore[attr-defined]
        LargeBinary: lambda: st.binary(max_size=40),
        LogoAddresses: st.none,
        OwnValues: lambda: st.dictionaries(texts(8), texts(32) | st.booleans() | st.integers(-9, 9), max_size=3),
        Pictures: lambda: st.lists(texts(140), max_size=5),  # their words
        UtcDateTime: lambda: TIMES,
        Boolean: st.booleans,
        Integer: lambda: st.integers(0, 2**31 - 1),
        Float: lambda: st.floats(allow_nan=False, allow_infinity=False),
        JSON: lambda: st.lists(texts(32), max_size=5, unique=True),
    }
    values = next(make() for kind, make in kinds.items() if isinstance(column.type, kind))
    return st.none() | values if column.nullable else values


def _rows(table: Table) -> st.SearchStrategy[list[dict[str, Any]]]:
    columns = {column.name: _values(column) for column in table.c if column.computed is None}
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=3)


def everything() -> st.SearchStrategy[dict[str, list[dict[str, Any]]]]:
    """Some rows for each table that a user or the service writes to, which keep to the rules between them."""
    others = {"sessions", "passkey_challenges", "project_tags", "upvotes", "standings", "tag_counts"}
    others |= {
        "project_fields",
        "field_counts",
        "user_counts",
        "user_submissions",
        "day_counts",
        "picture_uses",
        "review_claims",
    }
    tables = [t for t in db.metadata.sorted_tables if t.name not in others]
    return st.fixed_dictionaries({table.name: _rows(table) for table in tables}).map(_consistent)


SAME = {
    "mail_links": {"purpose": "reset"},
    "rules": {"effect": "hold", "state": "dry", "reason": None},
    "saved_replies": {"decision": "reject"},
    "link_checks": {"project_id": FIRST_ID},
    "link_counts": {"state": "ok"},
    "field_definitions": {"kind": "text", "audience": "public", "state": "present", "choices": []},
    "rule_facts": {"kind": "submission", "account_id": FIRST_ID},
    "rule_actions": {"effect": "mark", "project_id": FIRST_ID},
    "messages": {"project_id": FIRST_ID, "sender": "reviewers", "kind": "note"},
    "reports": {
        "project_id": FIRST_ID, "reporter_id": None, "address_key": None, "kind": "spam", "outcome": None,
        "settled_at": None,
    },
}  # fmt: skip


def _consistent(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    for table, rows in tables.items():
        for n, row in enumerate(rows):
            row |= {name: value for name, value in (_fixed(n) | SAME.get(table, {})).items() if name in row}
    for n, row in enumerate(tables["deliveries"]):
        row |= SETTLED if n else UNSETTLED
    _have_logos(tables)
    for row in tables["users"]:
        row |= {"status": "active", "role": "member"}
    for n, row in enumerate(tables["tokens"]):
        row["parent_id"] = FIRST_ID if n else None
    for name in ("audit_retention", "link_checks", "link_counts"):
        tables[name] = tables[name][:1]
    tables["category_slugs"] = [{"slug": "former", "category_id": FIRST_ID}]
    tables["rule_days"] = [{**row, "rule_id": FIRST_ID} for row in tables["rule_days"][:1]]
    uses = tables["last_uses"]
    tables["last_uses"] = [{**uses[n % len(uses)], "user_id": row["id"]} for n, row in enumerate(tables["users"])]
    tables["daily_bytes"] = [{**row, "account_id": FIRST_ID} for row in tables["daily_bytes"][:1]]
    tables["approvals"] = [{**row, "project_id": FIRST_ID} for row in tables["approvals"][:1]]  # of the first user
    tables["vote_discounts"] = [{"user_id": FIRST_ID, "project_id": FIRST_ID}]
    for n, row in enumerate(tables["projects"]):
        votes = 0 if n else len(tables["users"]) - 1  # one of which is discounted
        rank = hot(votes, row["published_at"] or row["created_at"])
        row |= {"status": "live" if row["published_at"] else "rejected", "upvotes": votes, "hot": rank}
        row["domain"], row["text_key"] = keys_of(SimpleNamespace(**row))
    tables["reviews"] = _reviews(tables["reviews"], tables["projects"])
    return tables


def _have_logos(tables: dict[str, list[dict[str, Any]]]) -> None:
    for n, row in enumerate(tables["logos"]):
        row |= {"digest": f"{n:064x}", "small_digest": small_digest(f"{n:064x}")}
    for row in tables["projects"]:
        row["logo"] = logo_addresses(f"{0:064x}")
        size = {"width": 1280, "height": 800, **addresses(f"{0:064x}", "640", "1280")}
        row["pictures"] = [{"id": n + 1, "alt": words, **size} for n, words in enumerate(row["pictures"] or ())]


def _reviews(rows: list[dict[str, Any]], projects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Changes of those that are live, which differ from the project, and the rejections of the others."""
    found = []
    for n, project in enumerate(projects):
        row = rows[n % len(rows)] | {"id": FIRST_ID + n, "project_id": project["id"], "is_current": True}
        row |= {"category_id": project["category_id"], "category": None, "asked": None, "logo": None, "changes": None}
        waits = bool(project["published_at"]) and row["until"] is None
        row |= {"turn": "reviewers" if waits else None, "outcome": None if waits else "rejected"}
        row["kind"] = "changes" if project["published_at"] else "submission"
        if project["published_at"]:
            row["changes"] = {"description": f"{project['description']}!"}
        else:
            row["place"] = project["submitted_at"]
        found.append(row)
    return found


def _fixed(n: int) -> dict[str, Any]:
    """What has to be unique, or to point at something, of the nth row."""
    unique = ("username", "email", "slug", "token_hash", "url_key", "webhook_id", "subject", "state_hash")
    unique += ("credential_id", "name", "digest", "host")
    owners = ("user_id", "owner_id", "category_id", "actor_id", "delivery_id", "author_id", "unread_by")
    counters = ("live_projects", "pending_projects", "rejected_projects")
    return (
        {"id": FIRST_ID + n, "repository_key": None} | dict.fromkeys(unique, f"{n}") | dict.fromkeys(owners, FIRST_ID)
    ) | dict.fromkeys(counters, 0)


def write(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Put them into the database; every user votes for the first project."""
    for table in db.metadata.sorted_tables:
        if tables.get(table.name):
            db.session.execute(insert(table), tables[table.name])
        if table is User.__table__:
            db.session.execute(delete(LastUse))  # those that the database makes
    voters = [row["id"] for row in tables["users"]]
    db.session.execute(insert(Upvote), [{"user_id": v, "project_id": FIRST_ID, "created_at": now()} for v in voters])
    search_index.index(db.session.query(Project).all())
