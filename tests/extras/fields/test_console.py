"""Fields in a real browser: administrators define them in the console, reviewers read what changed by their labels."""

import re
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, expect

from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, SCORE, VALUES, define, submit
from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING
from tests.support.visitor import Visitor, visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
KINDS = {
    "text": "input", "url": "input", "number": "input", "date": "input[type=date]", "truth": "option:text-is('Yes')",
    "choice": "option:text-is('MIT')", "choices": "input[type=checkbox]",
}  # fmt: skip


def choices_of(admin: Api, name: str) -> list[str]:
    return [each["value"] for each in admin.get(f"{FIELDS}/{name}").json["choices"]]


def names(admin: Api) -> list[str]:
    return [each["name"] for each in admin.get(FIELDS).json["items"]]


def test_an_administrator_adds_a_field_of_each_kind_with_a_preview(
    chromium: Browser, app: Flask, world: World, grace: Any
) -> None:
    world.category("tools", "Tools")
    admin = world.caller(grace)
    with served(app) as site, visitor(chromium, site, 409, 422) as person:
        page = person.enter("grace").open("/admin").page
        page.get_by_role("link", name="Fields", exact=True).click()
        expect(page.get_by_text("No fields yet")).to_be_visible()
        assert inspector(page)() == []
        for kind, shown in KINDS.items():
            person.link("New field").click()
            page.get_by_label("Label", exact=True).fill(f"Of {kind}")
            page.get_by_label("Kind").select_option(kind)
            if kind in ("choice", "choices"):
                page.get_by_label("Label of choice 1").fill("MIT")
                expect(page.get_by_label("Value of choice 1")).to_have_value("mit")
            preview = page.get_by_role("region", name="As the form shows it")
            expect(preview).to_contain_text(f"Of {kind}")
            expect(preview.locator(shown)).to_have_count(1)
            if kind == "choices":
                assert inspector(page)() == []
            person.button("Save").click()
            expect(page.get_by_role("row").filter(has_text=f"of_{kind}").locator("code")).to_have_text(f"of_{kind}")
        assert names(admin) == [f"of_{kind}" for kind in KINDS]
        assert inspector(page)() == []

        person.open("/admin/fields/new")
        page.get_by_label("Name").fill("title")
        page.get_by_label("Label of choice 1").fill("GPL")
        page.get_by_label("Value of choice 1").fill("Not a slug")
        person.button("Add a choice").click()
        person.button("Save").click()
        wrong = page.locator("[aria-invalid=true]")
        expect(wrong.first).to_be_focused()
        for label in ("Label", "Name", "Value of choice 1", "Value of choice 2"):
            field = page.get_by_label(label, exact=True)
            expect(field).to_have_attribute("aria-invalid", "true")
            described = str(field.get_attribute("aria-describedby")).split()[-1]
            expect(page.locator(f"#{described}")).not_to_be_empty()
        assert inspector(page)() == []
        person.button("Remove 2").click()
        page.get_by_label("Label", exact=True).fill("Again")
        page.get_by_label("Name").fill("of_text")
        page.get_by_label("Value of choice 1").fill("gpl")
        person.button("Save").click()
        expect(page.locator(".wrong")).to_contain_text("This name is taken.")
        page.get_by_label("Name").fill("again")
        page.get_by_text("All categories").click()
        page.get_by_label("Tools").check()
        person.button("Save").click()
        expect(page.get_by_role("row").filter(has_text="Again")).to_contain_text("filter, tools")
        assert admin.get(f"{FIELDS}/again").json["categories"] == ["tools"]


def pressed(person: Visitor, button: str, key: str = "Enter") -> None:
    """Press a key on a button that has the focus, or gets it."""
    person.button(button).press(key)


def test_the_order_is_changed_by_keyboard_and_a_choice_in_use_stays(
    chromium: Browser, app: Flask, world: World, grace: Any
) -> None:
    world.category("tools", "Tools")
    admin = world.caller(grace)
    define(admin, LICENSE, PLATFORMS, SCORE)
    submit(world.caller(world.user("ada")), admin, license="mit", platforms=["mac"])
    with served(app) as site, visitor(chromium, site, 404, 409) as person:
        page = person.enter("grace").open("/admin/fields/of/platforms").page
        pressed(person, "Put Linux later")
        expect(person.button("Put Linux later")).to_be_focused()
        page.keyboard.press("Enter")  # it is the last one now
        expect(person.button("Put Linux earlier")).to_be_focused()
        expect(person.button("Remove Mac")).to_be_disabled()
        expect(page.get_by_text("In 1 project")).to_be_visible()
        person.button("Remove Windows").click()
        page.get_by_label("Mac is retired").check()
        person.button("Save").click()
        expect(page.get_by_text("The field Platforms is saved.")).to_be_visible()
        assert choices_of(admin, "platforms") == ["mac", "linux"]

        pressed(person, "Put Score earlier")
        expect(person.button("Put Score earlier")).to_be_focused()
        page.keyboard.press("Enter")
        expect(person.button("Put Score later")).to_be_focused()
        expect(page.get_by_text("Score is number 1 now.")).to_be_visible()
        assert names(admin) == ["score", "license", "platforms"]
        page.get_by_role("row").filter(has_text="Licence").locator("summary").click()
        expect(page.get_by_text("MIT: 1")).to_be_visible()

        person.link("Licence").click()
        expect(page.get_by_label("Value of choice 2")).to_have_value("gpl")
        submit_again = {"title": "Jar", "tagline": "It holds.", "url": "https://jar.example/", "category": "tools"}
        made = admin.post("/api/projects", {**submit_again, "fields": {"license": "gpl"}})
        assert made.status_code == 201
        person.button("Remove GPL").click()  # somebody took it meanwhile
        person.button("Save").click()
        expect(page.get_by_role("alert")).to_contain_text(re.compile("choice", re.IGNORECASE))
        assert choices_of(admin, "license") == ["mit", "gpl"]
        person.open("/admin/fields")
        person.button("Delete Licence").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 projects lose the value.")
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("The field Licence is deleted.")).to_be_visible()
        person.open("/admin/fields/of/license")
        expect(page.get_by_text("No such field")).to_be_visible()
        assert inspector(page)() == []


def test_reviewers_read_changes_by_labels_and_members_fill_the_form_in(
    chromium: Browser, make_app: Any, world: World, grace: Any
) -> None:
    app, _ = make_app(**NOTIFYING), world.category("tools", "Tools")
    world.category("games", "Games")
    admin, ada = world.caller(grace), world.caller(world.user("ada"))
    define(admin, LICENSE, PLATFORMS, SCORE, *OTHERS[1:], {**OTHERS[0], "categories": ["games"]})
    path = submit(ada, admin, **{name: value for name, value in VALUES.items() if name != "team"})
    number = path.rpartition("/")[2]
    with served(app) as site, visitor(chromium, site) as member, visitor(chromium, site) as reviewer:
        page = member.enter("ada").open(f"/mine/{number}/edit").page
        assert inspector(page)() == []
        expect(page.get_by_label("Team")).to_be_hidden()
        page.get_by_label("Licence").select_option("GPL")
        page.get_by_label("Windows").uncheck()
        page.get_by_label("Free of charge").select_option("No")
        page.get_by_label("Score").fill("")
        member.button("Save").click()
        expect(page.get_by_text("wait", exact=False).first).to_be_visible()
        page = member.open("/submit").page
        page.get_by_label("Category").select_option("Games")
        expect(page.get_by_label("Team")).to_be_visible()
        assert inspector(page)() == []

        page = reviewer.enter("grace").open(f"/admin/queue/{number}").page
        changes = page.locator(".q-changes").first
        for said in ("Licence", "Platforms", "Free of charge", "Score"):
            expect(changes.get_by_text(said, exact=True)).to_be_visible()
        for said in ("GPL", "No"):
            expect(changes.locator("ins").filter(has_text=said)).to_be_visible()
        expect(page.locator(".q-facts")).to_contain_text("Linux, Windows")
        assert inspector(page)() == []
