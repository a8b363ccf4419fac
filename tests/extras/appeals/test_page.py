"""The form of an appeal on the page of a member's own project, without JavaScript."""

from typing import Any

import pytest

from tests.extras.appeals.cases import KINDS, TEXT, WORDS, Case
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import Api

FORM = 'id="appeal"'


@pytest.mark.parametrize("kind", KINDS)
def test_an_owner_appeals_without_javascript_and_another_person_reverses_the_decision(make_app: Any, kind: str) -> None:
    case = Case(make_app(APPEALS="on"), kind)
    owner, address = Browser(case.app).sign_in(case.ada.username), f"/mine/{case.id}"
    assert FORM in owner.get(address).text
    long = owner.post(f"{address}/appeal", data={"text": "x" * 4001})
    assert long.status_code == 422
    assert ("x" * 4001 in long.text, long.text.count('aria-invalid="true"')) == (True, 1)
    assert 'id="appeal-text" name="text" required aria-invalid="true"' in long.text  # not the field of a message
    sent = owner.post(f"{address}/appeal", data=TEXT)
    assert (sent.status_code, sent.headers["Location"]) == (303, f"{address}?done=appealed#thread")
    page = owner.get(f"{address}?done=appealed")
    assert FORM not in page.text
    said = "Your appeal is sent.", "A decision about this project is looked at again", "You asked for another look"
    for words in (*said, TEXT["text"]):
        assert words in text_of(page)
    assert "Appealed" not in text_of(page)  # what an entry of the thread tells of stands once
    assert "was taken down" not in text_of(page)
    again = owner.post(f"{address}/appeal", data=TEXT)
    assert (again.status_code, TEXT["text"] in again.text, "There is no decision here" in again.text) == (
        409,
        True,
        True,
    )
    assert case.settle("reversed", case.root).json["code"] == "own_decision"
    assert case.settle("reversed").status_code == 200
    page = owner.get(address)
    assert FORM not in page.text
    for words in ("The decision was reversed", WORDS["reversed"]):
        assert words in text_of(page)
    assert ("is in the directory" in text_of(page)) is (kind == "unpublished")


def test_the_form_is_there_only_where_the_owner_may_appeal(make_app: Any) -> None:
    case = Case(make_app(), "rejected")
    on = make_app(APPEALS="on")
    owner, root = (Browser(case.app).sign_in(each.username) for each in (case.ada, case.decider))
    assert FORM not in owner.get(f"/mine/{case.id}").text
    assert FORM in owner.copy(on).get(f"/mine/{case.id}").text
    assert FORM not in root.copy(on).get(f"/mine/{case.id}").text  # an administrator
    assert FORM not in owner.copy(on).get(f"/mine/{case.world.project(case.ada)}").text
    case.owner.put(f"/api/projects/{case.id}", {"tagline": "Another"})
    assert FORM not in owner.copy(on).get(f"/mine/{case.id}").text


def test_the_help_says_that_owners_may_appeal_where_they_may(make_app: Any) -> None:
    pages = [text_of(Api(make_app(APPEALS=value)).get("/help")) for value in ("on", "off")]
    assert ["ask for another look on its page" in page for page in pages] == [True, False]
