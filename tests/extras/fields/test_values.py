"""Details of values: what they may be, where they stay, and with what else they narrow a list."""

import json
from typing import Any

from flask import Flask

from tests.extras.fields.test_fields import (
    FIELDS,
    LICENSE,
    OTHERS,
    PLATFORMS,
    PROJECT,
    SCORE,
    ada,
    admin,
    define,
    refused,
    submit,
)
from tests.support.factories import Api

__all__ = ["ada", "admin"]
LETTERS = [{"value": letter, "label": letter.upper()} for letter in "abcdefghijkl"]
PRICE = {"name": "price", "label": "Price", "kind": "number", "facet": True}


def test_values_are_texts_and_numbers_as_elsewhere(admin: Api, ada: Api) -> None:
    define(admin, {**PLATFORMS, "name": "letters", "choices": LETTERS}, SCORE, *OTHERS[:2])
    ten = [each["value"] for each in LETTERS[:10]]
    path = submit(ada, letters=ten, team=" Cafe\u0301  ", score=123456789.123456)
    assert ada.get(path).json["fields"] == {"letters": ten, "score": 123456789.123456, "team": "Caf\xe9"}
    for values in (
        {"letters": [*ten, "k"]}, {"team": "a\x07b"}, {"team": "a\nb"}, {"team": "\u202e"}, {"team": {}},
        {"docs": "https://a.example/" + "x" * 3000}, {"docs": "ftp://a.example/"}, {"score": "x"}, {"letters": {}},
        {"score": -(10**15)}, {"score": 1234567890.1234567}, {"score": [1]},
    ):  # fmt: skip
        assert refused(ada.put(path, {"fields": values})) == [*values], values
    for number in ("1e999", "NaN", "-Infinity", "1" * 400):
        sent = ada.call("PUT", path, data=f'{{"fields": {{"score": {number}}}}}', content_type="application/json")
        assert sent.status_code in {400, 422}, number
    version = ada.get(path).json["version"]
    same = {"fields": {"score": 123456789.123456, "letters": [*reversed(ten), "a"], "docs": None, "team": "Caf\xe9"}}
    assert ada.put(path, same).json["version"] == version
    assert ada.put(path, {"fields": {"score": 2.50}}).json["fields"]["score"] == 2.5
    assert '"score":2}' in ada.put(path, {"fields": {"score": 2.0, "team": None, "letters": []}}).text.replace(" ", "")


def test_definitions_have_bounds(admin: Api) -> None:
    many = [{"value": f"v{n}", "label": "V"} for n in range(101)]
    for change, place in (
        ({"name": ""}, "name"), ({"name": "1st"}, "name"), ({"name": "a-b"}, "name"), ({"name": "tags"}, "name"),
        ({"name": "fields"}, "name"), ({"name": "revision"}, "name"), ({"label": "x" * 61}, "label"),
        ({"choices": many}, "choices"), ({"choices": [{**LETTERS[0], "value": "x" * 41}]}, "choices/0/value"),
        ({"choices": [{**LETTERS[0], "value": "A B"}]}, "choices/0/value"), ({"choices": LETTERS[:1] * 2}, "choices"),
        ({"choices": [{**LETTERS[0], "label": {"xx": "A"}}]}, "choices/0/label"), ({"audience": "all"}, "audience"),
        ({"kind": "text", "search": True, "facet": True, "choices": []}, "choices"), ({"more": 1}, "more"),
    ):  # fmt: skip
        answer = admin.post(FIELDS, {**LICENSE, **change})
        assert (answer.status_code, answer.json["errors"][0]["pointer"].startswith(f"#/{place}")) == (422, True), change
    long = {"name": "a" * 32, "label": "x" * 60, "help": "y" * 200, "choices": many[:100]}
    assert admin.post(FIELDS, {**LICENSE, **long}).status_code == 201
    for number in range(29):
        define(admin, {**OTHERS[0], "name": f"f{number}", "retired": True})
    assert admin.post(FIELDS, {**OTHERS[0], "name": "more"}).json["code"] == "too_many"  # retired ones count


def test_a_value_stays_with_a_category_without_the_field_until_it_is_cleared(admin: Api, ada: Api) -> None:
    define(admin, {**LICENSE, "categories": ["tools"], "required": True}, {**OTHERS[0], "categories": ["games"]})
    path = submit(ada, admin, license="mit")
    assert refused(ada.put(path, {"fields": {"team": "Core"}})) == ["team"]
    admin.put(path, {"category": "games"})
    assert ada.put(path, {"fields": {"team": "Core"}}).status_code == 200  # what is hidden is not demanded
    admin.put(path, {"fields": {"team": "Core"}})
    admin.put(path, {"category": "tools"})
    assert Api(ada.app).get(path).json["fields"] == {"license": "mit"}
    admin.put(path, {"category": "games"})
    assert refused(admin.put(path, {"fields": {"license": "gpl"}})) == ["license"]
    assert Api(ada.app).get("/api/projects?field.license=mit").json["items"] == []
    assert admin.put(path, {"fields": {"license": None}}).status_code == 200
    assert refused(admin.put(path, {"category": "tools", "fields": {"team": None}})) == ["license"]
    assert admin.put(path, {"category": "tools"}).json["fields"] == {}
    assert ada.get("/api/fields").json["items"][0]["categories"] == ["tools"]
    assert admin.put(f"{FIELDS}/license", {"retired": True}).status_code == 200
    assert ada.post("/api/projects", {**PROJECT, "url": "https://vase.example/", "fields": {}}).status_code == 201


def test_an_import_needs_no_required_field(app: Flask, admin: Api, tmp_path: Any) -> None:
    define(admin, {**LICENSE, "required": True}, SCORE)
    (tmp_path / "projects.jsonl").write_text(json.dumps(PROJECT))
    result = app.test_cli_runner(catch_exceptions=False).invoke(args=["import", str(tmp_path / "projects.jsonl")])
    assert result.exit_code == 0, result.output
    table = tmp_path / "projects.csv"
    rows = ("title,tagline,url,category,field.license,field.score", "Vase,B,https://b.example/,tools,mit,", "")
    table.write_text("\n".join(rows))
    result = app.test_cli_runner(catch_exceptions=False).invoke(args=["import", str(table)])
    assert result.exit_code == 0, result.output
    found = {each["title"]: each["fields"] for each in admin.get("/api/admin/projects").json["items"]}
    assert found == {"Lamp": {}, "Vase": {"license": "mit"}}
    table.write_text(table.read_text().replace("mit", "bsd").replace("b.example", "c.example"))
    result = app.test_cli_runner(catch_exceptions=False).invoke(args=["import", str(table)])
    assert (result.exit_code, "license: " in result.output) == (1, True), result.output


def test_a_filter_combines_with_what_a_caller_has(admin: Api, ada: Api) -> None:
    define(admin, LICENSE, PRICE)
    path = submit(ada, admin, license="mit", price=2)
    ada.post(f"{path}/upvote")
    for query, number in {
        "upvoted=me&field.license=mit": 1, "upvoted=me&field.license=gpl": 0, "owner=me&field.price=1..": 1,
        "owner=me&field.price=..1": 0, "owner=me&status=live&field.license=mit&field.price=2": 1,
        "owner=me&status=pending&field.license=mit": 0,
    }.items():  # fmt: skip
        assert ada.get(f"/api/projects?{query}").json["pagination"]["total"] == number, query
    assert admin.get("/api/projects?field.license=mit&sort=newest&limit=1").json["pagination"]["total"] == 1
