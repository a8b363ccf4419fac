"""Reading a website or a repository for the form of a submission."""

import io
import json
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from directory.errors import Invalid, LinksBusy
from directory.extras.links import forges, hosts, page_text, preview
from directory.extras.links.forges import Forge
from directory.extras.links.transport import HostBusy
from tests.extras.links.looks import ON, Directory
from tests.extras.links.site import Site, Turns, asking
from tests.support import cpu
from tests.support.browsers import Browser
from tests.support.factories import Api, World

NOTHING = dict.fromkeys(preview.FIELDS)
PAGE = """<!doctype html><html><head><!-- <title>Hidden</title> --><script>"<title>Not this</title>"</script>
<title>Lamp &amp; Desk
 | the site</title><meta name=description content='A lamp.'>
<meta property="og:description" content="Lights &gt; a desk">
<svg><title>An icon</title></svg></head><body><a name=x>no</a><a href="/about">About</a>
<a href='mailto:ada@example.org'>
</a><a href="https://github.com/sponsors/ada">Give</a><a href="https://github.com/ada/lamp/issues?q=1">Report</a>
<a href="https://codeberg.org/ada/other">Other</a></body></html>"""


def html(text: str | bytes, kind: str = "text/html; charset=utf-8", status: str = "200 OK") -> bytes:
    body = text if isinstance(text, bytes) else text.encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def of(site: Site, path: str, *more: Forge, **given: Any) -> dict[str, Any]:
    return preview.of(site.url(path), asking(**given), (*more, *forges.configured([])), lambda _seconds: None)


def test_a_website_says_its_title_its_line_and_its_repository(site: Site) -> None:
    site.pages["/lamp"] = html(PAGE)
    assert of(site, "/lamp") == {
        "url": site.url("/lamp"), "title": "Lamp & Desk | the site", "tagline": "Lights > a desk",
        "repository_url": "https://github.com/ada/lamp", "description": None,
    }  # fmt: skip
    site.pages["/og"] = html("<title>x</title><meta property='og:title' content='Lamp'><meta content=y><meta name=z>")
    assert of(site, "/og") == {**NOTHING, "url": site.url("/og"), "title": "Lamp"}
    site.pages["/none"] = html("", "application/xhtml+xml", "206 Partial")
    assert of(site, "/none") == {**NOTHING, "url": site.url("/none")}


def test_what_does_not_fit_is_cut_on_a_word_and_what_no_project_can_have_is_left_out(site: Site) -> None:
    title = "A lamp " + "that lights " * 20
    site.pages["/long"] = html(f"<title>{title}</title><meta name=description content='{'x' * 200}'>")
    found = of(site, "/long")
    assert len(found["title"]) <= 100
    assert title.startswith(found["title"] + " ")
    assert found["tagline"] == "x" * 140
    site.pages["/blank"] = html("<title>\u200b \x07</title><meta name=description content=' '>")
    assert of(site, "/blank") == {**NOTHING, "url": site.url("/blank")}


def test_of_a_repository_the_forge_says_it(site: Site) -> None:
    forge = Forge(site.url(""), "forgejo", "secret")
    said = {"name": "lamp", "description": "Lights " + "a desk " * 30, "website": "https://lamp.example/"}
    api = "/api/v1/repos/ada/lamp"
    site.pages[api] = html(json.dumps(said), "application/json")
    site.asked.clear()
    found = of(site, "/ada/lamp/src/x", forge)
    assert found == {
        "url": "https://lamp.example/", "title": "lamp", "tagline": ("Lights " + "a desk " * 30)[:139].strip(),
        "repository_url": site.url("/ada/lamp"), "description": said["description"].strip(),
    }  # fmt: skip
    assert [(path, headers["authorization"]) for path, headers in site.asked] == [(api, "token secret")]
    site.pages[api] = html(json.dumps({"name": 7, "description": None, "homepage": "javascript:x"}), "application/json")
    assert of(site, "/ada/lamp", forge) == {**NOTHING, "repository_url": site.url("/ada/lamp")}
    for answer in (html("[]"), html("<"), html("[" * 100_000), html("{}", status="404 No")):
        site.pages[api] = answer
        with pytest.raises(Invalid):
            of(site, "/ada/lamp", forge)


@pytest.mark.parametrize("path", ["/404", "/403", "/503", "/", "/garbage", "/silent", "/loop", "/private", "/picture"])
def test_whatever_fails_is_refused_in_the_same_words_when_the_time_is_over(site: Site, path: str) -> None:
    site.pages["/picture"] = html(b"\x89PNG", "image/png")
    waited = list[float]()
    with pytest.raises(Invalid) as refused:
        preview.of(site.url(path), asking(internal=path != "/private"), (), waited.append)
    assert refused.value.errors == [{"pointer": "#/url", "detail": preview.UNREAD}]
    assert 0 < waited[0] <= preview.SECONDS


def test_all_ends_in_time_however_slow_the_other_side_is(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "SECONDS", 0.8)
    began = time.monotonic()
    with pytest.raises(Invalid):
        preview.of(site.url("/drip"), asking(), ())
    assert 0.7 < time.monotonic() - began < 2
    waiting = Turns()

    def slow(host: str, left: float) -> Any:
        time.sleep(1)
        return waiting(host, left)

    site.asked.clear()
    with pytest.raises(Invalid):
        preview.of(site.url("/lamp"), asking(turn=slow), ())
    assert not site.asked


def test_two_are_read_at_once_and_a_host_that_may_not_be_asked_is_not(site: Site) -> None:
    entered, go = threading.Semaphore(0), threading.Event()

    def turn(_host: str, _left: float) -> Any:
        entered.release()
        go.wait(10)
        return lambda _seconds: None

    site.pages["/lamp"] = html(PAGE)
    threads = [threading.Thread(target=of, args=(site, "/lamp"), kwargs={"turn": turn}) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        entered.acquire()
    with pytest.raises(LinksBusy) as busy:
        of(site, "/lamp")
    assert busy.value.retry_after == preview.SOON
    go.set()
    for thread in threads:
        thread.join()

    def not_yet(_host: str, _left: float) -> Any:
        raise HostBusy(41.5)

    with pytest.raises(LinksBusy) as busy:
        of(site, "/lamp", turn=not_yet)
    assert busy.value.retry_after == 42
    assert of(site, "/lamp")["title"]  # the places are free again


@pytest.mark.parametrize(
    ("body", "kind", "title"),
    [
        ("<title>Füchse</title>".encode("latin-1"), "text/html; charset=ISO-8859-1", "Füchse"),
        ('<meta charset="windows-1252"><title>€</title>'.encode("cp1252"), "text/html", "€"),
        ("<title>狐</title>".encode("shift_jis"), "text/html; charset=shift_jis", "狐"),
        ("<title>ü</title>".encode(), "text/html; charset=idna", "ü"),
        ("<title>ü</title>".encode(), "text/html; charset=iso-8859-99", "ü"),
        (b"<title>open", "text/html", "open"),
        (b"<TITLE>a</TITLE><title>b</title>", "text/html", "a"),
        (b"<!-- <title>never ends</title>", "text/html", ""),
    ],
)
def test_a_page_is_read_in_its_encoding(body: bytes, kind: str, title: str) -> None:
    assert page_text.read(body, kind, 9).title == title


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        "<a href='",
        '<meta content="',
        "<!--",
        "<script",
        "<title>",
        "<a a=",
        "&#",
        "a" * 50,
        "<a href=x>",
        "<>",
        "<title>&#" + "9" * 5_000,
    ],
)
def test_no_page_takes_long_to_read(piece: str) -> None:
    with cpu.at_most(0.5):
        page_text.read((piece * (262_144 // len(piece))).encode(), "text/html", 500)


@pytest.fixture
def quick(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> Directory:
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(0))
    return Directory(make_app(**ON, RATELIMIT_PREVIEW="6 per minute", RATELIMIT_ENABLED="true"))


def test_members_ask_for_it_so_often_and_hear_nothing_else(
    quick: Directory, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/lamp"] = html(PAGE)
    path, ada = "/api/links/preview", quick.world.caller(quick.world.user("ada"))
    assert Api(quick.app).post(path, {"url": site.url("/lamp")}).status_code == 401
    found = ada.post(path, {"url": site.url("/lamp")})
    assert (found.status_code, found.json["title"], [*found.json]) == (
        200, "Lamp & Desk | the site", [*preview.FIELDS],
    )  # fmt: skip
    wrong = ada.post(path, {"url": "ftp://example.org"})
    assert (wrong.status_code, wrong.json["errors"][0]["pointer"]) == (422, "#/url")
    monkeypatch.setattr(preview, "SECONDS", 0.5)
    refusals = [ada.post(path, {"url": site.url(each)}) for each in ("/404", "/garbage")]
    assert [(each.status_code, each.json["errors"]) for each in refusals] == [
        (422, [{"pointer": "#/url", "detail": "This address could not be read."}])
    ] * 2
    release = hosts.Turns(quick.app.app_context, time.sleep)(f"127.0.0.1:{site.port}")
    release(60.0)
    busy = ada.post(path, {"url": site.url("/lamp")})
    assert (busy.status_code, busy.json["code"], 0 < int(busy.headers["Retry-After"]) <= 61) == (
        503, "unavailable", True,
    )  # fmt: skip
    ada.post(path, {"url": "ftp://example.org"})
    assert ada.post(path, {"url": "ftp://example.org"}).status_code == 429


def test_while_links_are_not_looked_at_nothing_is_read(make_app: Any) -> None:
    world = World(make_app())
    refused = world.caller(world.user("ada")).post("/api/links/preview", {"url": "https://example.org"})
    assert (refused.status_code, refused.json["code"]) == (409, "links_off")
    browser = Browser(world.app)
    world.category("tools")
    world.user("bea")
    browser.sign_in("bea")
    assert "submit/fill" not in browser.get("/submit").text


def test_the_form_is_filled_in_without_javascript_and_nothing_typed_is_lost(
    quick: Directory, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/lamp"] = html(PAGE)
    quick.world.category("tools")
    browser = Browser(quick.app)
    quick.world.user("ada")
    browser.sign_in("ada")
    page = browser.get("/submit").text
    assert page.index("Send for review") < page.index('formaction="/submit/fill"')  # Enter presses the first
    typed = {"url": site.url("/lamp"), "title": "My lamp", "tagline": " ", "description": "Mine", "tags": "a, b!"}
    filled = browser.post("/submit/fill", data=typed)
    assert filled.status_code == 200
    for shown in ("My lamp", "Lights &gt; a desk", "Mine", "a, b!", "https://github.com/ada/lamp", "data-typed"):
        assert shown in filled.text
    assert "the site" not in filled.text
    assert "Filled in. Look at each field." in filled.text
    monkeypatch.setattr(preview, "SECONDS", 0.5)
    for wrong in ("", "nothing at all", site.url("/404")):
        refused = browser.post("/submit/fill", data={**typed, "url": wrong})
        assert refused.status_code == 422
        assert "My lamp" in refused.text
    monkeypatch.undo()
    with_logo = browser.post("/submit/fill", data={**typed, "logo": (io.BytesIO(b"x"), "a.png")})
    assert "the browser does not send it twice" in with_logo.text
    hosts.Turns(quick.app.app_context, time.sleep)(f"127.0.0.1:{site.port}")(60.0)
    busy = browser.post("/submit/fill", data=typed)
    assert (busy.status_code, 0 < int(busy.headers["Retry-After"]) <= 61) == (503, True)
    assert "This address cannot be read just now. Try again shortly." in busy.text
    assert "My lamp" in busy.text


def test_without_javascript_too_the_form_says_that_there_was_nothing_to_fill_in(quick: Directory, site: Site) -> None:
    site.pages["/lamp"] = html(PAGE)
    quick.world.category("tools")
    quick.world.user("ada")
    browser = Browser(quick.app).sign_in("ada")
    own = {"title": "My lamp", "tagline": "Mine", "repository_url": "https://git.example.org/x"}
    page = browser.post("/submit/fill", data={"url": site.url("/lamp"), **own}).text
    assert "The website says nothing for the empty fields." in page
    assert "banner good" in page
    assert all(text in page for text in own.values())
