"""Pictures of every page, light and dark, desktop and phone: python -m tests.support.screenshots [FOLDER] [--empty].

They show the demo, the projects of a file (`--projects FILE`, JSON Lines as `flask import` takes them), or an empty
directory. They are to be looked at, and decide nothing. `--readme` takes the three of the README into docs instead.
"""

import argparse
import base64
import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import flask_migrate
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

import config
from bench import drawings
from directory import create_app
from directory.db.transactions import transaction
from directory.services.accounts import passwords
from directory.services.data import demo, seeding
from tests.support.chromium import QUIET, chromium_program, served
from tests.support.factories import PASSWORD, World

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Draws **lines**, bars and scatter plots from any CSV file.\n\n- reads pipes\n- needs no display"
SETTINGS = {
    "APP_ENV": "testing",
    "SECRET_KEY": "x" * 40,
    "RATELIMIT_ENABLED": "false",
    "LOG_LEVEL": "ERROR",
    "WEBHOOK_URL": "https://hooks.example.org/projects",
    "WEBHOOK_SECRET": f"whsec_{base64.b64encode(bytes(32)).decode()}",
}
MISSING = {"description": "", "repository_url": None, "tags": []}  # what a row need not have
PICTURES = (
    ("A bar chart of eight columns in a window", "bars", "#0b6b62", (1600, 1000)),
    ("The same chart on a phone", "bars", "#a8552f", (500, 1000)),
    ("A wide chart over a year", "curves", "#5b4aa8", (2000, 700)),
)
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}
README = {"directory": "/", "console": "/admin/queue", "dashboard": "/admin"}
README_SIZE = {"width": 1280, "height": 720}
PUBLIC = (
    "/",
    "/?q=data&sort=upvotes",
    "/?q=nothing-at-all",
    "/?page=2",
    "/best",
    "/sign-in",
    "/sign-up",
    "/sign-in?next=%2Fsubmit",
    "/mine",
    "/p/9999999/gone",
    "/users/nobody-at-all",
)
OF_MEMBERS = ("/", "/submit", "/mine", "/mine?upvoted=1", "/account")
OF_ADMINS = (
    "/admin",
    "/admin?days=365",
    "/admin/queue",
    "/admin/projects",
    "/admin/users",
    "/admin/categories",
    "/admin/deliveries",
    "/admin/audit",
)


class Shown:
    """What the pages show: the application, and the pages besides those that are always there."""

    def __init__(self, app: Flask) -> None:
        self.app, self.world = app, World(app)
        self.public: list[str] = []
        self.of_members: list[str] = []
        self.of_admins: list[str] = []

    def fill(self, projects: Path | None) -> None:
        """Plant the demo, its people with the projects of a file if there is one, and what one member submitted."""
        with self.app.app_context(), mock.patch.object(demo, "data", return_value=story(projects)):
            composed = demo.compose(1)
            transaction(lambda: seeding.plant(composed))
        ada, grace = self.world.user("ada-demo"), self.world.admin("grace-demo")
        category = composed.categories[0]["slug"]
        own = {"owner": ada, "category": category, "description": TEXT}
        live = self.world.project(**own, title="Lanternfish", tagline="Charts in the terminal", votes=3, tags=["csv"])
        self.world.project(**own, status="pending", title="Grey heron")
        self.world.project(**own, status="rejected", title="Red panda")
        admin, member = self.world.caller(grace), self.world.caller(ada)
        changed = self.world.project(
            **own, status="pending", title="Tern", tagline="Tables in the terminal", tags=["tables"]
        )
        admin.put(f"/api/admin/projects/{changed}/reject", {"reason": "Please say which formats it reads."})
        text = f"{TEXT}\n- reads TSV and Parquet"
        member.put(
            f"/api/projects/{changed}", {"tagline": "Tables in the terminal, from any file", "description": text}
        )
        approved = self.world.project(
            **own, status="pending", title="Sandpiper", tagline="Notes in plain files, with a search", tags=["notes"]
        )
        admin.put(f"/api/admin/projects/{approved}/approve")
        member.put(
            f"/api/projects/{approved}",
            {
                "tagline": "Notes in plain files, with a calendar",
                "description": text,
                "url": "https://sandpiper.example",
            },
        )
        pictures = [(words, drawings.drawn(*drawing)) for words, *drawing in PICTURES]
        for words, content in pictures:
            self.world.picture(live, words, content)
        made = self.world.picture(approved, *pictures[0])
        query = "?alt=The+calendar+of+a+month"
        given = {"data": drawings.drawn("tiles", "#2563a8", (1280, 800)), "content_type": "image/png"}
        member.call("POST", f"/api/projects/{approved}/pictures{query}", **given)
        member.put(f"/api/projects/{approved}/pictures/{made['id']}", {"alt": "Bars of the notes of each week"})
        for voter in (self.world.user("reed-demo"), self.world.user("a-name-of-thirty-two-characters1")):
            self.world.vote(live, voter)
            self.world.vote(approved, voter)
        admin.put(f"/api/admin/users/{voter.id}", {"status": "suspended"})
        discount = {"decision": "discount", "match": ["single_owner"], "reason": "One ring."}
        admin.post(f"/api/admin/projects/{live}/votes/decisions", discount)
        self.public = [f"/p/{live}/lanternfish", "/users/ada-demo", f"/categories/{category}", "/tags/csv"]
        self.of_members = [f"/p/{changed}/tern", f"/mine/{changed}/edit"]
        self.of_members += [f"/p/{approved}/sandpiper", f"/mine/{approved}/edit"]
        self.of_admins = [f"/admin/queue/{project}" for project in (changed, approved)]
        self.of_admins += [f"/admin/users/{ada.id}", f"/admin/projects/{live}"]


def story(projects: Path | None) -> Any:
    """The demo's data, with the projects of a file and categories for them if there is one."""
    known = json.loads((demo.DATA / "demo.json").read_text(encoding="utf-8"))
    if projects is None:
        return known
    rows = [{**MISSING, **json.loads(line)} for line in projects.read_text(encoding="utf-8").splitlines()]
    slugs = sorted({row["category"] for row in rows})
    named = [{"slug": slug, "name": slug.capitalize(), "description": ""} for slug in slugs]
    return {**known, "projects": rows, "categories": named}


@contextmanager
def running(projects: Path | None, *, empty: bool) -> Iterator[tuple[Shown, str]]:
    """What is shown, and its address for as long as the block runs."""
    passwords.configure(8, 1, 1)
    with tempfile.TemporaryDirectory() as place:
        app = create_app(config.load({**SETTINGS, "DATABASE_URL": f"sqlite:///{place}/demo.db"}))
        with app.app_context():
            flask_migrate.upgrade()
        shown = Shown(app)
        if empty:
            shown.world.user("ada-demo")
            shown.world.admin("grace-demo")
        else:
            shown.fill(projects)
        with served(app) as site:
            yield shown, site


def take_all(browser: Browser, site: str, shown: Shown, folder: Path) -> None:
    """Take the pictures of every look and size; "forced" is that of a browser with forced colours."""
    for look in ("light", "dark", "forced"):
        for size in SIZES:
            take(browser, site, shown, folder, look, size)


def take(browser: Browser, site: str, shown: Shown, folder: Path, look: str, size: str) -> None:
    """Take the pictures of one look and size."""
    width, height = SIZES[size]
    options: dict[str, Any] = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}
    options |= {"forced_colors": "active"} if look == "forced" else {"color_scheme": look}
    context = browser.new_context(**options)
    page = context.new_page()
    paths = {"visitor": [*PUBLIC, *shown.public], "member": [*OF_MEMBERS, *shown.of_members]}
    paths["admin"] = [*OF_ADMINS, *shown.of_admins]
    for caller, login in (("visitor", ""), ("member", "ada-demo"), ("admin", "grace-demo")):
        enter(context, site, login)
        for path in paths[caller]:
            opened(page, f"{site}{path}")
            page.screenshot(path=folder / f"{caller}{_named(path)}-{look}-{size}.png", full_page=path != "/")
        if caller == "visitor":
            page.goto(f"{site}/sign-in")
            page.get_by_label("Username or e-mail").fill("nobody")
            page.get_by_label("Password").fill("wrong")
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.get_by_role("alert").wait_for()
            page.screenshot(path=folder / f"visitor-refused-{look}-{size}.png")
    context.close()


def take_readme(browser: Browser, site: str, folder: Path) -> None:
    """Take the README's pictures, as WebP."""
    context = browser.new_context(viewport=README_SIZE, color_scheme="light")  # type: ignore[arg-type]
    page = context.new_page()
    for name, path in README.items():
        enter(context, site, "" if path == "/" else "grace-demo")
        opened(page, f"{site}{path}")
        if name == "console":
            page.get_by_text("Tern", exact=True).first.click()
            page.get_by_text("Changed since the last review").wait_for()
            page.evaluate("scrollTo(0, 0)")
        order = {"format": "webp", "quality": 90}
        picture = context.new_cdp_session(page).send("Page.captureScreenshot", order)["data"]
        (folder / f"{name}.webp").write_bytes(base64.b64decode(picture))
    context.close()


def enter(context: BrowserContext, site: str, login: str) -> None:
    """Be signed in, or a visitor."""
    if login:
        credentials = {"login": login, "password": PASSWORD}
        context.request.post(f"{site}/api/auth/login", data=credentials, headers={"Origin": site})
    else:
        context.clear_cookies()


def opened(page: Page, address: str) -> None:
    """Open a page, and wait until it has read what it shows."""
    page.goto(address)
    page.wait_for_load_state("networkidle")


def _named(path: str) -> str:
    return "-" + ("".join(each if each.isalnum() else "-" for each in path).strip("-") or "first")


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / ".venv" / "screenshots")
    parser.add_argument("--projects", type=Path, metavar="FILE")
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    given.folder.mkdir(parents=True, exist_ok=True)
    with running(given.projects, empty=given.empty) as (shown, site), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=QUIET)
        if given.readme:
            take_readme(browser, site, ROOT / "docs")
        else:
            take_all(browser, site, shown, given.folder)
        browser.close()


if __name__ == "__main__":
    main()
