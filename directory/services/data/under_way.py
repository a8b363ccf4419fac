"""What is under way in the demo: questions with answers, an appeal, a report, and what a rule holds."""

from collections.abc import Sequence
from datetime import timedelta

from directory.extensions import db
from directory.models import (
    Effect,
    Judged,
    MessageKind,
    Report,
    ReportKind,
    RuleAction,
    RuleDay,
    RuleState,
    Sender,
    SpamRule,
    Status,
    now,
)
from directory.services.data.demo import Person, Submission
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.review.case import Case, Terms, advance, flush, locked, move
from directory.services.review.steps import Act

ASKED = "Please say in the description which platforms it runs on. Then it can be listed."
ANSWERED = "It runs on Linux, macOS and Windows. Shall I write that into the description, too?"
QUESTION = "Is there a page that lists the releases?"
REPLY = "Yes, the website links to it, below the download. Thank you for looking!"
APPEAL = "The description was shortened since, and says now what sets it apart. Please look at it once more."
REPORT = "The link to the documentation leads to an old version."
RULE = "Well-known names, which others may use for theirs"
MINUTE = timedelta(minutes=1)


def plant(numbered: Sequence[tuple[int, Submission]], admin: Person | None) -> None:
    """Add it to the projects, given with their ids, in the name of `admin`; nothing without one."""
    if admin is None:
        return
    by = _caller(admin)
    cases = {case.id: case for case in locked(number for number, _ in numbered)}
    waiting = [(cases[number], submission) for number, submission in numbered if submission.status is Status.PENDING]
    rejected = [(cases[number], submission) for number, submission in numbered if submission.status is Status.REJECTED]
    for (case, submission), begin in zip(waiting, (_ask, _question, _hold), strict=False):
        begin(case, _caller(submission.owner), by)
    for case, submission in rejected[-1:]:
        _appeal(case, _caller(submission.owner))
    for number in [number for number, submission in numbered if submission.status is Status.LIVE][:1]:
        _report(number, admin)


def _caller(person: Person) -> Caller:
    return Caller(person.id, person.username, person.role)


def _ask(case: Case, owner: Caller, by: Caller) -> None:
    """Changes are asked for, and the owner has a question about them."""
    move([case], Act.REQUEST, by=by, at=now() - 50 * MINUTE, terms=Terms(ASKED, answer_within=timedelta(days=30)))
    _say(case, ANSWERED, owner, Sender.OWNER, 20)


def _question(case: Case, owner: Caller, by: Caller) -> None:
    """A reviewer asks something, and the owner answers."""
    _say(case, QUESTION, by, Sender.REVIEWERS, 45)
    _say(case, REPLY, owner, Sender.OWNER, 12)


def _hold(case: Case, _owner: Caller, _by: Caller) -> None:
    """A rule holds it, by its name."""
    at, project = now(), case.project
    names = {"fact": "words", "is": "in", "value": [project.title, "WordPress", "Firefox"]}
    hold = Effect.HOLD.value
    about = {"judges": [Judged.SUBMISSION.value], "conditions": [names], "effect": hold, "state": RuleState.ON.value}
    rule = SpamRule(name=RULE, **about)
    db.session.add(rule)
    db.session.flush()  # for its id
    did = {"project_id": project.id, "of_revision": False, "effect": hold, "acted": True, "version": project.version}
    db.session.add(RuleAction(rule_id=rule.id, rule_name=RULE, at=at, **did))
    db.session.add(RuleDay(rule_id=rule.id, day=at.date(), matched=1))
    advance(case, Act.HOLD, by=None, at=at)
    flush([case])


def _appeal(case: Case, owner: Caller) -> None:
    at = now() - 30 * MINUTE
    thread.add(thread.Entry(MessageKind.APPEAL, case.id, owner.id, APPEAL), sender=Sender.OWNER, by=owner, at=at)
    move([case], Act.APPEAL, by=owner, at=at)


def _report(project_id: int, reporter: Person) -> None:
    about = {"project_id": project_id, "reporter_id": reporter.id, "created_at": now() - 90 * MINUTE}
    db.session.add(Report(kind=ReportKind.WRONG_FACTS.value, text=REPORT, **about))


def _say(case: Case, text: str, by: Caller, sender: Sender, minutes: int) -> None:
    entry = thread.Entry(MessageKind.MESSAGE, case.id, case.project.owner_id, text)
    thread.add(entry, sender=sender, by=by, at=now() - minutes * MINUTE)
