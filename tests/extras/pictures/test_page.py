"""The forms of the pictures of a project, which work without JavaScript."""

import re

import pytest

from tests.extras.pictures.test_pictures import COLOURS, PICTURES_MAX, words
from tests.pages.conftest import text_of
from tests.pages.test_submitting import send
from tests.support.browsers import Browser
from tests.support.factories import Api, World
from tests.support.pictures import RED, picture


@pytest.fixture
def ada(world):
    return world.user("ada")


def shown(world, user, project_id):
    return world.caller(user).get(f"/api/projects/{project_id}").json


def test_one_more_picture_is_added_by_a_form_with_its_words(app, world, ada):
    project = world.project(ada, "pending")
    browser = Browser(app).sign_in("ada")
    answer = send(browser, f"/mine/{project}/pictures", alt="The window", picture=RED)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/mine/{project}/edit#pictures")
    [stored] = shown(world, ada, project)["pictures"]
    assert stored["alt"] == "The window"
    page = browser.get(f"/mine/{project}/edit").text
    assert f'<img src="{stored["640"]}" width="160" height="100" alt="The window">' in page
    assert f'action="/mine/{project}/pictures/{stored["id"]}"' in page


@pytest.mark.parametrize(("status", "sends_it_again"), [("pending", False), ("rejected", True)])
def test_the_form_of_a_rejected_project_says_that_a_picture_sends_it_for_review(
    app, world, ada, status, sends_it_again
):
    project = world.project(ada, status)
    browser = Browser(app).sign_in("ada")
    page = browser.get(f"/mine/{project}/edit").text
    assert ("Each button here saves at once, and sends the change for review" in page) is sends_it_again
    send(browser, f"/mine/{project}/pictures", alt="The window", picture=RED)
    assert shown(world, ada, project)["status"] == "pending"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"alt": "", "picture": RED}, "new-alt"),
        ({"alt": "x" * 141, "picture": RED}, "new-alt"),
        ({"alt": "The window"}, "picture"),
        ({"alt": "The window", "picture": b"<svg/>"}, "picture"),
        ({"alt": "The window", "picture": b"x" * (2**22 + 1)}, "picture"),
    ],
    ids=["no words", "long words", "no file", "svg", "large"],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_saved(app, world, ada, fields, wrong):
    project = world.project(ada, "pending", tagline="Lights a desk")
    answer = send(Browser(app).sign_in("ada"), f"/mine/{project}/pictures", **fields)
    found = re.findall(r'<p class="error" id="([\w-]+)-about">', answer.text)
    assert (answer.status_code, found) == (422, [wrong])
    assert re.findall(r'<input id="([\w-]+)"[^>]*autofocus', answer.text) == [wrong]
    assert ("choose the file again" in answer.text) == (wrong == "new-alt" and "picture" in fields)
    assert f'value="{fields["alt"]}"' in answer.text
    assert 'value="Lights a desk"' in answer.text  # the form of the project is as it was
    assert shown(world, ada, project)["pictures"] == []


def test_each_picture_is_moved_described_and_deleted_by_its_buttons(app, world, ada):
    project = world.project(ada, "pending")
    browser = Browser(app).sign_in("ada")
    first, second, third = (
        world.picture(project, colour, picture(colour=colour))["id"] for colour in ("red", "green", "blue")
    )

    def press(picture_id, do, alt):
        answer = browser.post(f"/mine/{project}/pictures/{picture_id}", data={"do": do, "alt": alt})
        assert answer.status_code == 303
        return words(shown(world, ada, project))

    assert press(third, "earlier", "blue") == ["red", "blue", "green"]
    assert press(first, "earlier", "red") == ["red", "blue", "green"]  # it is the first already
    assert press(first, "later", "scarlet") == ["blue", "scarlet", "green"]  # what was typed is saved too
    assert press(second, "later", "green") == ["blue", "scarlet", "green"]
    assert press(second, "words", "lime") == ["blue", "scarlet", "lime"]
    assert press(first, "delete", "") == ["blue", "lime"]
    refused = browser.post(f"/mine/{project}/pictures/{second}", data={"do": "words", "alt": ""})
    assert (refused.status_code, re.findall(r'id="picture-(\d+)-alt-about"', refused.text)) == (422, [str(second)])
    gone = browser.post(f"/mine/{project}/pictures/{first}", data={"do": "words", "alt": "x"})
    assert gone.status_code == 404
    assert browser.post(f"/mine/{project}/pictures/{second}", data={"do": "burn", "alt": "x"}).status_code == 422
    assert words(shown(world, ada, project)) == ["blue", "lime"]


def test_a_form_that_was_refused_leads_back_to_its_page_in_another_language(make_app):
    app = make_app(SITE_LANGUAGES="en,de")
    world = World(app)
    project, browser = world.project(world.user("ada"), "pending"), Browser(app).sign_in("ada")
    for path in (f"/mine/{project}/pictures", f"/mine/{project}/edit"):
        refused = send(browser, path, alt="The window", picture=b"<svg/>")
        assert refused.status_code == 422
        assert f'name="next" value="/mine/{project}/edit"' in refused.text


def test_the_form_of_a_live_project_shows_its_owner_what_waits_and_an_administrator_what_is_live(app, world, ada):
    project = world.project(ada, tagline="Lights a desk")
    world.admin("root")
    world.picture(project, "The lamp")
    browser = Browser(app).sign_in("ada")
    assert send(browser, f"/mine/{project}/pictures", alt="The window", picture=RED).status_code == 303
    own = browser.get(f"/mine/{project}/edit").text
    assert ("The window" in own, "sends the change for review" in text_of(browser.get(f"/mine/{project}/edit"))) == (
        True, True,
    )  # fmt: skip
    assert "The window" not in Browser(app).sign_in("root").get(f"/mine/{project}/edit").text
    assert words(Api(app).get(f"/api/projects/{project}").json) == ["The lamp"]


def test_five_pictures_leave_no_form_and_a_sixth_is_refused_in_words(app, world, ada):
    project = world.project(ada, "pending")
    for colour in COLOURS[:PICTURES_MAX]:
        world.picture(project, colour, picture(colour=colour))
    browser = Browser(app).sign_in("ada")
    assert f'action="/mine/{project}/pictures"' not in browser.get(f"/mine/{project}/edit").text
    answer = send(browser, f"/mine/{project}/pictures", alt="One more", picture=RED)
    assert answer.status_code == 409
    assert "can have 5 pictures" in text_of(answer)


def test_while_an_appeal_is_open_the_form_says_that_a_button_ends_it(app, world, ada):
    project, words = world.project(ada, "rejected"), "Each button here also ends your appeal"
    browser = Browser(app).sign_in("ada")
    assert words not in text_of(browser.get(f"/mine/{project}/edit"))
    world.appeal(project, ada)
    assert words in text_of(browser.get(f"/mine/{project}/edit"))


def test_a_submission_has_a_first_picture_with_its_words(world, app, ada):
    world.category("tools")
    browser = Browser(app).sign_in("ada")
    form = browser.get("/submit").text
    assert 'action="/submit/pictures"' in form
    assert form.index('name="picture_alt"') < form.index("Send for review")
    lamp = {"title": "Lamp", "tagline": "Lights a desk", "url": "https://lamp.example/", "category": "tools"}
    wordless = send(browser, "/submit/pictures", **lamp, picture=RED)
    assert (wordless.status_code, 'id="picture_alt-about"' in wordless.text) == (422, True)
    broken = send(browser, "/submit/pictures", **lamp, picture=b"x", picture_alt="A window")
    assert (broken.status_code, "This file cannot be a picture here." in broken.text) == (422, True)
    assert world.caller(ada).get("/api/projects?owner=me").json["items"] == []
    sent = send(browser, "/submit/pictures", **lamp, picture=RED, picture_alt="A window")
    assert sent.status_code == 303
    project = int(re.search(r"/mine/(\d+)", sent.headers["Location"])[1])
    assert [each["alt"] for each in shown(world, ada, project)["pictures"]] == ["A window"]
    jar = {**lamp, "title": "Jar", "url": "https://jar.example/"}
    plain = send(browser, "/submit/pictures", **jar, picture_alt="Words of no picture")
    assert plain.status_code == 303
    same = send(browser, "/submit/pictures", **{**lamp, "title": "Light"}, picture=RED, picture_alt="A window")
    assert (same.status_code, "You sent this on" in text_of(same)) == (409, True)
    assert text_of(same).count("Please choose the file again") == 2  # the logo's field says so, too
