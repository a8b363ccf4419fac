"""Many readers at once in several languages, by both workers: nobody gets an answer that was made for another one."""

import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from directory.extensions import db
from tests.conftest import ENVIRONMENT, Database, build
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import World
from tests.support.line import Line
from tests.support.serving import Serving, serving

SIGN_IN = {"en": "Sign in", "de": "Anmelden", "fr": "Se connecter", "ja": "ログイン", "ar": "تسجيل الدخول"}
NOT_FOUND = {"en": "Not found", "de": "Nicht gefunden", "fr": "Introuvable", "ja": "見つかりません", "ar": "غير موجود"}
DATA = {"/api/projects", "/api/projects.atom", "/manifest.webmanifest"}
FRAME = re.compile(rb'<html lang="([^"]+)"')


class Asked(NamedTuple):
    """A request, and the language of its answer; None for data."""

    path: str
    headers: dict[str, str]
    language: str | None


def asked(chance: Random, paths: list[str], session: str) -> Asked:
    """A request by somebody who chooses a language by the address, by the cookie, or by the browser alone."""
    by_address, by_cookie, by_browser = (chance.choice(list(SIGN_IN)) for _ in range(3))
    way, path = chance.choice(["address", "cookie", "browser"]), chance.choice([*paths, *DATA, "/api/none", "/none"])
    headers = {"Accept": "text/html", "Accept-Language": f"xx;q=0.9, {by_browser};q=0.8, *;q=0.1"}
    cookies = [f"{COOKIE}={session}"] * chance.randrange(2) + [f"lang={by_cookie}"] * (way != "browser")
    headers |= {"Cookie": "; ".join(cookies)} if cookies else {}
    headers |= {"Accept-Encoding": "gzip"} if chance.randrange(2) else {}
    if path.startswith("/api/") or path in DATA:
        return Asked(path, headers, None if path in DATA else by_browser)
    if way == "address":
        return Asked(f"{path}?lang={by_address}", headers, by_address)
    return Asked(path, headers, by_cookie if way == "cookie" else by_browser)


def wrong(server: Serving, seed: int, paths: list[str], session: str) -> list[object]:
    """Answers in another language than the request's, and data that are not the same in each."""
    chance, found = Random(seed), []
    data: dict[object, bytes] = {}
    tags: dict[str, str] = {}  # the language of each ETag
    with closing(Line(server)) as line:
        for _ in range(120):
            one = asked(chance, paths, session)
            # What another reader stored: only a page in the same language may be found to be the same.
            stored = {"If-None-Match": ", ".join([*tags][-60:])} if tags and one.language else {}
            status, headers, body = line.ask(one.path, **one.headers, **stored)
            if b" 304 " in status:
                found += [] if tags[headers["ETag"]] == one.language else [(one, "the ETag of another language")]
                continue
            body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
            is_varying = "Accept-Language" in headers.get("Vary", "")
            if one.language is None:
                is_same = data.setdefault((one.path, COOKIE in one.headers.get("Cookie", "")), body) == body
                found += [] if is_same and not is_varying else [(one, "data that vary")]
                continue
            if one.path == "/api/none":
                is_right = json.loads(body)["title"] == NOT_FOUND[one.language]
                is_right &= headers["Content-Language"] == one.language
            else:
                is_right = FRAME.findall(body) == [one.language.encode()]
                is_right &= COOKIE in one.headers.get("Cookie", "") or SIGN_IN[one.language].encode() in body
                tags |= {headers["ETag"]: one.language} if "ETag" in headers else {}
            found += [] if is_right and is_varying else [(one, status, headers)]
    return found


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
@pytest.mark.parametrize("worker", ["loop", "gthread"])
@pytest.mark.parametrize("cache", ["true", "false"])
def test_nobody_gets_the_language_of_another(database: Database, tmp_path: Path, worker: str, cache: str) -> None:
    app = build(database.url)
    world = World(app)
    project = world.project(world.user("ada"), title="Lamp", tags=["web"], votes=1)
    session = Browser(app).sign_in("ada").cookie
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    paths = ["/", "/categories", "/categories/tools", "/tags/web", f"/p/{project}/lamp", "/help", "/users/ada"]
    settings = {"SERVER_WORKER": worker, "RESPONSE_CACHE": cache, "SITE_LANGUAGES": ",".join(SIGN_IN)}
    with (
        serving({**ENVIRONMENT, **settings, "DATABASE_URL": database.url}, tmp_path / "log") as server,
        ThreadPoolExecutor(4) as readers,
    ):
        found = readers.map(lambda seed: wrong(server, seed, paths, session), range(4))
        assert [each for one in found for each in one] == []
