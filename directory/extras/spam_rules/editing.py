"""The rules themselves: they are listed, added, changed and deleted, and what one did is undone; the log has all."""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from hashlib import blake2b
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as pg_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from directory import events
from directory.db.errors import refusing
from directory.db.transactions import on_postgresql
from directory.errors import Duplicate, Invalid, NotFound, PreviewFirst, TooMany
from directory.extensions import db, modify
from directory.extras.spam_rules import conditions
from directory.language.messages import _
from directory.models import Effect, Judged, Project, RuleAction, RuleDay, RulePreview, RuleState, SpamRule, now
from directory.services import audit, permissions
from directory.services.bounds import require_fewer
from directory.services.clock import database_clock
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import holding
from directory.services.review.case import locked

MOST = 50
DAYS = 30
AT_ONCE = 1_000  # projects that one call puts back
TRIED_WITHIN = timedelta(hours=24)
TAKEN = _("Another rule has this name.")
# The members of a rule, and the columns that hold them.
MEMBERS = {
    "name": "name",
    "on": "judges",
    "when": "conditions",
    "then": "effect",
    "reason": "reason",
    "state": "state",
}


def listed() -> list[dict[str, Any]]:
    """All rules in the order of their ids, each with its days, by two statements."""
    rules = list(db.session.scalars(select(SpamRule).order_by(SpamRule.id)))
    days = _days()
    return [_shown(rule, days) for rule in rules]


def one(rule_id: int) -> dict[str, Any]:
    """A rule with its days. Raises NotFound."""
    rule = db.session.get(SpamRule, rule_id)
    if rule is None:
        raise NotFound
    return _shown(rule, _days(rule_id))


def add(values: Mapping[str, Any], *, by: Caller | None) -> int:
    """Add a rule, and return its id. Raises Invalid, Duplicate, TooMany, PreviewFirst."""
    members = {"reason": None, "state": RuleState.OFF.value, **values}
    _require_valid(members)
    require_fewer(SpamRule, MOST, TooMany(_("There may be {most} rules. Delete one first.", most=MOST)))
    _require_tried(None, members)
    rule = SpamRule(**{MEMBERS[name]: value for name, value in members.items()})
    db.session.add(rule)
    with refusing(uq_rules_name=Duplicate(["name"], TAKEN)):
        db.session.flush()
    changes = {name: {"from": None, "to": members[name]} for name in MEMBERS}
    audit.record(events.RULE_CREATED, by=by, rule_id=rule.id, changes=changes)
    return rule.id


def change(rule_id: int, values: Mapping[str, Any], *, by: Caller | None) -> bool:
    """Change members of a rule; returns whether any is different now.

    One that is on becomes dry if what it judges by changes, unless `values` have a state.

    The reason of a rule that no longer rejects goes. Raises NotFound, Invalid, Duplicate, PreviewFirst.
    """
    rule = _locked(rule_id)
    before = _members(rule)
    after = {**before, **values}
    if after["then"] != Effect.REJECT and "reason" not in values:
        after["reason"] = None
    _require_valid(after)
    is_other = any(after[name] != before[name] for name in ("on", "when", "then"))
    if is_other and before["state"] == RuleState.ON and "state" not in values:
        after["state"] = RuleState.DRY.value
    _require_tried(before, after)
    changed = [name for name in MEMBERS if after[name] != before[name]]
    if not changed:
        return False
    for name in changed:
        setattr(rule, MEMBERS[name], after[name])
    rule.version += 1
    rule.changed_at = now()
    with refusing(uq_rules_name=Duplicate(["name"], TAKEN)):
        db.session.flush()
    names = ["name", *changed] if "name" not in changed else changed
    changes = {name: {"from": before[name], "to": after[name]} for name in names}
    audit.record(events.RULE_CHANGED, by=by, rule_id=rule_id, changes=changes)
    return True


def take_over(rules: list[dict[str, Any]]) -> tuple[int, int]:
    """Add or change rules by their names, as a command; returns how many were added, and how many changed.

    New ones are off, and others keep their state, but for what `change` says. Raises Invalid, TooMany.
    """
    ids = dict(db.session.execute(select(SpamRule.name, SpamRule.id)).all())
    before, changed = len(ids), 0
    for members in rules:
        wanted = {"reason": None, **{name: value for name, value in members.items() if name != "state"}}
        if wanted["name"] in ids:
            changed += change(ids[wanted["name"]], wanted, by=None)
        else:
            ids[wanted["name"]] = add(wanted, by=None)
    return len(ids) - before, changed


def remove(rule_id: int, *, by: Caller | None) -> None:
    """Delete a rule with its days. What it did stays. Raises NotFound."""
    before = _members(_locked(rule_id))
    modify(delete(SpamRule).where(SpamRule.id == rule_id))
    audit.record(
        events.RULE_DELETED, by=by, rule_id=rule_id, changes={n: {"from": v, "to": None} for n, v in before.items()}
    )


def revert(rule_id: int, since: datetime, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> int:
    """Put what a rule has held or rejected since an instant back into the queue, and return the number.

    At most AT_ONCE projects, with the lowest ids. What was edited, decided or appealed since stays as it is: each of
    these raises the version of the project. With `self_review` "refuse" so does what belongs to `by`. Each gets an
    audit entry, and its owner an entry in the thread and a mail. Raises Unauthenticated, NotFound.
    """
    require_active(by)
    if db.session.get(SpamRule, rule_id) is None:
        raise NotFound
    did = RuleAction.rule_id == rule_id, RuleAction.at >= since, RuleAction.version == Project.version
    done = holding.standing(*did)
    done = done.where(Project.owner_id != by.id) if permissions.refuses_own(self_review) else done
    cases = locked(db.session.scalars(done.limit(AT_ONCE)))
    still = set(db.session.scalars(done.where(Project.id.in_([case.id for case in cases])))) if cases else set()
    if still:
        holding.put_back([case for case in cases if case.id in still], rule_id, by=by, notify=notify)
    return len(still)


def refusals(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is wrong with a rule beyond the form of its members, as the errors of an answer; as far as it has them."""
    errors: list[dict[str, str]] = []
    then, on = values.get("then"), values.get("on") or []
    if "reason" in values and then is not None and (then == Effect.REJECT) != (values["reason"] is not None):
        needed = _("A rule that rejects needs a reason.")
        if then != Effect.REJECT:
            needed = _("Only a rule that rejects has one.")
        errors.append({"pointer": "#/reason", "detail": needed})
    if Judged.REGISTRATION in on and then not in {None, Effect.REJECT}:
        errors.append({"pointer": "#/then", "detail": _("A rule that judges registrations can only reject.")})
    return errors + conditions.refusals(values.get("when") or [], on)


def note_preview(on: list[str], when: list[dict[str, Any]]) -> None:
    """Note that these conditions were previewed just now."""
    at, insert = now(), pg_insert if on_postgresql() else sqlite_insert
    modify(delete(RulePreview).where(RulePreview.at < at - TRIED_WITHIN))
    noted = insert(RulePreview).values(digest=_digest(on, when), at=at)
    db.session.execute(noted.on_conflict_do_update(index_elements=[RulePreview.digest], set_={"at": at}))


def _require_valid(members: Mapping[str, Any]) -> None:
    if errors := refusals(members):
        raise Invalid(errors)


def _require_tried(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
    """Raise PreviewFirst if a rule begins to reject by conditions that nobody has previewed within a day."""
    if not _rejects(after):
        return
    digest = _digest(after["on"], after["when"])
    if before is not None and _rejects(before) and digest == _digest(before["on"], before["when"]):
        return
    since = database_clock() - TRIED_WITHIN
    tried = select(RulePreview.digest).where(RulePreview.digest == digest, RulePreview.at > since)
    if db.session.scalar(tried) is None:
        raise PreviewFirst


def _rejects(members: Mapping[str, Any]) -> bool:
    return bool(members["state"] == RuleState.ON and members["then"] == Effect.REJECT)


def _digest(on: list[str], when: list[dict[str, Any]]) -> str:
    """A digest that is the same for the same conditions, in whatever order."""
    ordered = sorted(json.dumps(condition, sort_keys=True) for condition in when)
    return blake2b(json.dumps([sorted(on), ordered]).encode(), digest_size=32).hexdigest()


def _locked(rule_id: int) -> SpamRule:
    query = select(SpamRule).where(SpamRule.id == rule_id).with_for_update()
    rule = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if rule is None:
        raise NotFound
    return rule


def _members(rule: SpamRule) -> dict[str, Any]:
    return {name: getattr(rule, column) for name, column in MEMBERS.items()}


def _days(rule_id: int | None = None) -> dict[tuple[int, date], int]:
    """The matches of each rule, or of one, by day."""
    query = select(RuleDay.rule_id, RuleDay.day, RuleDay.matched).where(RuleDay.day > _today() - timedelta(days=DAYS))
    query = query if rule_id is None else query.where(RuleDay.rule_id == rule_id)
    return {(rule, day): matched for rule, day, matched in db.session.execute(query)}


def _shown(rule: SpamRule, days: Mapping[tuple[int, date], int]) -> dict[str, Any]:
    """A rule as answers have it, with the last thirty days, the oldest first."""
    today = _today()
    every = [today - timedelta(days=n) for n in reversed(range(DAYS))]
    counted = [{"date": day, "matched": days.get((rule.id, day), 0)} for day in every]
    return {"id": rule.id, **_members(rule), "changed_at": rule.changed_at, "days": counted}


def _today() -> date:
    at: datetime = now()
    return at.date()
