"""From right to left, on the narrowest phone: every page and form of the walk, as it is sent and with its scripts."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.pages.test_words import FIXTURE
from tests.support import pseudo
from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.visitor import visitor
from tests.support.walk import SETTINGS, Walk
from tests.support.web import AXE, require_pages

NARROW = {"width": 320, "height": 800}
MOVING = re.compile(r'<script type="module".*?</script>|<meta http-equiv="refresh"[^>]*>', re.DOTALL)
KIND = re.compile(r'<\w+|(?:class|type|role)="[^"]*"| aria-[a-z]+=| dir=')  # of what axe judges
OPENED = "document.querySelectorAll('main details').forEach(each => each.setAttribute('open', ''))"
# What a person reads and hears, and the words in it that are of the browser and of no language.
READ = (
    """() => [document.body.innerText, ...[...document.querySelectorAll("[aria-label]")].map(each => each.ariaLabel)]"""
)
ENGLISH = re.compile(r"(?!API|deleted|Chrome|Linux|localhost|example|org|https|Fieldbook)\b[A-Za-z]{2,}")
# The width of the page, and the first elements that lie outside of the screen.
WIDTH = """() => [document.documentElement.scrollWidth, [...document.querySelectorAll("body *")].filter(each => {
  const { left, right, width } = each.getBoundingClientRect();
  return width > 0 && (left < -1 || right > innerWidth + 1) && getComputedStyle(each).position !== "absolute";
}).slice(0, 3).map(each => each.outerHTML.slice(0, 120))]"""


def wrong(page: Page, name: str, *, by_axe: bool = True) -> list[Any]:
    """What is wrong with the page that is open."""
    page.evaluate(OPENED)
    wide, elements = page.evaluate(WIDTH)
    found = [[wide, elements]] if wide > NARROW["width"] else []
    return [(name, *each) for each in found + (inspector(page)() if by_axe else [])]


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(chromium: Browser, make_app: Any, tmp_path: Path) -> None:
    require_pages(AXE)
    walk = Walk(make_app(**SETTINGS, **pseudo.settings(tmp_path, pseudo.ARABIC)))
    walk.fill()
    sent = {MOVING.sub("", each.text): each.name for each in walk.all() if '<html lang="ar-XB"' in each.text}
    paths = ("/", "/account", "/submit", "/mine", f"/mine/{walk.live}/edit", f"/p/{walk.live}/lamp")
    found: list[Any] = []
    known: set[str] = set()
    with served(walk.app) as site, visitor(chromium, site, 404, viewport=NARROW, reduced_motion="reduce") as person:
        shown = iter(sent)
        person.page.route("**/sent/*", lambda route: route.fulfill(body=next(shown), content_type="text/html"))
        for number, (text, name) in enumerate(sent.items()):
            person.page.goto(f"{site}/sent/{number}")
            kinds = {*KIND.findall(text)}
            found += wrong(person.page, name, by_axe=not kinds <= known)
            known |= kinds
        person.enter("ada")
        for path in paths:
            person.open(path).settle()
            assert person.page.locator("html").get_attribute("dir") == "rtl"
            assert ENGLISH.findall(FIXTURE.sub("", " ".join(person.page.evaluate(READ)))) == [], path
            found += wrong(person.page, path)
    assert not found, "\n".join(map(str, found))
    assert len(sent) > 150
