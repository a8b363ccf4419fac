"""flask rules: export, import and preview."""

import json
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import SpamRule
from tests.support.factories import Api, World

RULE = {
    "name": "Many links", "on": ["submission"], "when": [{"fact": "links", "is": ">=", "value": 0}], "then": "reject",
    "reason": "Too many links.", "state": "off",
}  # fmt: skip


@pytest.fixture
def root(app: Flask, world: World) -> Api:
    with app.app_context():
        transaction(lambda: db.session.execute(delete(SpamRule)))
    return world.caller(world.admin())


@pytest.fixture
def run(app: Flask) -> Any:
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments, **options: runner.invoke(args=["rules", *arguments], **options)


def test_an_export_is_imported_again_by_name_and_new_rules_are_off(root: Api, run: Any, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    hold = {**RULE, "name": "Hold", "then": "hold", "reason": None, "state": "on"}
    for rule in (RULE, hold):
        assert root.post("/api/admin/rules", rule).status_code == 201
    assert run("export", "--output", str(file)).exit_code == 0
    assert json.loads(file.read_text()) == json.loads(run("export").stdout) == [RULE, hold]
    again = run("import", str(file))
    assert (again.exit_code, again.stdout) == (0, "0 rules added, 0 changed.\n")
    changed = [{**RULE, "reason": "Other."}, hold, {**hold, "name": "Another"}]
    assert run("import", "-", input=json.dumps(changed)).stdout == "1 rule added, 1 changed.\n"
    root.delete(f"/api/admin/rules/{root.get('/api/admin/rules').json['items'][-1]['id']}")
    assert [rule["state"] for rule in root.get("/api/admin/rules").json["items"]] == ["off", "on"]
    for rule in root.get("/api/admin/rules").json["items"]:
        root.delete(f"/api/admin/rules/{rule['id']}")
    found = run("import", "-", input=file.read_text())
    assert found.stdout == "2 rules added, 0 changed.\n"
    assert [(rule["name"], rule["state"]) for rule in root.get("/api/admin/rules").json["items"]] == [
        ("Many links", "off"), ("Hold", "off"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[", "this is no JSON"), ("[" * 100_000, "this is no JSON"), (b"[\xe9]", "this is no JSON"),
        ("{}", "a list of objects"), ("[1]", "a list of objects"),
        ('[{"name": "x"}]', "on: "),
        (json.dumps([{**RULE, "reason": None}]), "reason: A rule that rejects needs a reason."),
        (json.dumps([RULE, {**RULE, "name": "Other", "then": "shout"}]), "then: Must be one of"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_whole(root: Api, run: Any, tmp_path: Path, content: str | bytes, says: str) -> None:
    file = tmp_path / "rules.json"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    refused = run("import", str(file))
    assert refused.exit_code == 1
    assert says in refused.stderr
    assert root.get("/api/admin/rules").json["items"] == []


def test_a_preview_is_a_table_and_opens_the_way_for_a_rule_that_rejects(root: Api, run: Any, world: World) -> None:
    made = root.post("/api/admin/rules", RULE).json["id"]
    body = {"title": "A", "tagline": "a", "url": "https://a.example", "category": world.category()}
    project = world.caller(world.user()).post("/api/projects", body).json["id"]
    path = f"/api/admin/rules/{made}"
    assert root.put(path, {"state": "on"}).json["code"] == "preview_first"
    shown = run("preview", str(made), "--days", "1")
    assert shown.stdout.splitlines()[0] == "1 evaluated, 0 unknown, 1 matched"
    [waiting] = [line.split() for line in shown.stdout.splitlines() if line.startswith("waiting")]
    assert waiting == ["waiting", "1", str(project)]
    assert root.put(path, {"state": "on"}).status_code == 200
    assert (
        run("preview", "999").stderr.endswith("Error: There is no such thing, or you may not see it.\n")
        or run("preview", "999").exit_code == 1
    )
