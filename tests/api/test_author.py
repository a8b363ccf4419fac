"""The author of a project, who makes it: it need not be known, and need not be the member who submitted it."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.pages.conftest import head_of, text_of
from tests.support.factories import Api, World

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = '</script><b>"Tom" & שלום</b>'


@pytest.mark.parametrize("blank", ["", " ", "\u200b", "\u00a0 \u2060", None])
def test_a_blank_author_is_null(world: World, blank: str | None) -> None:
    owner = world.caller(world.user())
    body = {"title": "Flask", "tagline": "?", "url": "https://flask.example", "category": world.category()}
    made = owner.post("/api/projects", {**body, "author": blank})
    assert (made.status_code, made.json["author"]) == (201, None)
    path = made.headers["Location"]
    assert owner.put(path, {"author": " Pallets\u200b "}).json["author"] == "Pallets"
    assert owner.put(path, {"author": blank}).json["author"] is None
    for bad in ("x" * 101, " " * 401, "a\nb", "\u202e", 1):
        assert owner.put(path, {"author": bad}).json["errors"][0]["pointer"] == "#/author"
    assert owner.put(path, {"author": "x" * 100}).json["author"] == "x" * 100


def test_the_author_of_a_live_project_is_reviewed_and_then_found(world: World, api: Api) -> None:
    ada = world.user("ada")
    project = world.project(ada, title="Flask", tagline="?")
    path = f"/api/projects/{project}"
    edited = world.caller(ada).put(path, {"author": "Pallets"}).json
    assert (edited["author"], edited["revision"]["changes"]) == (None, {"author": "Pallets"})
    assert (api.get(path).json["author"], api.get("/api/projects?q=pallets").json["items"]) == (None, [])
    approved = world.caller(world.admin()).put(f"/api/admin/projects/{project}/approve")
    assert approved.json["author"] == "Pallets"
    assert [each["id"] for each in api.get("/api/projects?q=pallets").json["items"]] == [project]
    assert world.app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def test_pages_and_feed_say_who_makes_a_project_and_who_submitted_it(world: World, api: Api) -> None:
    ada = world.user("ada")
    known, unknown = world.project(ada, title="Known", author=HOSTILE), world.project(ada, title="Unknown")
    pages = {number: api.get(f"/p/{number}/{title}") for number, title in ((known, "known"), (unknown, "unknown"))}
    assert f"By {HOSTILE}" in text_of(pages[known])
    assert "A thing that does things Visit the website" in text_of(pages[unknown])
    assert all("Submitted by ada" in text_of(page) for page in pages.values())
    rows = text_of(api.get("/"))
    assert (f"By {HOSTILE}" in rows, rows.count("Submitted by ada")) == (True, 1)
    described = [
        re.search('application/ld[+]json">(.*?)</script>', head_of(page), re.DOTALL) for page in pages.values()
    ]
    software = [json.loads(each[1])[0] for each in described if each]
    # Whether it is a person or an organisation is not known, and an author without a type is none.
    assert ["author" in each for each in software] == [False, False]
    entries = ElementTree.fromstring(api.get("/api/projects.atom").data).iter(f"{ATOM}entry")
    assert {each.findtext(f"{ATOM}title"): each.findtext(f"{ATOM}author/{ATOM}name") for each in entries} == {
        "Known": HOSTILE, "Unknown": "Project Directory"
    }  # fmt: skip
