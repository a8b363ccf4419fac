"""The rendered document and the pages of problems, in a browser."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.support.chromium import chromium, served
from tests.support.factories import PASSWORD

__all__ = ["chromium"]
pytestmark = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
SUBMIT = "#operations-projects-projectsCreate"


@contextmanager
def opened(chromium, app, path, **options) -> Iterator:
    """A page of the application, which must report no error and no violation of its policy."""
    with served(app) as address:
        page = chromium.new_page(**options)
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{address}{path}")
        yield page
        page.close()
    assert said == []


def open_operation(page, selector):
    page.locator("#operations-tag-projects").click()
    page.locator(f"{selector} .opblock-summary-control").click()
    expect(page.locator(f"{selector} .responses-wrapper tr.response").first).to_be_visible()


def execute(page, body=None):
    """Call the one operation that is shown, and give the status of the answer."""
    page.locator(".opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    if body is not None:
        page.locator("textarea.body-param__text").fill(body)
    page.locator(".execute").click()
    return page.locator(".live-responses-table tbody .response-col_status")


def background(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_the_document_is_as_dark_as_its_reader_prefers_and_follows_a_change(chromium, app):
    with opened(chromium, app, "/api/docs", color_scheme="dark") as page:
        expect(page.locator(".opblock-tag").first).to_be_visible()
        dark = background(page)
        page.emulate_media(color_scheme="light")
        expect(page.locator("html")).not_to_have_class("dark-mode")
        assert (dark, background(page)) == ("rgb(28, 32, 34)", "rgba(0, 0, 0, 0)")


def test_the_page_begins_with_the_site_and_its_groups_folded(chromium, make_app):
    with opened(chromium, make_app(SITE_NAME="Ours"), "/api/docs") as page:
        expect(page.locator(".opblock-tag").first).to_be_visible()
        expect(page.get_by_role("banner").get_by_role("link", name="Ours")).to_have_attribute("href", "/")
        expect(page).to_have_title("API · Ours")
        assert page.locator(".opblock").count() == 0
        assert page.locator("*").count() < 709  # of the first page of the demo
        page.locator("#operations-tag-projects").click()
        expect(page.locator(".opblock").first).to_be_visible()


def test_no_part_of_the_document_is_resolved_by_making_all_of_it_anew(chromium, app):
    with opened(chromium, app, "/api/docs") as page:
        expect(page.locator(".opblock-tag").first).to_be_visible()
        page.evaluate("ui.specActions.requestResolvedSubtree(['paths', '/api/projects', 'post'])")
        part = page.evaluate("ui.specSelectors.specResolvedSubtree(['paths', '/api/projects', 'post']).toJS()")
        assert part["responses"]["429"]["headers"]["Retry-After"]["schema"]["type"] == "integer"
        assert '"$ref"' not in str(part)


def test_an_operation_lists_its_headers_once_and_a_refusal_shows_its_own_on_demand(chromium, app):
    with opened(chromium, app, "/api/docs") as page:
        open_operation(page, SUBMIT)
        assert page.locator(f"{SUBMIT} tr.response").count() == 11
        assert page.locator(f"{SUBMIT} .headers-wrapper").count() == 1
        assert page.locator(SUBMIT).bounding_box()["height"] < 2500
        page.get_by_role("button", name="Show the headers and an example of 429").click()
        expect(page.locator("tr[data-code='429'] .headers-wrapper")).to_contain_text("Retry-After")
        assert page.locator(f"{SUBMIT} .headers-wrapper").count() == 2


def test_the_filter_finds_operations_by_their_method_path_and_summary(chromium, app):
    with opened(chromium, app, "/api/docs") as page:
        expect(page.locator(".opblock-tag").first).to_be_visible()
        for phrase, found in (
            ("UPVOTE", ["POST", "PUT", "DELETE"]),
            ("put upvote", ["PUT"]),
            ("upvote nothing", []),
            ("submit a project", ["POST"]),
        ):
            page.get_by_label("Filter the operations").fill(phrase)
            expect(page.locator(".opblock-summary-method")).to_have_text(found)


def test_a_reader_signs_in_on_the_page_as_it_says(chromium, app, world):
    world.user("ada")
    with opened(chromium, app, "/api/docs") as page:
        search = page.get_by_label("Filter the operations")
        search.fill("post /api/auth/login")
        expect(execute(page, f'{{"login": "ada", "password": "{PASSWORD}"}}')).to_have_text("200")
        search.fill("get /api/auth/me show")
        expect(execute(page)).to_have_text("200")
        expect(page.locator(".live-responses-table")).to_contain_text("ada@example.org")


def test_a_reader_signs_in_by_a_token(chromium, app, world):
    token = world.caller(world.user("ada")).token
    with opened(chromium, app, "/api/docs") as page:
        page.get_by_role("button", name="Authorize").click()
        form = page.locator(".auth-container", has_text="bearer")
        form.locator("input").fill(token)
        form.get_by_role("button", name="Apply credentials").click()
        form.get_by_role("button", name="Close").click()
        page.get_by_label("Filter the operations").fill("get /api/auth/me show")
        expect(execute(page)).to_have_text("200")


@pytest.mark.parametrize("path", ["/", "/api/docs", "/api/problems", "/api/problems/unsupported_media_type"])
def test_no_page_scrolls_sideways_on_a_phone(chromium, app, path):
    with opened(chromium, app, path, viewport={"width": 390, "height": 800}) as page:
        page.wait_for_load_state("networkidle")
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
