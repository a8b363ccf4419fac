"""What all forms of members share: the account that they are shown to, and what was typed in them."""

import re
from html import unescape

import pytest

from tests.pages.conftest import text_of
from tests.support.browsers import Browser

LIKE_FORMS = ["application/x-www-form-urlencoded", "multipart/form-data"]


@pytest.mark.parametrize("content_type", LIKE_FORMS)
def test_a_form_that_was_shown_to_another_account_is_409_and_does_nothing(app, world, content_type):
    ada, bob = world.user("ada").id, world.user("bob").id
    project, browser = world.project(), Browser(app).sign_in("bob")
    sent = {"vote": "cast", "expected_user": str(ada)}
    answer = browser.post(f"/votes/{project}", data=sent, content_type=content_type)
    assert answer.status_code == 409
    assert "Another account is signed in" in text_of(answer)
    assert "bob" in answer.text
    assert world.stored(project)["upvotes"] == 0
    own = {**sent, "expected_user": str(bob)}
    assert browser.post(f"/votes/{project}", data=own, content_type=content_type).status_code == 303


def test_it_is_409_also_where_the_other_account_may_not_do_it(app, world):
    ada, _bob = world.user("ada").id, world.user("bob").id
    project, browser = world.project(), Browser(app).sign_in("bob")
    answer = browser.post(f"/withdraw/{project}", data={"version": "a <text>\r\nof two", "expected_user": str(ada)})
    assert answer.status_code == 409
    assert unescape(re.search("<textarea[^>]* readonly>\n(.*?)</textarea>", answer.text, re.DOTALL)[1]) == (
        "a <text>\r\nof two"
    )
