"""An administrator deletes somebody else's account in the console, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_an_account_is_deleted_only_after_the_dialog_is_confirmed(chromium, app, world, grace):
    mallory = world.user("mallory")
    live = world.project(owner=mallory, title="Lamp")
    pending = world.project(owner=mallory, title="Spam", status="pending")
    with served(app) as site, visitor(chromium, site, 401, 409) as person, visitor(chromium, site) as other:
        other.enter("mallory")
        page = person.enter("grace").open(f"/admin/users/{mallory.id}").page
        dialog = page.get_by_role("dialog")
        person.button("Delete account…").click()
        expect(dialog.get_by_role("heading", name="Delete the account of mallory")).to_be_visible()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert other.call("GET", "/api/auth/me") == 200
        person.button("Delete account…").click()
        dialog.get_by_label("Reason").fill("Asked for by e-mail.")
        dialog.get_by_role("button", name="Delete account", exact=True).click()
        expect(page.get_by_text("The account of mallory is deleted.")).to_be_visible()
        expect(page.get_by_role("heading", name=f"deleted-{mallory.id}")).to_be_visible()
        expect(page.locator(".timeline")).to_contain_text("Asked for by e-mail.")
        # A deleted account stays as it is, except that its live projects can be taken down.
        expect(page.locator(".actions button")).to_have_text(["Take down the projects…"])
        assert other.call("GET", "/api/auth/me") == 401
        assert (world.row(live).status, world.row(pending)) == ("live", None)
        # The last administrator cannot be deleted; the dialog shows the reason.
        person.open(f"/admin/users/{grace.id}")
        person.button("Delete account…").click()
        dialog.get_by_role("button", name="Delete account", exact=True).click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        assert person.call("GET", "/api/auth/me") == 200
