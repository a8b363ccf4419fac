"""nginx as it is configured in deploy/, before the application itself: what it stores, and what it compresses."""

import gzip
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from flask import Flask

from directory.http.files import StoredFile
from directory.http.headers import PUBLIC
from directory.pages.own import OwnSite
from tests.api.test_logos import owned, put
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import World
from tests.support.proxy import TLS, Nginx, nginx_there
from tests.support.waiting import until

__all__ = ["nginx_there"]

on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
Answer = tuple[int, http.client.HTTPMessage, bytes]


class Silent(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


@pytest.fixture
def port(nginx_there: None, app: Flask) -> Iterator[int]:
    """The port of nginx before the application."""
    with before(app) as nginx:
        yield nginx.port


@contextmanager
def before(app: Flask) -> Iterator[Nginx]:
    with make_server("127.0.0.1", 0, app.wsgi_app, Threads, Silent) as server:  # type: ignore[arg-type]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with closing(Nginx([server.server_port] * 2)) as nginx:
            yield nginx
        server.shutdown()


def ask(port: int, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """One request, and all headers of its answer, repeated ones too."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPSConnection("localhost", port, timeout=30, context=TLS)) as connection:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


@on_sqlite
@pytest.mark.parametrize("path", ["/api/problems/not_found", "/api/problems", "/api/docs", "/api/openapi.json"])
def test_a_stored_page_has_the_id_of_its_own_request_and_no_other(port: int, path: str) -> None:
    answers = [ask(port, path, X_Request_ID=given) for given in ("first", "second")]
    assert [status for status, _, _ in answers] == [200, 200]
    assert [headers.get_all("X-Request-ID") for _, headers, _ in answers] == [["first"], ["second"]]
    assert [headers.get_all("RateLimit") for _, headers, _ in answers] == [None, None]


@on_sqlite
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/projects", "application/json"),
        ("/api/projects.atom", "application/atom+xml"),
        ("/api/openapi.json", "application/json"),
        ("/api/problems", "text/html"),
    ],
)
def test_a_long_answer_is_compressed_for_clients_that_accept_it(port: int, world: World, path: str, kind: str) -> None:
    for _ in range(5):
        world.project(description="words " * 100)
    _, identity, whole = ask(port, path)
    _, headers, body = ask(port, path, Accept_Encoding="gzip")
    assert headers.get_content_type() == identity.get_content_type() == kind
    assert (identity["Content-Encoding"], headers["Content-Encoding"]) == (None, "gzip")
    assert gzip.decompress(body) == whole
    for each in (identity, headers):  # so that no cache gives the one for the other
        assert "Accept-Encoding" in ", ".join(each.get_all("Vary", []))


@pytest.fixture
def asked(app: Flask, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that nginx asks the application for, as they come; to be named before `port`."""
    paths: list[str] = []
    inner = app.wsgi_app

    def noting(environ: dict[str, Any], start_response: Any) -> Any:
        paths.append(environ["PATH_INFO"])
        return inner(environ, start_response)

    monkeypatch.setattr(app, "wsgi_app", noting)
    return paths


@on_sqlite
def test_files_are_asked_for_once_and_keep_their_two_forms_apart(app: Flask, asked: list[str], port: int) -> None:
    """Whatever a caller accepts, one that takes no gzip never gets it, and one that does gets what the host made."""
    text = b"words " * 400
    file = StoredFile("text/plain", text, gzip.compress(text, mtime=0), PUBLIC)
    app.extensions["own_site"] = OwnSite(files={"notes.txt": file})
    accepted = {
        "gzip": True, "br, gzip;q=0.5": True, "GZIP": True, "*": False, "gzip;q=0": False, "gzip; q=0.0": False,
        "identity": False, "": False, "x-gzip": False, "deflate, gzip": True,
    }  # fmt: skip
    for coding, is_gzip in accepted.items():
        for cookie in ({}, {"Cookie": "directory=x"}):
            status, headers, body = ask(
                port, "/static/notes.txt", Accept_Encoding=coding, X_Request_ID="mine", **cookie
            )
            assert (status, headers["Content-Encoding"]) == (200, "gzip" if is_gzip else None), coding
            assert (gzip.decompress(body) if is_gzip else body) == text
            assert headers.get_all("X-Request-ID") == ["mine"]
            assert headers.get_all("RateLimit") is None
    assert asked == ["/static/notes.txt"] * 2
    _, headers, _ = ask(port, "/static/notes.txt")
    assert ask(port, "/static/notes.txt", If_None_Match=headers["ETag"])[0] == 304
    assert ask(port, "/static/notes.txt", method="HEAD")[2] == b""
    assert len(asked) == 2
    ask(port, "/static/notes.txt", Origin="https://a.example")
    assert len(asked) == 3


@on_sqlite
def test_a_picture_is_asked_for_once_by_whoever_looks(app: Flask, asked: list[str], port: int, world: World) -> None:
    project, owner = owned(world)
    path = put(owner, project).json["logo"]["64"]
    first, *others = [ask(port, path, Cookie=f"directory={who}") for who in ("ada", "bob", "ada")]
    assert first[0] == 200
    assert {body for _, _, body in others} == {first[2]}
    assert asked[1:] == [path]


@pytest.mark.extra("feed_keys")
@on_sqlite
def test_of_a_private_directory_nothing_is_kept_and_no_secret_is_logged(
    nginx_there: None, make_app: Any, world: World
) -> None:
    """What a member has read a stranger does not get; the key of a feed and the token of a link are in no log."""
    project, owner = owned(world)
    picture, app = put(owner, project).json["logo"]["64"], make_app(READS="members")
    app.extensions["own_site"] = OwnSite(files={"notes.txt": StoredFile("text/plain", b"Notes", None, PUBLIC)})
    member = f"{COOKIE}={Browser(app).sign_in(owner.get('/api/auth/me').json['username']).cookie}"
    key = owner.post("/api/auth/feed-key").json["key"]
    with before(app) as nginx:
        for path in (picture, "/static/notes.txt", "/api/docs", "/api/openapi.json"):
            for _ in range(2):
                assert ask(nginx.port, path, Cookie=member)[0] == 200, path
                status, headers, _ = ask(nginx.port, path)
                assert (status, headers["Cache-Control"]) == (401, "private, no-store"), path
        assert ask(nginx.port, f"/api/projects.atom?key={key}")[0] == 200
        ask(nginx.port, "/reset?token=planted-token")
        ask(nginx.port, "/api/auth/notifications/1-planted-token", method="POST")
        until(lambda: "notifications" in nginx.log.read_text())
        log = nginx.log.read_text()
    assert [secret for secret in (key, "planted-token") if secret in log] == []
    assert '"request":"GET /api/projects.atom HTTP/1.1"' in log


@on_sqlite
def test_a_short_answer_is_not_compressed(port: int) -> None:
    status, headers, refusal = ask(port, "/api/projects/4711", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"], json.loads(refusal)["code"]) == (404, None, "not_found")


@on_sqlite
def test_the_weak_tag_of_a_compressed_answer_does_all_that_the_strong_one_does(
    app: Flask, port: int, world: World
) -> None:
    """nginx makes it weak where it compresses, for its bytes are not those of the service; it names the same version.

    Where the service has compressed the answer, the tag is the service's own.
    """
    owner = world.user()
    path = f"/api/projects/{world.project(owner, description='words ' * 300)}"
    for target in (path, "/api/projects", "/api/openapi.json"):
        _, identity, _ = ask(port, target)
        _, headers, _ = ask(port, target, Accept_Encoding="gzip")
        plain = identity["ETag"]
        is_stored = target != path and "response_cache" in app.extensions
        assert headers["ETag"] == (f'{plain[:-1]}-gz"' if is_stored else f"W/{plain}")
        for tag in (plain, headers["ETag"]):
            # nginx stores both forms of the document, and takes for each its own tag.
            accepted = {} if (target, tag) == ("/api/openapi.json", plain) else {"Accept_Encoding": "gzip"}
            status, unchanged, body = ask(port, target, If_None_Match=tag, **accepted)
            assert (status, body, unchanged["Content-Encoding"]) == (304, b"", None)
    given = {
        "Authorization": f"Bearer {world.caller(owner).token}",
        "Accept_Encoding": "gzip",
        "Content_Type": "application/json",
    }
    _, headers, _ = ask(port, path, **given)
    tag = headers["ETag"]
    assert tag.startswith("W/")
    statuses = [
        ask(port, path, method="PUT", body=json.dumps({"tagline": tagline}).encode(), If_Match=tag, **given)[0]
        for tagline in ("A new one", "Another one")
    ]
    assert statuses == [200, 412]
