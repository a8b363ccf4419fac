"""Fields of the operator's own: members fill them in, and who may see a value does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.services.catalog import own_fields, own_values
from directory.services.catalog.fields import Kind
from tests.support.browsers import Browser
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, outbox

FIELDS = "/api/admin/fields"
CHOICES = [{"value": "mit", "label": "MIT"}, {"value": "gpl", "label": "GPL"}]
LICENSE = {"name": "license", "label": "Licence", "kind": "choice", "choices": CHOICES, "facet": True}
PLATFORMS = {
    "name": "platforms", "label": "Platforms", "kind": "choices", "help": "Where it runs.",
    "choices": [{"value": each, "label": each.title()} for each in ("linux", "mac", "windows")],
}  # fmt: skip
SCORE = {"name": "score", "label": "Score", "kind": "number", "audience": "reviewers"}
OTHERS = [
    {"name": "team", "label": "Team", "kind": "text", "material": False},
    {"name": "docs", "label": "Docs", "kind": "url"},
    {"name": "since", "label": "Since", "kind": "date"},
    {"name": "free", "label": "Free of charge", "kind": "truth"},
]
PROJECT = {"title": "Lamp", "tagline": "It shines.", "url": "https://lamp.example/", "category": "tools"}
VALUES: dict[str, Any] = {
    "license": "mit", "platforms": ["linux", "windows"], "score": 1.5, "team": "Core",
    "docs": "https://docs.example/", "since": "2026-11-26", "free": True,
}  # fmt: skip
PUBLIC = {name: value for name, value in VALUES.items() if name != "score"}


@pytest.fixture
def admin(world: World) -> Api:
    world.category("tools")
    world.category("games")
    return world.caller(world.admin("root"))


@pytest.fixture
def ada(world: World, admin: Api) -> Api:
    return world.caller(world.user("ada"))


def define(admin: Api, *fields: dict[str, Any]) -> None:
    for field in fields:
        assert admin.post(FIELDS, field).status_code == 201


def submit(by: Api, admin: Api | None = None, **values: Any) -> str:
    """The path of a project with these values of own fields; a live one, if an administrator approves it."""
    made = by.post("/api/projects", {**PROJECT, "fields": values})
    assert made.status_code == 201, made.json
    if admin is not None:
        assert admin.put(f"/api/admin/projects/{made.json['id']}/approve").status_code == 200
    return f"/api/projects/{made.json['id']}"


def refused(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.json
    return sorted(error["pointer"].removeprefix("#/fields/") for error in answer.json["errors"])


def test_values_are_stored_as_one_means_them_and_shown_to_who_may_see_them(
    app: Flask, world: World, admin: Api, ada: Api, statements: Any
) -> None:
    define(admin, LICENSE, PLATFORMS, SCORE, *OTHERS)
    path = submit(ada, admin, **{**VALUES, "platforms": ["windows", "linux", "windows"], "score": 1.50})
    seen = ada.get(path).json["fields"]
    assert (seen, list(seen)) == (VALUES, ["license", "platforms", "score", "team", "docs", "since", "free"])
    reviewer = world.caller(world.reviewer("tools"))
    assert reviewer.get(path.replace("/api", "/api/review")).json["fields"] == VALUES
    for caller, shown in ((Api(app), PUBLIC), (world.caller(world.user()), PUBLIC), (ada, VALUES), (admin, VALUES)):
        for _ in range(2):  # the second time from the cache
            assert caller.get(path).json["fields"] == shown
            assert [each["fields"] for each in caller.get("/api/projects").json["items"]] == [shown]
    for caller, has_score in ((Api(app), False), (world.caller(world.user()), False), (ada, True)):
        page = caller.get(f"/p/{path.rpartition('/')[2]}/lamp").text.partition("<aside")[2]
        for said in (
            '<dt dir="auto">Platforms</dt>',
            "Linux, Windows",
            ">docs.example</a>",
            ">Yes</dd>",
            ">MIT</a></dd>",
        ):
            assert said in page, said
        assert ("Score" in page) is has_score
    statements.clear()
    Api(app).get("/api/projects?limit=7")
    assert not any("project_fields" in each for each in statements)
    counted = {each["name"]: each["projects"] for each in admin.get(FIELDS).json["items"]}
    assert counted == dict.fromkeys(VALUES, 1)
    assert [each["projects"] for each in admin.get(f"{FIELDS}/platforms").json["choices"]] == [1, 0, 1]
    ada.put(path, {"fields": {"score": None, "platforms": [], "team": "Core"}})
    assert ada.get(path).json["revision"]["changes"] == {"fields": {"platforms": None, "score": None}}


def test_what_a_field_cannot_have_is_refused_at_its_name(admin: Api, ada: Api) -> None:
    define(admin, LICENSE, PLATFORMS, SCORE, *OTHERS, {**LICENSE, "name": "game", "categories": ["games"]})
    wrong: list[dict[str, Any]] = [
        {"license": "bsd"}, {"license": ["mit"]}, {"platforms": "linux"}, {"platforms": ["linux", 1]},
        {"platforms": ["beos"]}, {"score": "1"}, {"score": True}, {"score": 10**15}, {"score": 0.1234567},
        {"team": " "}, {"team": "x" * 201}, {"docs": "javascript:1"}, {"since": "2026-02-30"}, {"since": "26-1-1"},
        {"free": "yes"}, {"unknown": 1}, {"game": "mit"},
    ]  # fmt: skip
    for values in wrong:
        assert refused(ada.post("/api/projects", {**PROJECT, "fields": values})) == [*values], values
    both = ada.post("/api/projects", {**PROJECT, "category": "nothing", "fields": {"license": "x", "team": "Core"}})
    assert [error["pointer"] for error in both.json["errors"]] == ["#/fields/license", "#/category"]
    assert refused(ada.post("/api/projects", {**PROJECT, "fields": 7})) == ["#/fields"]
    assert ada.post("/api/projects", {**PROJECT, "fields": {"score": -0.0}}).json["fields"] == {"score": 0}


def test_a_required_field_is_demanded_and_a_retired_one_is_offered_no_more(admin: Api, ada: Api) -> None:
    path = submit(ada)
    define(admin, LICENSE, PLATFORMS, OTHERS[0])
    assert ada.put(path, {"fields": {"license": "mit", "platforms": ["mac"], "team": "Core"}}).status_code == 200
    assert admin.put(f"{FIELDS}/license", {"required": True}).status_code == 200
    other = {**PROJECT, "url": "https://other.example/"}
    assert refused(ada.post("/api/projects", other)) == ["license"]
    assert refused(ada.post("/api/projects", {**other, "fields": {}})) == ["license"]
    assert refused(ada.put(path, {"fields": {"license": None}})) == ["license"]
    assert ada.put(path, {"tagline": "Other"}).status_code == 200
    retired = [{**each, "retired": each["value"] != "linux"} for each in PLATFORMS["choices"]]
    assert admin.put(f"{FIELDS}/platforms", {"choices": retired}).status_code == 200
    assert admin.put(f"{FIELDS}/team", {"retired": True}).status_code == 200
    assert ada.put(path, {"fields": {"platforms": ["linux", "mac"], "team": "Core"}}).status_code == 200
    assert refused(ada.put(path, {"fields": {"team": "Others", "platforms": ["windows"]}})) == ["platforms", "team"]
    assert ada.put(path, {"fields": {"team": None, "platforms": None}}).json["fields"] == {"license": "mit"}
    assert refused(ada.put(path, {"fields": {"team": "Core", "platforms": ["mac"]}})) == ["platforms", "team"]
    offered = {each["name"]: each for each in ada.get("/api/fields").json["items"]}
    assert offered.keys() == {"license", "platforms"}
    assert offered["platforms"]["choices"] == [{"value": "linux", "label": "Linux"}]


def test_a_value_is_hidden_where_the_category_does_not_have_the_field(admin: Api, ada: Api) -> None:
    define(admin, {**LICENSE, "categories": ["tools"]}, PLATFORMS)
    path = submit(ada, license="mit", platforms=["mac"])
    assert ada.put(path, {"category": "games"}).json["fields"] == {"platforms": ["mac"]}
    assert refused(ada.put(path, {"fields": {"license": "mit"}})) == ["license"]
    assert ada.put(path, {"category": "tools"}).json["fields"] == {"license": "mit", "platforms": ["mac"]}
    admin.put(f"{FIELDS}/platforms", {"categories": []})
    assert ada.get(path).json["fields"] == {"license": "mit"}
    assert ada.put(path, {"fields": {"platforms": None}}).status_code == 200
    admin.put(f"{FIELDS}/platforms", {"categories": None})
    assert ada.get(path).json["fields"] == {"license": "mit"}


def test_material_changes_wait_and_are_applied_or_rejected(make_app: Any, world: World, admin: Api, ada: Api) -> None:
    app = make_app(**NOTIFYING)
    ada, admin = Api(app, ada.token), Api(app, admin.token)
    define(admin, LICENSE, PLATFORMS, SCORE, OTHERS[0])
    path = submit(ada, admin, license="mit", score=1)
    version = ada.get(path).json["version"]
    assert ada.put(path, {"fields": {"license": "mit"}}).json["version"] == version
    held = ada.put(path, {"fields": {"license": "gpl", "score": 2, "team": "Core"}, "title": "Lamp II"}).json
    assert held["fields"] == {"license": "mit", "score": 1, "team": "Core"}
    assert held["revision"]["changes"] == {"title": "Lamp II", "fields": {"license": "gpl", "score": 2}}
    assert ada.put(path, {"fields": {"license": "mit"}, "title": "Lamp"}).json["revision"]["changes"] == {
        "fields": {"score": 2}
    }
    ada.put(path, {"fields": {"license": "gpl"}})
    review = path.replace("/api", "/api/admin")
    rejected = admin.put(f"{review}/reject", {"reason": "No."}).json["revision"]
    assert (rejected["changes"], rejected["rejected"]) == ({}, {"fields": {"license": "gpl", "score": 2}})
    ada.put(path, {"fields": {"license": "gpl", "score": 2}})
    assert admin.put(f"{review}/approve").json["fields"] == {"license": "gpl", "score": 2, "team": "Core"}
    entries = [entry for entry in admin.get(f"{review}/history").json["items"] if entry["changes"]]
    score, license_, team = {"from": 1, "to": 2}, {"from": "mit", "to": "gpl"}, {"from": None, "to": "Core"}
    assert entries[0]["changes"] == {"fields": {"license": license_, "score": score}}
    assert {"fields": {"team": team}} in [entry["changes"] for entry in entries]
    edits = [each["data"] for each in outbox(app) if each["type"] == "project.edited"]
    assert [each["changes"] for each in edits] == [{"fields": {"team": team}}, {"fields": {"license": license_}}]
    assert edits[-1]["project"]["fields"] == {"license": "gpl", "team": "Core"}


def test_a_deleted_field_takes_its_values_along_at_once(app: Flask, world: World, admin: Api, ada: Api) -> None:
    define(admin, LICENSE, OTHERS[0], OTHERS[1])
    paths = [submit(ada, admin, license="mit", team="Core")]
    for number in range(2):
        made = ada.post("/api/projects", {**PROJECT, "url": f"https://{number}.example/", "fields": {"license": "mit"}})
        paths.append(f"/api/projects/{made.json['id']}")
    admin.put(f"/api/admin/projects/{paths[1].rpartition('/')[2]}/approve")
    ada.put(paths[0], {"fields": {"license": "gpl"}})
    ada.put(paths[1], {"fields": {"license": "gpl", "docs": "https://docs.example/"}})
    version = ada.get(paths[0]).json["version"]
    assert admin.delete(f"{FIELDS}/license").status_code == 204
    first, second = ada.get(paths[0]).json, ada.get(paths[1]).json
    assert (first["fields"], first["revision"], first["version"]) == ({"team": "Core"}, None, version + 1)
    assert second["revision"]["changes"] == {"fields": {"docs": "https://docs.example/"}}
    assert refused(ada.put(paths[0], {"fields": {"license": "mit"}})) == ["license"]
    define(admin, {**LICENSE, "kind": "choice"})
    assert [ada.get(path).json["fields"] for path in paths] == [{"team": "Core"}, {}, {}]
    assert [each["name"] for each in admin.get(FIELDS).json["items"]] == ["team", "docs", "license"]


def test_many_values_go_later_in_portions_and_the_name_is_taken_until_then(
    app: Flask, admin: Api, ada: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directory.extras.fields.editing.AT_ONCE", 1)
    define(admin, LICENSE)
    for number in range(3):
        given = {**PROJECT, "url": f"https://{number}.example/", "fields": {"license": "mit"}}
        assert ada.post("/api/projects", given).status_code == 201
    assert admin.delete(f"{FIELDS}/license").status_code == 204
    assert admin.post(FIELDS, LICENSE).json["code"] == "duplicate"
    assert all(each["fields"] == {} for each in ada.get("/api/projects?owner=me").json["items"])
    with app.app_context():
        assert [transaction(lambda: own_values.purge(1)) for _ in range(3)] == [1, 1, 0]
        assert transaction(lambda: own_values.purge(1)) == 0
    define(admin, LICENSE)


def test_the_form_asks_for_the_fields_and_keeps_what_was_typed(app: Flask, admin: Api, ada: Api) -> None:
    define(admin, {**LICENSE, "required": True}, PLATFORMS, {**SCORE, "categories": ["tools"]}, *OTHERS)
    browser = Browser(app).sign_in("ada")
    page = browser.get("/submit").text
    assert 'name="fields.license"' in page
    assert 'name="fields.platforms.linux"' in page
    assert '<fieldset data-of="tools" hidden disabled>' in page  # not before the category is known
    typed = {
        **PROJECT,
        "fields.platforms": "",
        "fields.platforms.mac": "true",
        "fields.score": "1,x",
        "fields.team": "",
    }
    typed |= {"fields.license": "", "fields.free": "false", "fields.since": "2026-11-26"}
    again = browser.post("/submit", data=typed)
    assert again.status_code == 422
    for shown in (
        'name="fields.platforms.mac" value="true" checked',
        'value="1,x"',
        "Not a number.",
        "Please fill this",
    ):
        assert shown in again.text, shown
    filled = {**typed, "fields.score": "1,5", "fields.license": "mit", "fields.docs": ""}
    lacking = browser.post("/submit", data={name: text for name, text in filled.items() if name != "fields.score"})
    assert lacking.status_code == 409  # it was made for another category
    assert "Projects of this category have more fields." in lacking.text
    assert 'data-of="tools">' in lacking.text
    assert 'name="fields.platforms.mac" value="true" checked' in lacking.text
    sent = browser.post("/submit", data=filled)
    assert sent.status_code == 303
    (project,) = ada.get("/api/projects?owner=me").json["items"]
    expected = {"license": "mit", "platforms": ["mac"], "score": 1.5, "since": "2026-11-26", "free": False}
    assert project["fields"] == expected
    edit = browser.get(f"/mine/{project['id']}/edit").text
    assert 'name="fields.platforms.mac" value="true" checked' in edit
    assert '<option value="false" selected>' in edit
    changed = {**filled, "version": str(project["version"]), "fields.score": "2", "fields.license": "gpl"}
    changed["fields.platforms.mac"] = ""
    lacking = browser.post(
        f"/mine/{project['id']}/edit", data={name: text for name, text in changed.items() if name != "fields.score"}
    )
    assert lacking.status_code == 409
    for _ in range(2):  # pressed twice
        assert browser.post(f"/mine/{project['id']}/edit", data=changed).status_code == 303
    (project,) = ada.get("/api/projects?owner=me").json["items"]
    assert project["fields"] == {"license": "gpl", "score": 2, "since": "2026-11-26", "free": False}


def test_projects_go_out_and_in_with_their_values(app: Flask, admin: Api, ada: Api, tmp_path: Any) -> None:
    define(admin, LICENSE, PLATFORMS, SCORE, *OTHERS)
    path = submit(ada, **VALUES)
    run = app.test_cli_runner(catch_exceptions=False).invoke
    for form in ("jsonl", "csv"):
        out = run(args=["export", "--format", form]).stdout
        if form == "jsonl":
            assert json.loads(out)["fields"] == VALUES
        else:
            assert "field.platforms" in out.splitlines()[0]
            assert "linux;windows" in out
        file = tmp_path / f"projects.{form}"
        file.write_text(out)
        assert ada.delete(path).status_code == 204
        result = run(args=["import", str(file)])
        assert result.exit_code == 0, result.output
        (found,) = admin.get("/api/admin/projects").json["items"]
        assert found["fields"] == VALUES
        path = f"/api/projects/{found['id']}"
    file.write_text(file.read_text().replace("field.score", "field.none"))
    refused = run(args=["import", str(file)])
    assert (refused.exit_code, "Unknown column: 'field.none'" in refused.output) == (1, True)
    (tmp_path / "projects.csv").write_text("title,tagline,url,category,field.score\nA,B,https://a.example/,tools,x\n")
    assert "score: Not a number." in run(args=["import", str(tmp_path / "projects.csv")]).output


def test_values_of_fields_that_went_in_between_are_left_out_and_refused() -> None:
    """A definition may change between the check of a body and its transaction."""
    license_ = own_fields.OwnField("license", Kind.CHOICE, None, choices={"mit": False})
    defined = own_fields.Definitions(license=license_)
    changes = {"title": "Lamp", "fields": {"license": "gpl", "gone": 1}}
    assert own_fields.of_present(changes, defined) == {"title": "Lamp"}
    assert own_fields.of_present({"fields": {"license": None}}, defined) == {"fields": {"license": None}}
    found = own_fields.refusals({"gone": 1, "license": "gpl"}, {}, {}, 1, defined)
    assert [error["pointer"] for error in found] == ["#/fields/gone", "#/fields/license"]


def test_choices_that_went_in_between_are_not_shown() -> None:
    kinds = {"license": Kind.CHOICE, "platforms": Kind.CHOICES}
    made = {
        name: own_fields.OwnField(name, kind, None, choices={"mit": False, "mac": True}) for name, kind in kinds.items()
    }
    defined = own_fields.Definitions(made)
    values = {"license": "gpl", "platforms": ["linux"]}
    assert own_fields.shown(values, defined, 1, to_all=True) == {}
    values = {"license": "mit", "platforms": ["mac", "linux", "mit"]}
    assert own_fields.shown(values, defined, 1, to_all=True) == {"license": "mit", "platforms": ["mit", "mac"]}


def test_the_index_of_values_is_checked_and_repaired(app: Flask, world: World, admin: Api, ada: Api) -> None:
    define(admin, LICENSE, PLATFORMS, SCORE, *OTHERS)
    path = submit(ada, **VALUES)
    without = world.project()
    run = app.test_cli_runner(catch_exceptions=False).invoke
    assert "all is right" in run(args=["recount", "--check"]).output
    for damage, said in (
        ("DELETE FROM project_fields", "fields none instead of docs, free true, license mit, platforms linux, "),
        ("UPDATE project_fields SET number = 7 WHERE field = 'score'", "score 7, since 20783, team instead of "),
        ("INSERT INTO project_fields VALUES ('none', '', 1, NULL)", "license mit, none, platforms linux"),
        (f"INSERT INTO project_fields VALUES ('odd', '', {without}, NULL)", "fields odd instead of none"),
    ):
        with app.app_context():
            transaction(lambda damage=damage: db.session.execute(text(damage)))
        found = run(args=["recount", "--check"])
        assert (found.exit_code, said in found.output) == (1, True), found.output
        run(args=["recount"])
        assert "all is right" in run(args=["recount", "--check"]).output
    assert admin.get(f"{FIELDS}/score").json["projects"] == 1
    assert ada.get(path).json["fields"] == VALUES


def test_unknown_fields_are_refused_before_anything_is_imported(app: Flask, admin: Api, tmp_path: Any) -> None:
    define(admin, LICENSE)
    run, file = app.test_cli_runner(catch_exceptions=False).invoke, tmp_path / "projects.jsonl"
    rows = [{**PROJECT, "fields": {"license": "mit"}}, {**PROJECT, "url": "https://b.example/", "fields": {"other": 1}}]
    file.write_text("\n".join([json.dumps(rows[0]), '{"fields": 7}', '"fields"', json.dumps(rows[1])]))
    result = run(args=["import", str(file)])
    assert (result.exit_code, result.stderr) == (1, "Error: line 4: Unknown field: other.\n")
    table = tmp_path / "projects.csv"
    table.write_text("title,tagline,url,category,field.other\nLamp,It shines.,https://lamp.example/,tools,x\n")
    result = run(args=["import", str(table)])
    assert result.exit_code == 1
    assert "Unknown column" in result.stderr
    assert admin.get("/api/admin/projects").json["items"] == []


def test_search_finds_what_fields_with_search_say(
    app: Flask, world: World, admin: Api, ada: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directory.extras.fields.editing.AT_ONCE", 1)
    define(admin, {**LICENSE, "search": True}, {**PLATFORMS, "search": True}, {**OTHERS[0], "search": True})
    path = submit(ada, admin, license="gpl", platforms=["linux", "mac"], team="Orchid")
    given = {**PROJECT, "title": "Vase", "url": "https://vase.example/", "fields": {"team": "Orchid", "license": "mit"}}
    vase = ada.post("/api/projects", given).json["id"]
    admin.put(f"/api/admin/projects/{vase}/approve")

    def found(words: str) -> list[str]:
        return [each["title"] for each in Api(app).get(f"/api/projects?q={words}").json["items"]]

    assert (found("orchid"), found("linux mac"), found("gpl")) == (["Vase", "Lamp"], ["Lamp"], ["Lamp"])
    admin.put(path, {"fields": {"team": "Tulip"}})
    assert (found("orchid"), found("tulip")) == (["Vase"], ["Lamp"])
    admin.put(f"{FIELDS}/license", {"choices": [{"value": "mit", "label": "Expat"}, CHOICES[1]]})
    assert (found("mit"), found("gpl")) == (["Vase"], ["Lamp"])
    with app.app_context():
        assert [transaction(lambda: own_values.purge(1)) for _ in range(3)] == [1, 0, 0]
    assert (found("mit"), found("expat")) == ([], ["Vase"])
    admin.put(path, {"fields": {"team": "Orchid"}})
    assert found("orchid") == ["Vase", "Lamp"]

    def hidden(change: Callable[[], Any]) -> None:
        assert change().status_code < 300
        assert found("orchid") == []  # also of projects that are not indexed again yet
        with app.app_context():
            transaction(lambda: own_values.purge(9))
        assert (found("orchid"), found("vase"), found("lamp")) == ([], ["Vase"], ["Lamp"])

    hidden(lambda: admin.put(f"{FIELDS}/team", {"audience": "reviewers"}))
    admin.put(f"{FIELDS}/team", {"audience": "public"})
    with app.app_context():
        transaction(lambda: own_values.purge(9))
    assert found("orchid") == ["Vase", "Lamp"]
    hidden(lambda: admin.delete(f"{FIELDS}/team"))
    monkeypatch.setattr("directory.extras.fields.editing.AT_ONCE", 500)
    admin.put(f"{FIELDS}/platforms", {"categories": ["tools"]})
    admin.put(path, {"category": "games"})
    assert found("linux") == []
    admin.put(path, {"category": "tools"})
    assert found("linux") == ["Lamp"]
    assert admin.delete(f"{FIELDS}/platforms").status_code == 204
    assert found("linux") == []
    checked = app.test_cli_runner(catch_exceptions=False).invoke(args=["recount", "--check"])
    assert checked.exit_code == 0, checked.output
