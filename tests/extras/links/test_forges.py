"""What forges say of repositories: their addresses, their answers, and what is not believed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import config
from config import ConfigError
from directory.extras.links import forges, states
from directory.extras.links.forges import Forge
from directory.extras.links.transport import HostBusy
from tests.extras.links.site import Site, asking

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
GITHUB, GITLAB, CODEBERG = forges.configured([])
OWN = Forge("https://git.example.org/code", "gitlab", "secret")
CORP = Forge("https://git.corp.example", "github")
WWW = Forge("https://www.git.example:443", "forgejo")
REPOSITORY = {
    "license": {"spdx_id": "MIT"}, "stargazers_count": 12, "archived": True, "fork": False, "language": "Python",
    "created_at": "2020-01-02T03:04:05Z", "pushed_at": "2026-01-02T03:04:05+02:00", "homepage": "x",
}  # fmt: skip
FACTS = {
    "license": "MIT", "stars": 12, "archived": True, "fork": False, "language": "Python",
    "created_at": "2020-01-02T03:04:05.000000Z", "pushed_at": "2026-01-02T01:04:05.000000Z",
}  # fmt: skip
NOTHING = dict.fromkeys(FACTS)


@pytest.mark.parametrize(
    ("forge", "url", "api"),
    [
        (GITHUB, "https://github.com/ada/lamp", "https://api.github.com/repos/ada/lamp"),
        (GITHUB, "http://www.github.com/ada/lamp.git/tree/main?tab=x#y", "https://api.github.com/repos/ada/lamp"),
        (GITHUB, "https://github.com/ada", None),
        (GITHUB, "https://gist.github.com/ada/lamp", None),
        (GITHUB, "https://github.com/sponsors/ada", None),
        (GITHUB, "https://github.com:8443/ada/lamp", None),
        (GITHUB, "ftp://github.com/ada/lamp", None),
        (GITHUB, "https://[", None),
        (GITLAB, "https://gitlab.com/a/b/c/-/tree/x", "https://gitlab.com/api/v4/projects/a%2Fb%2Fc?license=true"),
        (GITLAB, "https://gitlab.com/a/b%2Fc/d", None),
        (GITLAB, "https://gitlab.com/a/b.git", "https://gitlab.com/api/v4/projects/a%2Fb?license=true"),
        (CODEBERG, "https://codeberg.org/ada/..%2F..%2Fuser", None),
        (CODEBERG, "https://codeberg.org/ada/%2e%2e%5Cuser", None),
        (CODEBERG, "https://codeberg.org/ada/...git", None),
        (CODEBERG, "https://codeberg.org/ada/.git", None),
        (CODEBERG, "https://codeberg.org/ada/lamp;x", None),
        (CODEBERG, "https://codeberg.org/ada/lamp/src/branch/main", "https://codeberg.org/api/v1/repos/ada/lamp"),
        (OWN, "https://git.example.org/code/a/b", "https://git.example.org/code/api/v4/projects/a%2Fb?license=true"),
        (OWN, "https://git.example.org/other/a/b", None),
        (WWW, "https://www.git.example/a/b", "https://www.git.example:443/api/v1/repos/a/b"),
        (WWW, "https://git.example/a/b", None),
        (CORP, "https://git.corp.example/a/b", "https://git.corp.example/api/v3/repos/a/b"),
    ],
)
def test_a_repository_has_its_address_at_the_api(forge: Forge, url: str, api: str | None) -> None:
    assert forge.repository(url) == api


def test_a_link_to_anything_in_a_repository_names_it() -> None:
    assert GITHUB.web("http://www.github.com/ada/lamp.git/issues?q=1") == "https://github.com/ada/lamp"
    assert OWN.web("https://git.example.org/code/a/b/c/-/issues") == "https://git.example.org/code/a/b/c"
    assert CODEBERG.web("https://codeberg.org/explore") is None


def test_a_token_goes_in_the_header_of_its_kind_and_shows_nowhere() -> None:
    headers = [Forge("https://x.example", kind, "secret").headers() for kind in ("github", "gitlab", "forgejo")]
    assert headers == [
        {"Authorization": "Bearer secret"}, {"PRIVATE-TOKEN": "secret"}, {"Authorization": "token secret"},
    ]  # fmt: skip
    assert GITHUB.headers() == {}
    assert "secret" not in repr(OWN)
    given = [{"url": "https://github.com", "kind": "github", "token": "t"}]
    assert [each.token for each in forges.configured(given)] == ["t", "", ""]


def said(**members: Any) -> bytes:
    return json.dumps({**REPOSITORY, **members}).encode()


def without(*names: str) -> dict[str, Any]:
    """The facts, with null for some."""
    return FACTS | dict.fromkeys(names)


OF_GITLAB = {"license": {"key": "apache-2.0"}, "star_count": 3, "forked_from_project": {}}
OF_FORGEJO = {"licenses": ["MIT"], "stars_count": 4, "updated_at": "2026-01-02T03:04:05Z"}
WRONG = {"license": None, "stargazers_count": -1, "archived": "no", "fork": 1}
NO_TIMES = {"stargazers_count": True, "language": "<b>\n", "created_at": "today", "pushed_at": "2026-01-02T03:04:05"}
LONG = {"license": "x" * 101, "language": "y" * 101, "pushed_at": 7, "created_at": "0001-01-01T00:00:00+14:00"}


@pytest.mark.parametrize(
    ("kind", "body", "facts"),
    [
        ("github", said(), FACTS),
        ("github", said(license={"spdx_id": "NOASSERTION"}), without("license")),
        ("github", said(license={"key": "LicenseRef-own"}), without("license")),
        ("github", said(**WRONG), without("license", "stars", "archived", "fork")),
        ("github", said(**NO_TIMES), without("stars", "language", "created_at", "pushed_at")),
        ("github", said(**LONG), without("license", "language", "created_at", "pushed_at")),
        ("github", b"{}", NOTHING),
        ("github", b"[]", None),
        ("github", b"<html>", None),
        ("github", b"[" * 100_000, None),
        ("gitlab", json.dumps(OF_GITLAB).encode(), {**NOTHING, "license": "Apache-2.0", "stars": 3, "fork": True}),
        (
            "forgejo", json.dumps(OF_FORGEJO).encode(),
            {**NOTHING, "license": "MIT", "stars": 4, "pushed_at": "2026-01-02T03:04:05.000000Z"},
        ),
    ],
)  # fmt: skip
def test_an_answer_is_data_each_of_its_kind_or_null(kind: str, body: bytes, facts: Any) -> None:
    assert forges.facts_of(kind, body) == facts


def test_a_forge_is_asked_with_its_token_and_again_with_its_etag(site: Site) -> None:
    forge = Forge(site.url("", "127.0.0.1"), "forgejo", "secret")
    url, path = site.url("/ada/lamp"), "/api/v1/repos/ada/lamp"

    def ask(before: Any = None) -> Any:
        return forges.look(7, url, before, asking(), [forge], NOON, 7)

    def answers(head: bytes, body: bytes = b"") -> None:
        site.pages[path] = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (head, len(body), body)

    site.asked.clear()
    answers(b'200 OK\r\nETag: "1"', json.dumps({"stars_count": 4}).encode())
    first = ask()
    assert (first["etag"], first["facts"]["stars"], first["facts"]["checked_at"]) == (
        '"1"',
        4,
        "2026-11-03T12:00:00.000000Z",
    )
    answers(b"304 Not Modified")
    again = ask(first)
    assert again["facts"] == first["facts"]
    sent = [headers for asked, headers in site.asked if asked == path]
    assert [each["authorization"] for each in sent] == ["token secret"] * 2
    assert [each.get("if-none-match") for each in sent] == [None, '"1"']
    for failing in (b"500 No", b"200 OK"):
        answers(failing, b"<html>")
        assert (ask(first)["facts"], ask(first)["due"]) == (first["facts"], "2026-11-04T12:00:00.000000Z")
    site.pages[path] = b""
    assert ask(first)["facts"] == first["facts"]
    answers(b"404 Not Found")
    assert ask(first)["facts"] is None
    answers(b"200 OK\r\nETag: " + b"x" * 200, b"{}")
    assert ask(first)["etag"] is None
    other = forges.look(7, "https://example.org/", first, asking(), [forge], NOON, 7)
    assert (other["facts"], other["etag"]) == (None, None)


@pytest.mark.parametrize("seconds", [61.0, 86_400.0])
def test_after_its_limit_a_forge_is_asked_again_within_a_day_and_not_by_all_at_once(seconds: float) -> None:
    url, known = "https://codeberg.org/ada/lamp", {"etag": '"1"', "facts": FACTS}

    def ask(busy: float, before: Any = None) -> Any:
        def turn(_host: str, _left: float) -> Any:
            raise HostBusy(busy)

        return forges.look(7, url, before, asking(turn=turn), [CODEBERG], NOON, 7)

    asked = [ask(seconds, {**known, "url": url}) for _ in range(20)]
    waits = [(states.instant(each["due"]) - NOON).total_seconds() for each in asked]
    assert all(seconds <= each <= 86_400 for each in waits)
    assert len({*waits}) == (20 if seconds < 86_400 else 1)
    assert all((each["facts"], each["etag"]) == (FACTS, '"1"') for each in asked)
    assert ask(seconds)["facts"] is None
    with pytest.raises(HostBusy):  # another one asks it just now
        ask(1.0)


def test_forges_are_a_list_with_address_kind_and_token() -> None:
    one = {"url": "HTTPS://Git.example.org/Code/", "kind": "gitlab", "token": "t"}
    assert config.load({"FORGES": json.dumps([one])})["FORGES"] == [
        {"url": "https://git.example.org/Code", "kind": "gitlab", "token": "t"}
    ]
    assert config.load({})["FORGES"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"url": "x"}, {"url": "https://a.example/?q"}, {"kind": "svn"}, {"token": "ü"}, {"token": 1}, {"more": 1},
        {"url": "http://a.example"},
    ],
)  # fmt: skip
def test_another_forge_is_refused_without_its_token(change: dict[str, Any]) -> None:
    one = {"url": "https://git.example.org", "kind": "gitlab", "token": "secret", **change}
    with pytest.raises(ConfigError, match=r"^FORGES: ") as refused:
        config.load({"FORGES": json.dumps([one])})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("number", [2, 51])
def test_there_are_few_forges_and_each_once(number: int) -> None:
    one = {"url": "https://git.example.org", "kind": "gitlab"}
    with pytest.raises(ConfigError, match=r"^FORGES: "):
        config.load({"FORGES": json.dumps([one] * number)})
