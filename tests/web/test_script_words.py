"""Scripts say what the service would say, in the language of the page."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.chromium import served
from tests.support.factories import World
from tests.support.visitor import visitor

LANGUAGES = ("en", "de", "fr", "ar", "ja")


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_vote_changes_a_button_as_the_service_would(
    chromium: Browser, make_app: Any, world: World, pages: None
) -> None:
    project = world.project(title="Lamp", votes=1)
    world.user("ada")
    asked: list[tuple[str, str]] = []
    with served(make_app(SITE_LANGUAGES=",".join(LANGUAGES))) as site, visitor(chromium, site) as person:
        page = person.enter("ada").page
        page.on("request", lambda sent: asked.append((sent.method, sent.headers.get("accept-language", ""))))
        for language in LANGUAGES:
            button = person.open(f"/?lang={language}").page.locator(f"[data-vote='{project}']")
            for pressed in ("true", "false"):
                with page.expect_response("**/upvote"):
                    button.click()
                expect(button).to_have_attribute("aria-pressed", pressed)
                said = (button.get_attribute("aria-label"), button.text_content())
                page.reload()
                assert (button.get_attribute("aria-label"), button.text_content()) == said, language
    wanted = [(method, language) for language in LANGUAGES for method in ("PUT", "DELETE")]
    assert [each for each in asked if each[0] != "GET"] == wanted
