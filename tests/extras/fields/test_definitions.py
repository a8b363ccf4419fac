"""The definitions of own fields: administrators write them, everybody reads them in their own language."""

from typing import Any

import pytest
from flask import Flask

from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, PROJECT, SCORE, admin, define
from tests.support.factories import Api, World

__all__ = ["admin"]
DEFAULTS = {
    "help": "", "choices": [], "required": False, "material": True, "audience": "public", "facet": False,
    "in_list": False, "search": False, "categories": None, "retired": False, "projects": 0,
}  # fmt: skip


def log(admin: Api) -> list[tuple[str, Any, Any]]:
    entries = admin.get("/api/admin/audit").json["items"]
    return [(each["action"], each["field"], each["changes"]) for each in entries if each["action"].startswith("field.")]


def test_a_field_is_defined_changed_ordered_and_deleted(admin: Api) -> None:
    made = admin.post(FIELDS, {"name": "team", "label": "Team", "kind": "text"})
    team = {"name": "team", "label": "Team", "kind": "text", **DEFAULTS}
    assert (made.status_code, made.json, made.headers["Location"]) == (201, team, f"{FIELDS}/team")
    define(admin, LICENSE)
    assert [each["name"] for each in admin.get(FIELDS).json["items"]] == ["team", "license"]
    etag, order = admin.get(f"{FIELDS}/team").headers["ETag"], admin.get(FIELDS).headers["ETag"]
    renamed = admin.put(f"{FIELDS}/team", {"label": "Who", "name": "team"}, headers={"If-Match": etag})
    assert (renamed.status_code, renamed.json) == (200, {**team, "label": "Who"})
    for late in (admin.put(f"{FIELDS}/team", {"label": "X"}, headers={"If-Match": etag}),
                 admin.delete(f"{FIELDS}/team", headers={"If-Match": etag})):  # fmt: skip
        assert (late.status_code, late.json["code"]) == (412, "precondition_failed")
    assert admin.put(f"{FIELDS}/team", {"label": "Who"}).headers["ETag"] == renamed.headers["ETag"]
    turned = admin.put(f"{FIELDS}/order", {"order": ["license", "team"]}, headers={"If-Match": order})
    assert [each["name"] for each in turned.json["items"]] == ["license", "team"]
    late = admin.put(f"{FIELDS}/order", {"order": ["team", "license"]}, headers={"If-Match": order})
    assert late.status_code == 412
    assert admin.put(f"{FIELDS}/order", {"order": ["license", "team"]}).status_code == 200
    for names in ([], ["license"], ["license", "team", "more"]):
        assert admin.put(f"{FIELDS}/order", {"order": names}).status_code == 422
    assert admin.get(f"{FIELDS}/team").headers["ETag"] == renamed.headers["ETag"]
    assert admin.delete(f"{FIELDS}/team", headers={"If-Match": renamed.headers["ETag"]}).status_code == 204
    assert [admin.call(method, f"{FIELDS}/team", {}).status_code for method in ("GET", "PUT", "DELETE")] == [404] * 3
    deleted, ordered, changed, *_ = log(admin)
    assert deleted[:2] == ("field.deleted", "team")
    assert ordered == ("field.changed", None, {"order": {"from": ["team", "license"], "to": ["license", "team"]}})
    name = {"from": "team", "to": "team"}
    assert changed == ("field.changed", "team", {"name": name, "label": {"from": "Team", "to": "Who"}})
    assert len(log(admin)) == 5


def test_what_cannot_be_defined_is_refused(admin: Api) -> None:
    text = {"name": "team", "label": "Team", "kind": "text"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({**text, "name": "Team"}, "name"), ({**text, "name": "title"}, "name"), ({**text, "name": "order"}, "name"),
        ({**text, "name": "x" * 33}, "name"), ({**text, "label": " "}, "label"), ({**text, "help": "x" * 201}, "help"),
        ({**text, "kind": "more"}, "kind"), ({**text, "choices": LICENSE["choices"]}, "choices"),
        ({**text, "facet": True}, "facet"), ({**SCORE, "search": True}, "search"),
        ({**text, "categories": ["none"]}, "categories"), ({**text, "label": {"xx": "Team"}}, "label"),
        ({**text, "label": {}}, "label"), ({**LICENSE, "choices": []}, "choices"),
        ({**text, "kind": "choice"}, "choices"),
    ]  # fmt: skip
    for body, name in wrong:
        answer = admin.post(FIELDS, body)
        assert (answer.status_code, [e["pointer"] for e in answer.json["errors"]]) == (422, [f"#/{name}"]), body
    define(admin, text, LICENSE)
    for change, name in (({"name": "other"}, "name"), ({"kind": "url"}, "kind"), ({"facet": True}, "facet")):
        answer = admin.put(f"{FIELDS}/team", change)
        assert [e["pointer"] for e in answer.json["errors"]] == [f"#/{name}"]
    assert admin.post(FIELDS, text).json["code"] == "duplicate"
    assert admin.put(f"{FIELDS}/team", {"help": "", "categories": []}).json["categories"] == []


def test_a_choice_that_projects_have_is_retired_and_not_left_out(world: World, admin: Api) -> None:
    define(admin, PLATFORMS)
    given = {**PROJECT, "fields": {"platforms": ["mac", "linux"]}}
    assert world.caller(world.user()).post("/api/projects", given).status_code == 201
    linux, mac, windows = PLATFORMS["choices"]  # type: ignore[misc]
    used = admin.put(f"{FIELDS}/platforms", {"choices": [windows, linux]})
    assert (used.status_code, used.json["code"], used.json["projects"]) == (409, "choice_in_use", 1)
    kept = admin.put(f"{FIELDS}/platforms", {"choices": [mac, linux]}).json["choices"]
    assert [(each["value"], each["projects"]) for each in kept] == [("mac", 1), ("linux", 1)]


def test_there_are_thirty_fields_at_most(admin: Api) -> None:
    for number in range(30):
        define(admin, {**OTHERS[0], "name": f"field_{number}"})
    more = admin.post(FIELDS, {**OTHERS[0], "name": "more"})
    assert (more.status_code, more.json["code"]) == (409, "too_many")
    admin.delete(f"{FIELDS}/field_0")
    define(admin, {**OTHERS[0], "name": "more"})


def test_renamed_categories_stay_and_deleted_ones_leave(admin: Api) -> None:
    define(admin, {**LICENSE, "categories": ["games", "tools"]})
    assert admin.put("/api/admin/categories/games", {"slug": "toys"}).status_code == 200
    assert admin.get(f"{FIELDS}/license").json["categories"] == ["tools", "toys"]
    assert admin.put(f"{FIELDS}/license", {"categories": ["games", "tools"]}).json["categories"] == ["tools", "toys"]
    assert admin.delete("/api/admin/categories/toys").status_code == 204
    assert admin.get("/api/fields").json["items"][0]["categories"] == ["tools"]


def test_labels_are_in_the_language_of_the_answer(make_app: Any, world: World, admin: Api) -> None:
    app = make_app(SITE_LANGUAGES="en,de", SITE_LANGUAGE="en")
    words = {"label": {"en": "Licence", "de": "Lizenz"}, "help": {"en": "Which one."}}
    choices = [{"value": "none", "label": {"de": "Keine", "en": "None"}}]
    assert Api(app, admin.token).post(FIELDS, {**LICENSE, **words, "choices": choices}).json["label"] == words["label"]
    for language, label, help_, choice in (
        ("de", "Lizenz", "Which one.", "Keine"),
        ("fr", "Licence", "Which one.", "None"),
    ):
        answer = Api(app).get("/api/fields", headers={"Accept-Language": language})
        (field,) = answer.json["items"]
        assert (field["label"], field["help"], field["choices"][0]["label"]) == (label, help_, choice)
        assert answer.headers["Content-Language"] == ("de" if language == "de" else "en")
        assert "Accept-Language" in answer.headers["Vary"]
    assert "Content-Language" not in Api(admin.app).get("/api/fields").headers


def test_without_the_extra_values_are_kept_unseen(make_app: Any, world: World, admin: Api) -> None:
    define(admin, OTHERS[0])
    owner = world.caller(world.user())
    path = f"/api/projects/{owner.post('/api/projects', {**PROJECT, 'fields': {'team': 'Core'}}).json['id']}"
    without = Api(make_app(EXTRAS="-fields"), owner.token)
    assert without.get(path).json["fields"] == {}
    assert without.get("/api/fields").status_code == 404
    assert without.put(path, {"fields": {"team": "X"}}).status_code == 422
    assert without.put(path, {"tagline": "Other"}).status_code == 200
    assert owner.get(path).json["fields"] == {"team": "Core"}


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_fields_are_exported_and_imported_by_name(app: Flask, admin: Api, tmp_path: Any) -> None:
    define(admin, LICENSE, {**OTHERS[0], "categories": ["tools"]})
    run, file = app.test_cli_runner(catch_exceptions=False).invoke, tmp_path / "fields.json"
    file.write_text(run(args=["fields", "export"]).stdout)
    before = admin.get(FIELDS).json
    assert "0 fields added, 0 changed." in run(args=["fields", "import", str(file)]).output
    for name in ("license", "team"):
        admin.delete(f"{FIELDS}/{name}")
    assert "2 fields added, 0 changed." in run(args=["fields", "import", "-"], input=file.read_bytes()).output
    assert admin.get(FIELDS).json == before
    file.write_text(file.read_text().replace('"Team"', '"Who"'))
    assert "0 fields added, 1 changed." in run(args=["fields", "import", str(file)]).output
    file.write_text(file.read_text().replace('"Who"', '"No one"').replace('"tools"', '"none"'))
    refused = run(args=["fields", "import", str(file)])
    assert refused.exit_code == 1
    assert "categories: There is no category none." in refused.output
    line = file.read_text().splitlines().index('    "name": "team",')
    assert f"line {line}:" in refused.output
    assert admin.get(f"{FIELDS}/team").json["label"] == "Who"
    reserved = '[\n{"name": "title", "label": "T", "kind": "text"}]'
    for text, said in (
        ("{}", "must hold a list"), ("[1]", "this is no object"), ("[{]", "this is no JSON"),
        (reserved, "line 2: name: A project has a field of this name already."),
    ):  # fmt: skip
        file.write_text(text)
        assert said in run(args=["fields", "import", str(file)]).output


def test_a_change_has_whole_choices(admin: Api) -> None:
    define(admin, LICENSE)
    first, second = LICENSE["choices"]
    lacking = admin.put(f"{FIELDS}/license", {"choices": [first, {"value": "gpl"}]})
    assert [error["pointer"] for error in lacking.json["errors"]] == ["#/choices/1/label"]
    changed = admin.put(f"{FIELDS}/license", {"choices": [first, {**second, "label": "Other"}]}).json["choices"]
    assert changed[1] == {"value": "gpl", "label": "Other", "retired": False, "projects": 0}
