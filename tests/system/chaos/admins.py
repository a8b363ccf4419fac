"""Administrators against each other: sixteen requests at once, round after round."""

from itertools import cycle

from tests.support.burst import Answer, Ask, bearer, burst, tally
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.processes import serving
from tests.system.chaos.races import BOTH
from tests.system.chaos.stage import Person, Stage, stage, submit

ADMINS = 16


def at_once(at: Stage, paths: list[str], body: object = None, by: list[Person] | None = None) -> list[Answer]:
    """Each administrator (or those named, in turn) puts one of the paths, all before the first is answered."""
    asks = [Ask("PUT", path, body, bearer(one.token)) for path, one in zip(paths, cycle(by or at.admins), strict=False)]
    return burst(serving(at).port, asks)


@scenario(
    "16 administrators decide about a project at once",
    "1 winner, which the refusals of the others name; 1 event for an approval, none for a rejection",
    short={"rounds": 3},
    long={"rounds": 100},
)
def deciding(rounds: int) -> Outcome:
    approved = 0
    for kind in BOTH:
        with stage(kind, admins=ADMINS) as at:
            for number in range(rounds):
                project = submit(at, at.members[0], f"decided/{number}")
                words = ["approve" if (n + number) % 2 else "reject" for n in range(ADMINS)]
                found = at_once(at, [f"/api/admin/projects/{project}/{word}" for word in words])
                state = at.ask("GET", f"/api/projects/{project}", at.admins[0]).json["status"]
                won = "approve" if state == "live" else "reject"
                assert [answer.status for answer in found] == [200 if word == won else 409 for word in words]
                at.ledger.note(won, 200, project=project)
                approved += won == "approve"
            at.settle()
    decided = f"{approved} approved, {2 * rounds - approved} rejected"
    return Outcome(f"{rounds} rounds on each database", f"1 winner each time: {decided}; one event for each approval")


@scenario(
    "16 administrators demote each other at once",
    "at least 1 is left, and by the audit log no demoted one demotes another; 0 x 5xx",
    short={"rounds": 3},
    long={"rounds": 100},
)
def demoting(rounds: int) -> Outcome:
    left: list[int] = []
    for kind in BOTH:
        with stage(kind, admins=ADMINS) as at:
            for number in range(rounds):
                step = 1 + number % (ADMINS - 1)
                others = at.admins[step:] + at.admins[:step]
                found = at_once(at, [f"/api/admin/users/{other.id}" for other in others], {"role": "member"})
                assert {answer.status for answer in found} <= {200, 403, 409}, tally(found)
                gone = [other for other, answer in zip(others, found, strict=True) if answer.status == 200]
                left.append(_left(at, gone))
                _promote(at, gone)
            at.settle()
    return Outcome(f"{rounds} rounds on each database", f"{min(left)} to {max(left)} of {ADMINS} were left")


def _left(at: Stage, gone: list[Person]) -> int:
    """How many administrators are left, as one of them sees it. AssertionError where none is left."""
    assert len(gone) < ADMINS, "none is left"
    seen = at.ask("GET", "/api/admin/users?role=admin&limit=100", _one_left(at, gone))
    assert seen.json["pagination"]["total"] == ADMINS - len(gone), seen
    return ADMINS - len(gone)


def _one_left(at: Stage, gone: list[Person]) -> Person:
    return next(one for one in at.admins if one not in gone)


def _promote(at: Stage, gone: list[Person]) -> None:
    """Make administrators of them again."""
    found = at_once(at, [f"/api/admin/users/{one.id}" for one in gone], {"role": "admin"}, [_one_left(at, gone)])
    assert tally(found) == {200: len(gone)}, tally(found)
