"""A person at the pages, in a real browser, where nothing may go wrong unseen."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import WITHIN
from tests.support.factories import PASSWORD
from tests.support.waiting import until

NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
# What Chromium says of an answer that is no success, besides what the page shows of it.
REFUSED = re.compile(r"Failed to load resource: .*(status of (\d+)|net::ERR_\w+)")
# A test fills in a field before the first frame, with which Chromium would have focused the one of the page.
FASTER = "Autofocus processing was blocked because a document already has a focused element."


class Visitor:
    """One person in one browser. `said` is what the browser complains of, `elsewhere` who else was contacted."""

    def __init__(self, page: Page, site: str) -> None:
        self.page, self.site = page, site
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        self.reading: set[Any] = set()
        page.on("request", self._note)
        for ended in ("requestfinished", "requestfailed"):
            page.on(ended, lambda request: self.reading.discard(request))

    def _note(self, request: Any) -> None:
        self.reading.add(request)
        if not request.url.startswith((f"{self.site}/", "data:")):
            self.elsewhere.append(request.url)

    def open(self, path: str) -> "Visitor":
        """Load a page of the site."""
        self.page.goto(f"{self.site}{path}")
        expect(self.page.locator("main")).to_be_visible()
        return self

    def settle(self) -> None:
        """Wait until the page has read all that it shows, without the half second that `networkidle` adds."""
        until(lambda: not self._loading() and not self._loading())

    def _loading(self) -> bool:
        """Whether anything is read, or is about to be: what an answer asks for begins before the next frame."""
        self.page.evaluate(NEXT_FRAME)
        return bool(self.reading) or self.page.locator(".skeleton, main [aria-busy=true]").count() > 0

    def link(self, name: str) -> Any:
        """The first link of this name."""
        return self.page.get_by_role("link", name=name, exact=True).first

    def button(self, name: str) -> Any:
        """The button of this name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def sign_in(self, login: str, password: str = PASSWORD) -> None:
        """Fill in the form of the page that signs in, which is open, and send it."""
        self.page.get_by_label("Username or e-mail").fill(login)
        self.page.get_by_label("Password").fill(password)
        self.button("Sign in").click()
        expect(self.page.get_by_label(f"Account: {login}")).to_be_visible()

    def enter(self, login: str) -> "Visitor":
        """Be signed in, without the page that signs in."""
        body = {"login": login, "password": PASSWORD}
        answer = self.page.request.post(f"{self.site}/api/auth/login", data=body, headers={"Origin": self.site})
        assert answer.status == 200, answer.text()
        return self

    def call(self, method: str, path: str, body: Any = None) -> int:
        """The status of a call of the API by this person."""
        headers = {"Origin": self.site}
        return int(self.page.request.fetch(f"{self.site}{path}", method=method, data=body, headers=headers).status)

    def complaints(self, *expected: int) -> list[str]:
        """What the browser said, but for refusals of a status that is expected; 0 is no answer at all."""
        allowed = {str(status) for status in expected}
        found = []
        for line in self.said:
            refused = REFUSED.search(line)
            if line != FASTER and (refused is None or (refused[2] or "0") not in allowed):
                found.append(line)
        return found


@contextmanager
def visitor(browser: Browser, site: str, *expected: int, **options: Any) -> Iterator[Visitor]:
    """A visitor of the site, who afterwards has met no error but refusals of the `expected` statuses."""
    context = browser.new_context(**options)
    try:
        person = Visitor(context.new_page(), site)
        person.page.set_default_timeout(WITHIN)
        yield person
        found = [*person.complaints(*expected), *person.elsewhere]
        assert not found, f"{person.page.url}: {found}"
    finally:
        context.close()
