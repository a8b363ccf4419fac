"""What becomes of picks in another database."""

from typing import Any

from flask import Flask

from tests.support.copies import emptied, run, target
from tests.support.factories import Api, World

__all__ = ["emptied", "run", "target"]


def test_a_copy_has_the_picks_and_an_export_and_an_import_leave_them(
    app: Flask, target: Flask, world: World, admin: Api, api: Api, run: Any, tmp_path: Any
) -> None:
    lamp = world.project(title="Lamp")
    pick = admin.put(f"/api/review/projects/{lamp}/pick", {"words": "It shines."}).json["picked"]
    file, runner = str(tmp_path / "all.jsonl"), app.test_cli_runner()
    assert runner.invoke(args=["export", "--output", file]).exit_code == 0
    assert "It shines." not in (tmp_path / "all.jsonl").read_text()
    copied = run()
    assert copied.exit_code == 0, copied.output
    assert Api(target).get("/api/projects?picked=true").json["items"][0]["picked"] == pick
    assert "It shines." in Api(target).get("/picked").text
    imported = runner.invoke(args=["import", file, "--owner", "root"])
    assert (imported.exit_code, api.get(f"/api/projects/{lamp}").json["picked"]) == (0, pick), imported.output
    row = (tmp_path / "all.jsonl").read_text().replace("Lamp", "Jar").replace("https://", "https://jar.")
    (tmp_path / "all.jsonl").write_text(row)
    assert runner.invoke(args=["import", file, "--owner", "root", "--status", "live"]).exit_code == 0
    assert [each["title"] for each in api.get("/api/projects?picked=true").json["items"]] == ["Lamp"]
    assert {each["title"]: each["picked"] for each in api.get("/api/projects").json["items"]} == {
        "Jar": None, "Lamp": pick,
    }  # fmt: skip
