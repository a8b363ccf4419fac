"""Pictures of every page with the demo, light and dark, desktop and phone: python -m tests.support.screenshots FOLDER.

They are to be looked at, and decide nothing.
"""

import sys
import tempfile
from pathlib import Path

import flask_migrate
from playwright.sync_api import Browser, sync_playwright

import config
from directory import create_app
from directory.services.accounts import passwords
from tests.support.chromium import QUIET, chromium_program, served
from tests.support.factories import PASSWORD, World

TEXT = "Draws **lines**, bars and scatter plots from any CSV file.\n\n- reads pipes\n- needs no display"
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}
PUBLIC = ("/", "/?q=data", "/?q=nothing-at-all", "/submit", "/mine")
OF_MEMBERS = ("/", "/submit", "/mine", "/account")
OF_ADMINS = (
    "/admin",
    "/admin?days=365",
    "/admin/queue",
    "/admin/projects",
    "/admin/users",
    "/admin/users/2",
    "/admin/categories",
    "/admin/deliveries",
    "/admin/audit",
)


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    passwords.configure(8, 1, 1)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        settings = {"APP_ENV": "testing", "SECRET_KEY": "x" * 40, "RATELIMIT_ENABLED": "false", "LOG_LEVEL": "WARNING"}
        app = create_app(config.load({**settings, "DATABASE_URL": f"sqlite:///{place}/demo.db"}))
        with app.app_context():
            flask_migrate.upgrade()
        app.test_cli_runner().invoke(args=["seed"])
        world = World(app)
        ada = world.user("ada-demo")
        world.admin("grace-demo")
        live = world.project(
            owner=ada,
            title="Lanternfish",
            tagline="Charts in the terminal",
            description=TEXT,
            votes=3,
            category="developer-tools",
        )
        world.project(owner=ada, status="pending", title="Grey heron", category="developer-tools")
        world.project(owner=ada, status="rejected", title="Red panda", category="developer-tools")
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=QUIET)
        with served(app) as site:
            for look in ("light", "dark"):
                for size in SIZES:
                    take(browser, site, folder, look, size, [*PUBLIC, f"/p/{live}/lanternfish", "/users/ada-demo"])
        browser.close()


def take(browser: Browser, site: str, folder: Path, look: str, size: str, public: list[str]) -> None:
    """Take the pictures of one look and size."""
    width, height = SIZES[size]
    options = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}
    context = browser.new_context(color_scheme=look, **options)  # type: ignore[arg-type]
    page = context.new_page()
    for path in public:
        page.goto(f"{site}{path}")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / f"visitor{_named(path)}-{look}-{size}.png")
    for login, who, paths in (("ada-demo", "member", OF_MEMBERS), ("grace-demo", "admin", OF_ADMINS)):
        credentials = {"login": login, "password": PASSWORD}
        context.request.post(f"{site}/api/auth/login", data=credentials, headers={"Origin": site})
        for path in paths:
            page.goto(f"{site}{path}")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=folder / f"{who}{_named(path)}-{look}-{size}.png", full_page=who == "admin")
    context.close()


def _named(path: str) -> str:
    return "-" + ("".join(each if each.isalnum() else "-" for each in path).strip("-") or "first")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
