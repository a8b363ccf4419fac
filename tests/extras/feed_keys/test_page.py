"""The address of a feed on the page of the account."""

import re

from tests.pages.test_account import section, sent
from tests.support.factories import Api


def test_the_address_of_a_feed_is_shown_once_and_ends_by_its_button(app, browser):
    assert "You have no address." in section(browser.get("/account"), "feed")
    answer = browser.post("/account/feed-key")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    [whole] = re.findall(r'<code class="secret" tabindex="0">([^<]*)</code>', answer.text)
    assert re.fullmatch(r"https?://localhost/api/projects.atom\?key=[A-Za-z0-9_-]{43}", whole)  # as a reader needs it
    address = whole[whole.index("/api/") :]
    assert Api(app).get(address).status_code == 200
    page = browser.get("/account")
    assert address not in page.text
    assert "You have an address." in section(page, "feed")
    said, _ = sent(browser, "feed-key/delete")
    assert "The address is deleted." in said
    assert "You have no address." in said
    assert Api(app).get(address).status_code == 401
