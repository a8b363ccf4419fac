"""docs/fields.md: its commands print what it shows; and a spreadsheet of real projects fills the fields."""

import csv
import os
from collections import Counter
from pathlib import Path

from flask import Flask

from tests.conftest import migrate
from tests.extras.fields.test_fields import define
from tests.support.factories import Api, World
from tests.support.serving import serving
from tests.system.test_readme import ROOT, played, steps, text

DOCUMENT = ROOT / "docs" / "fields.md"
SPREADSHEET = Path(__file__).with_name("spreadsheet.csv")
COLUMNS = ("title", "category", "field.license", "field.platforms")
DATABASE = "sqlite:///$PWD/ai-tools.db"


def test_the_way_to_a_filtered_page_is_as_it_is_told(tmp_path: Path) -> None:
    assert len(steps(DOCUMENT)) == text(DOCUMENT).count("```sh\n") > 0
    assert DATABASE in text(DOCUMENT)
    told = tmp_path / "fields.md"
    told.write_text(text(DOCUMENT).replace(DATABASE, f"sqlite:///{tmp_path / 'ai-tools.db'}"))
    for file in ("fields.json", "tools.csv"):
        told.write_text(told.read_text().replace(f" {file}", f" {tmp_path / file}"))
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'ai-tools.db'}", "SECRET_KEY": "s" * 64}
    environ = {"PATH": os.environ["PATH"], "FLASK_SKIP_DOTENV": "1", **settings}
    migrate(settings["DATABASE_URL"])
    with serving(environ, tmp_path / "log") as server:
        played(told, f"http://127.0.0.1:{server.port}", environ)


def test_a_spreadsheet_of_real_projects_fills_the_fields(app: Flask, world: World, tmp_path: Path) -> None:
    """Its columns were made of the words of the taglines; it is as a spreadsheet writes it: with semicolons itself."""
    admin, run = world.caller(world.admin()), app.test_cli_runner(catch_exceptions=False).invoke
    rows = list(csv.DictReader(SPREADSHEET.read_text(encoding="utf-8-sig").splitlines(), delimiter=";"))
    used = {name: sorted({value for row in rows for value in _in_cell(row, name)}) for name in ("license", "platforms")}
    for name, kind in (("license", "choice"), ("platforms", "choices")):
        choices = [{"value": value, "label": value.title()} for value in used[name]]
        define(admin, {"name": name, "label": name.title(), "kind": kind, "choices": choices, "facet": True})
    imported = ["import", str(SPREADSHEET), "--status", "live", "--create-categories"]
    assert f"imported {len(rows)}, unchanged 0, refused 0" in run(args=imported).output
    assert f"imported 0, unchanged {len(rows)}, refused 0" in run(args=imported).output
    counted = Api(app).get("/api/projects/facets").json["fields"]
    for name in ("license", "platforms"):
        counts = Counter(value for row in rows for value in _in_cell(row, name))
        assert {each["value"]: each["live_projects"] for each in counted[name]} == counts
    out = run(args=["export", "--format", "csv"]).stdout.splitlines()
    exported = {row["url"]: row for row in csv.DictReader(out)}
    for row in rows:
        assert [exported[row["url"]][each] for each in COLUMNS] == [row[each] for each in COLUMNS]
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(
        SPREADSHEET.read_text(encoding="utf-8-sig").replace("https://", "https://other.").replace(";gpl;", ";wtf;", 1)
    )
    refused = run(args=["import", str(wrong)])
    assert (refused.exit_code, refused.stderr.count("license: ")) == (1, 1), refused.output


def _in_cell(row: dict[str, str], name: str) -> list[str]:
    return [value for value in row[f"field.{name}"].split(";") if value]
