"""Which site a browser names with our forms, and the answers: each row of the table in docs/threats.md."""

from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from directory.extensions import db
from directory.models import MailLink
from directory.services.accounts import mail_links
from tests.support.chromium import served
from tests.support.factories import PASSWORD, Api
from tests.support.proxy import CERTIFICATE

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
TLS = (str(CERTIFICATE), str(CERTIFICATE))
FORM = (
    '<form method="post" action="{action}"><input name="login" value="ada"><input name="password" value="{password}">'
)


class Recorder:
    """The application behind a proxy: it notes what browsers send, and changes what the proxy changes."""

    def __init__(self, app: Any, *, strips: bool = False, host: str = "", forwarded: str = "") -> None:
        self.app, self.strips, self.host, self.forwarded = app, strips, host, forwarded
        self.seen: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.seen.append(dict(environ))
        if self.strips:
            environ = {name: value for name, value in environ.items() if not name.startswith("HTTP_SEC_FETCH")}
        if self.forwarded:
            environ |= {"HTTP_X_FORWARDED_HOST": environ["HTTP_HOST"], "HTTP_X_FORWARDED_PROTO": self.forwarded}
        if self.host:
            environ |= {"HTTP_HOST": self.host}
        return self.app(environ, start_response)

    def posted(self) -> tuple[str | None, str | None]:
        """The Origin and the Sec-Fetch-Site of the last form."""
        last = [each for each in self.seen if each["REQUEST_METHOD"] == "POST"][-1]
        return last.get("HTTP_ORIGIN"), last.get("HTTP_SEC_FETCH_SITE")


@contextmanager
def person(chromium, site, name):
    """A page, and the address of the site under a name."""
    context = chromium.new_context(ignore_https_errors=True, java_script_enabled=False)
    yield context.new_page(), site.replace("127.0.0.1", name)
    context.close()


def sign_in(page, site):
    """Sign in by the form; the page is then another one, or shows the refusal."""
    page.goto(f"{site}/sign-in?next=/nothing")
    page.get_by_label("Username or e-mail").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def assert_signed_in(page):
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out").or_(page.get_by_text("ada"))).not_to_have_count(0)


@pytest.fixture
def lan(make_app, world):
    """The service as `make run` starts it."""
    world.user("ada")
    return make_app(APP_ENV="development")


@pytest.mark.parametrize(
    ("name", "metadata"), [("directory.lan", None), ("127.0.0.1", "same-origin"), ("localhost", "same-origin")]
)
def test_a_form_over_http_passes_under_any_name(chromium, lan, name, metadata):
    recorder = Recorder(lan)
    with served(recorder) as address, person(chromium, address, name) as (page, site):
        sign_in(page, site)
        assert_signed_in(page)
        assert recorder.posted() == (site, metadata)


@pytest.mark.parametrize("strips", [False, True], ids=["with", "without"])
def test_a_form_over_https_passes_with_and_without_fetch_metadata(chromium, app, world, strips):
    world.user("ada")
    recorder = Recorder(app, strips=strips)
    with served(recorder, tls=TLS) as address, person(chromium, address, "directory.lan") as (page, site):
        sign_in(page, site)
        assert_signed_in(page)
        assert recorder.posted() == (site, "same-origin")


@pytest.mark.parametrize("proxies", [0, 1])
def test_a_form_passes_behind_a_proxy_that_names_the_host_or_with_site_url(chromium, make_app, world, proxies):
    world.user("ada")
    recorder = Recorder(None, strips=True, host="10.0.0.11:8000", forwarded="https" if proxies else "")
    with served(recorder, tls=TLS) as address, person(chromium, address, "directory.lan") as (page, site):
        recorder.app = make_app(TRUSTED_PROXIES=1) if proxies else make_app(SITE_URL=site)
        sign_in(page, site)
        assert_signed_in(page)


def test_a_mailed_link_works_over_http_and_its_token_is_in_no_referer(chromium, make_app, world):
    world.user("ada")
    app = make_app(APP_ENV="development", MAIL_URL="smtp://localhost", MAIL_FROM="a@example.org")
    Api(app).post("/api/auth/password/forgot", {"login": "ada"})
    with app.app_context():
        token = mail_links.token_of(db.session.scalar(select(MailLink.nonce)), app.extensions["mail_server"].key)
    recorder = Recorder(app)
    with served(recorder) as address, person(chromium, address, "directory.lan") as (page, site):
        page.goto(f"{site}/reset?token={token}")
        page.get_by_label("New password").fill("another horse battery")
        page.get_by_role("button", name="Save the password").click()
        expect(page.get_by_text("Your password is changed")).to_be_visible()
        assert recorder.posted() == (site, None)
        page.goto(f"{site}/reset?token={token}")
        page.get_by_role("link", name="Have another link mailed").click()
        expect(page.get_by_role("heading", name="Forgot your password?")).to_be_visible()
    referers = {each.get("HTTP_REFERER") for each in recorder.seen}
    assert f"{site}/" in referers
    assert not [each for each in referers if each and token in each]


@pytest.mark.parametrize(
    ("name", "policy", "origin"),
    [
        ("evil.lan", "same-origin", "null"),
        ("evil.lan", "no-referrer", "null"),
        ("evil.lan", "unsafe-url", "{evil}"),
        ("directory.lan", "unsafe-url", "{evil}"),  # another port of our own name
        ("evil.lan", "sandbox", "null"),
    ],
)  # fmt: skip
def test_a_form_of_another_site_is_refused_over_http(chromium, lan, name, policy, origin):
    recorder = Recorder(lan)
    with served(recorder) as address, person(chromium, address, "directory.lan") as (page, site):

        def other(environ, start_response):
            form = FORM.format(action=f"{site}/sign-in", password=PASSWORD)
            given = (
                {"Content-Security-Policy": "sandbox allow-forms"}
                if policy == "sandbox"
                else {"Referrer-Policy": policy}
            )
            start_response("200 OK", [("Content-Type", "text/html"), *given.items()])
            return [f"<!doctype html>{form}<button>Press</button></form>".encode()]

        with served(other) as elsewhere:
            evil = elsewhere.replace("127.0.0.1", name)
            page.goto(evil)
            page.get_by_role("button", name="Press").click()
            expect(page.get_by_text("Nothing was changed, because your browser did not confirm")).to_be_visible()
            assert recorder.posted() == (origin.format(evil=evil), None)
            # The page that says so is ours: the form in it passes.
            expect(page.get_by_label("Username or e-mail")).to_have_value("ada")
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.get_by_label("Search projects")).to_be_visible()
            assert recorder.posted() == (site, None)
