"""Axe finds nothing on any page: light and dark, on a phone and on a desktop. It runs in a world of its own."""

import pytest

from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.extras import rows
from tests.support.visitor import visitor
from tests.support.web import AXE, require_pages

pytestmark = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(chromium, make_app, world, look):
    require_pages(AXE)
    app = make_app(REPORTS="everybody")
    ada = world.user("ada")
    live = world.project(
        owner=ada, title="Lamp", tags=["light", "blue"], description="# A\n\n- `b`\n\n| a |\n|---|\n| b |"
    )
    waiting = world.project(owner=ada, status="rejected", title="Grey lamp")
    other = world.project(title="Other", votes=2)
    world.report(other, ada)
    wrong: list[tuple[str, int, int, list]] = []
    only = ("color-contrast",) if look == "dark" else ()  # the look changes nothing but colours
    public = ["/", "/?q=nothing-at-all", f"/p/{live}/lamp", "/mine", "/users/ada", "/sign-in", "/sign-up"]
    public += ["/categories/tools", "/tags/light", "/best", "/nothing"]
    own = [
        "/",
        f"/p/{waiting}/grey-lamp",
        "/mine",
        "/mine?upvoted=1",
        f"/mine/{waiting}",
        f"/mine/{live}",
        "/account",
        "/submit",
        f"/mine/{waiting}/edit",
        "/admin",
    ]
    for path, is_own in rows("seen").items():
        (own if is_own else public).append(path.format(other=other))
    with served(app) as site, visitor(chromium, site, 404, color_scheme=look, reduced_motion="reduce") as person:
        page = person.page
        for signed_in, paths in ((False, public), (True, own)):
            if signed_in:
                person.enter("ada")
            for path in paths:
                person.open(path)
                person.settle()
                page.evaluate("document.querySelector('.report')?.setAttribute('open', '')")
                violations = inspector(page)
                for width in (320, 390, 1280):
                    page.set_viewport_size({"width": width, "height": 800})
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    found = violations(*only) if width != 390 else []  # it shows nothing that 320 and 1280 do not
                    if found or wide > width:
                        wrong.append((path, width, wide, found))
    assert wrong == []
