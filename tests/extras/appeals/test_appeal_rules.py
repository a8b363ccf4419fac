"""The rules of appeals without HTTP, and appeals, outcomes, edits and decisions at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from directory.db.transactions import transaction
from directory.errors import DirectoryError, NotFound, OwnSubmission
from directory.extras.appeals import appeals
from tests.extras.appeals.cases import KINDS, Case
from tests.support.reviewing import last_wait, put_back


def refusal(case: Case, call: Any) -> Any:
    """The error of a rule, whose transaction is rolled back."""
    with case.app.app_context(), pytest.raises(DirectoryError) as caught:
        transaction(call)
    return type(caught.value)


def test_the_rules_ask_themselves_who_may(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on"), "revision")
    calls = {
        NotFound: lambda: appeals.appeal(case.id, "Look.", by=case.judge, notify=[]),
        OwnSubmission: lambda: settle(case, case.ada, self_review="refuse"),
    }
    case.world.make_reviewer(case.ada)
    case.ada = replace(case.ada, role="reviewer")
    assert {refusal(case, call): call for call in calls.values()} == calls
    with case.app.app_context():
        assert appeals.is_possible(case.id)


def settle(case: Case, by: Any, **terms: Any) -> None:
    appeals.settle(case.id, "reversed", "Look.", by=by, notify=[], is_on=True, **terms)


@pytest.fixture(params=KINDS)
def case(request: Any, make_app: Any) -> Case:
    return Case(make_app(APPEALS="on"), request.param)


def race(*calls: Any) -> list[int]:
    """The status of each call, all of which begin at once."""
    barrier = Barrier(len(calls))

    def send(call: Any) -> int:
        barrier.wait()
        return int(call().status_code)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(send, calls))


def test_of_sixteen_outcomes_at_once_one_is_made(case: Case) -> None:
    case.appeal()
    judges = [case.eve, *(case.world.caller(case.world.admin()) for _ in range(3))]
    outcomes = ("upheld", "reversed") * 8
    codes = race(*(lambda n=n: case.settle(outcomes[n], judges[n % 4]) for n in range(16)))
    assert sorted(codes) == [200] * 8 + [409] * 8
    [won] = {outcome for outcome, code in zip(outcomes, codes, strict=True) if code == 200}
    assert case.actions() == [f"project.appeal_{won}", "project.appealed"]
    assert [kind for _, kind, _ in case.thread() if kind.startswith("appeal_")] == [f"appeal_{won}"]


def test_of_sixteen_appeals_at_once_one_is_made(case: Case) -> None:
    codes = race(*(case.appeal for _ in range(16)))
    assert sorted(codes) == [201] + [409] * 15
    assert case.actions() == ["project.appealed"]


@pytest.mark.parametrize("attempt", range(2))
def test_of_an_appeal_and_an_edit_at_once_the_edit_remains(case: Case, attempt: int) -> None:
    edit = {"description": "MIT.", "title": "A third title"}
    appealed, edited = race(case.appeal, lambda: case.owner.put(f"/api/projects/{case.id}", edit))
    assert edited == 200
    assert appealed in {201, 409}
    assert case.shown()["review"]["waiting_for"] == "review"
    ends = case.ends()
    assert len(ends) == (1 if appealed == 201 else 0)
    assert case.figures()[2:] == (0, 0, 0)


@pytest.mark.parametrize("attempt", range(2))
def test_of_an_outcome_and_a_decision_at_once_the_state_is_that_of_one(make_app: Any, attempt: int) -> None:
    case = Case(make_app(APPEALS="on"), "unpublished")
    case.appeal()
    path = f"/api/admin/projects/{case.id}/reject"
    settled, rejected = race(lambda: case.settle("reversed"), lambda: case.root.put(path, {"reason": "Spam."}))
    ends = case.ends()
    assert (settled, rejected, len(ends), case.shown()["status"]) in {(200, 409, 0, "live"), (409, 200, 1, "rejected")}


@pytest.mark.parametrize("attempt", range(2))
def test_of_an_appeal_and_a_decision_at_once_the_decision_remains(make_app: Any, attempt: int) -> None:
    case = Case(make_app(APPEALS="on"), "unpublished")
    appealed, approved = race(case.appeal, lambda: case.root.put(f"/api/admin/projects/{case.id}/approve"))
    assert (approved, case.shown()["status"], case.shown()["review"]) == (200, "live", None)
    ends = case.ends()
    assert (appealed, len(ends)) in {(201, 1), (409, 0)}


@pytest.mark.parametrize("outcome", ["upheld", "reversed"])
def test_the_time_of_a_review_leaves_out_the_appeal_and_what_came_before(case: Case, outcome: str) -> None:
    put_back(case.app, case.id, place=100)
    if case.kind == "unpublished":
        put_back(case.app, case.id, since=100)
    case.appeal()
    assert case.settle(outcome).status_code == 200
    if outcome == "upheld" or case.kind == "unpublished":
        case.owner.put(f"/api/projects/{case.id}", {"title": "Once more"})
    case.root.put(f"/api/admin/projects/{case.id}/reject", {"reason": "Still none."})
    assert round(last_wait(case.app)) == 0
