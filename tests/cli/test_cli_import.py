"""flask import: many submissions out of a file, each held to what the API asks for."""

import codecs
import csv
import json
from base64 import b64encode
from collections import defaultdict
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from PIL import Image
from sqlalchemy import delete, func, select, update

from directory.cli import rows
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Category, Delivery, Logo, Project, ProjectTag, Review, User, now
from directory.services.data import import_export
from directory.services.pictures import logos, pictures
from directory.services.review import submissions
from directory.services.turns import CURRENT
from tests.conftest import ENVIRONMENT
from tests.support.factories import World
from tests.support.pictures import RED, picture, png


@pytest.fixture
def run(app: Flask, world: World) -> Any:
    """Runs `flask import -` over bytes, with a category `tools` and the administrator `boss` there."""
    world.category("tools")
    world.admin("boss")
    return importer(app)


def importer(app: Flask) -> Any:
    runner = app.test_cli_runner(catch_exceptions=False)

    def run(given: Any, *arguments: str, file: str = "-") -> Any:
        data = given if isinstance(given, bytes) else jsonl(*given)
        return runner.invoke(args=["import", file, *arguments], input=data)

    return run


def jsonl(*projects: dict[str, Any]) -> bytes:
    return "".join(json.dumps(project) + "\n" for project in projects).encode()


def project(number: int = 1, **fields: Any) -> dict[str, Any]:
    given = {"title": f"Project {number}", "tagline": "It does things", "category": "tools"}
    return {**given, "url": f"https://example.org/{number}", **fields}


def stored(app: Flask) -> list[Project]:
    with app.app_context():
        return list(db.session.scalars(select(Project).order_by(Project.id)))


def size(app: Flask, model: Any) -> Any:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(model))


def test_a_row_becomes_a_pending_submission_of_the_first_administrator(app: Flask, run: Any, world: World) -> None:
    world.admin("later")
    links = {"repository_url": "https://git.example.org/x", "logo_url": None}
    full = project(title="  Größe ", description="a\r\nb", tags=["a", "b"], **links)
    result = run([full])
    assert (result.exit_code, result.output) == (0, "imported 1, unchanged 0, refused 0\n")
    (found,) = stored(app)
    seen = world.stored(found.id)
    assert seen["owner"]["username"] == "boss"
    assert (seen["title"], seen["description"], seen["slug"]) == ("Größe", "a\nb", "grosse")
    assert (seen["repository_url"], seen["logo_url"], seen["tags"]) == ("https://git.example.org/x", None, ["a", "b"])
    assert (seen["status"], seen["published_at"], seen["upvotes"], seen["version"]) == ("pending", None, 0, 1)


def test_a_row_is_stored_as_the_api_would_have_stored_it(app: Flask, run: Any, world: World) -> None:
    with app.app_context():
        boss = import_export.default_owner()
        assert boss is not None
        transaction(lambda: submissions.submit(project(1, tags=["x"]), by=boss, notify=[]))
    run([project(2, tags=["x"])])
    columns = [column.key for column in Project.__table__.columns]
    first, second = ({name: getattr(row, name) for name in columns} for row in stored(app))
    differing = {name for name in columns if first[name] != second[name]}
    assert differing == {"id", "title", "slug", "url", "url_key", "hot", "listed_at"} | {
        name for name in columns if name in {"created_at", "updated_at", "submitted_at"}
    }


def test_live_rows_are_published_and_logged_without_counting_as_decisions(app: Flask, run: Any, api: Any) -> None:
    assert run([project(1), project(2)], "--status", "live").exit_code == 0
    assert [item["title"] for item in api.get("/api/projects?q=project").json["items"]] == ["Project 2", "Project 1"]
    with app.app_context():
        entries = list(db.session.scalars(select(AuditEntry)))
    assert [(e.action, e.from_state, e.to_state, e.waited_seconds) for e in entries] == [
        ("project.imported", None, "live", None)
    ] * 2
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def reasons(app: Flask) -> dict[int, str | None]:
    """The reasons of the cases, by project."""
    with app.app_context():
        found = select(Project.id, Review.reason).outerjoin(Review, CURRENT)
        return dict(db.session.execute(found).all())


MIXED = [
    project(1, status="rejected", rejection_reason="Not a project.\r\nNot yet."),
    project(2, status="live", rejection_reason="Of long ago."),
    project(3, status="pending"),
    project(4, status=None, rejection_reason=None),
    project(5),
    project(6, status="rejected"),
]
STANDS = ["rejected", "live", "pending", "pending", "pending", "rejected"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_without_a_status_for_all_each_row_has_its_own(app: Flask, run: Any, form: str) -> None:
    given: Any = MIXED
    if form == "csv":
        head = "title,tagline,category,url,status,rejection_reason"
        cells = [[(row.get(name) or "").replace("\r\n", "\n") for name in head.split(",")] for row in MIXED]
        given = "\n".join([head, *(",".join(f'"{cell}"' for cell in row) for row in cells)]).encode()
    result = run(given, "--format", form)
    assert (result.exit_code, result.output) == (0, "imported 6, unchanged 0, refused 0\n")
    found = stored(app)
    assert [row.status for row in found] == STANDS
    assert [reasons(app)[row.id] for row in found] == ["Not a project.\nNot yet.", *[None] * 5]
    assert [row.published_at is not None for row in found] == [status == "live" for status in STANDS]
    with app.app_context():
        entries = list(db.session.scalars(select(AuditEntry).order_by(AuditEntry.id)))
    assert [(e.action, e.project_id, e.to_state) for e in entries] == [
        ("project.imported", project.id, status) for project, status in zip(found, STANDS, strict=True)
    ]
    assert [e.reason for e in entries] == [reasons(app)[project.id] for project in found]
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0
    assert run(given, "--format", form).output == "imported 0, unchanged 6, refused 0\n"
    assert [row.status for row in stored(app)] == STANDS


@pytest.mark.parametrize("status", ["pending", "live"])
def test_a_status_for_all_is_that_of_every_row(app: Flask, run: Any, status: str) -> None:
    assert run(MIXED, "--status", status).exit_code == 0
    assert {(row.status, reasons(app)[row.id]) for row in stored(app)} == {(status, None)}
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"status": "approved"}, "status: Must be one of: live, pending, rejected."),
        ({"status": ""}, "status: Must be one of: live, pending, rejected."),
        ({"status": 1}, "status: Not a string."),
        ({"status": "rejected", "rejection_reason": "x" * 1001}, "rejection_reason: "),
    ],
)
def test_a_status_that_is_none_and_a_bad_reason_are_reported_and_skipped(
    app: Flask, run: Any, fields: dict[str, Any], fault: str
) -> None:
    result = run([project(1), project(2, **fields), project(3, status="rejected")])
    assert result.exit_code == 1
    assert f"line 2: {fault}" in result.output
    assert result.output.endswith("imported 2, unchanged 0, refused 1\n")
    assert [row.status for row in stored(app)] == ["pending", "rejected"]


def test_every_row_leaves_one_entry_in_the_log(app: Flask, run: Any) -> None:
    run([project(number) for number in range(5)])
    ids = [row.id for row in stored(app)]
    with app.app_context():
        entries = db.session.execute(select(AuditEntry.action, AuditEntry.project_id).order_by(AuditEntry.id))
        assert [tuple(entry) for entry in entries] == [("project.imported", number) for number in ids]


def test_the_command_has_imported_it_and_not_its_owner(run: Any, world: World) -> None:
    world.user("amal")
    rows = [project(1, owner="amal"), project(2, category="new", owner="bea", status="live")]
    assert run(rows, "--create-categories", "--create-users").exit_code == 0
    entries = world.caller(world.admin()).get("/api/admin/audit").json["items"]
    found = [(entry["action"], entry["actor"]) for entry in entries if entry["action"] != "user.token_created"]
    actions = ["project.imported", "project.imported", "category.created", "user.registered"]
    assert found == [(action, None) for action in actions]
    registered = next(entry for entry in entries if entry["action"] == "user.registered")
    assert (registered["user"]["username"], registered["to"]) == ("bea", "member")


def test_a_second_run_adds_nothing(app: Flask, run: Any) -> None:
    given = [project(1), project(2), project(1, url="http://www.example.org:80/1/#same")]
    assert run(given).output == "imported 2, unchanged 1, refused 0\n"
    again = run(given)
    assert (again.exit_code, again.output) == (0, "imported 0, unchanged 3, refused 0\n")
    assert size(app, AuditEntry) == 2


def test_another_owner_may_have_the_same_projects(run: Any, world: World) -> None:
    world.user("ida")
    run([project(1)])
    assert run([project(1)], "--owner", "ida").output == "imported 1, unchanged 0, refused 0\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (jsonl(project(url="ftp://example.org")), "url: Must be an absolute URL that begins with http:// or https://."),
        (jsonl(project(colour="red")), "colour: Unknown field."),
        (jsonl({"title": "T"}), "tagline: Missing data for required field."),
        (jsonl(project(9, category="none")), "category: There is no category 'none'."),
        (jsonl(project(tags=["a", "B"])), "tags/1: Use 1 to 32 of a-z and 0-9 in words joined by single hyphens."),
        (b'{"title": "a", "title": "b"}\n', 'The row names "title" twice in one object.'),
        (b'{"title": \n', "The row is not well-formed JSON at column 10."),
        (b"[1]\n", "The row is not an object."),
        (b'"\xff"\n', "The row is not UTF-8 at byte 1."),
        (b'{"title": "\\ud800"}\n', "title: Must not contain half of a surrogate pair."),
    ],
)
def test_a_bad_row_is_named_by_its_line_and_reason_and_the_others_go_in(
    app: Flask, run: Any, line: bytes, says: str
) -> None:
    result = run(jsonl(project(1)) + b"\n" + line + jsonl(project(2)))
    assert result.exit_code == 1
    assert f"line 3: {says}\n" in result.stderr
    assert result.stdout == "imported 2, unchanged 0, refused 1\n"
    assert [row.title for row in stored(app)] == ["Project 1", "Project 2"]


def test_refusals_come_in_the_order_of_the_lines(run: Any) -> None:
    result = run([project(1, category="none"), project(2, title=""), project(3, category="none")])
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["line 1", "line 2", "line 3"]


def test_missing_categories_are_made_if_asked_for(app: Flask, run: Any) -> None:
    given = [project(1, category="web-frameworks"), project(2, category="tools"), project(3, category="web-frameworks")]
    assert run(given, "--create-categories").output == "imported 3, unchanged 0, refused 0\n"
    with app.app_context():
        columns = (Category.slug, Category.name, Category.pending_projects)
        rows = db.session.execute(select(*columns).order_by(Category.id))
        assert list(map(tuple, rows)) == [("tools", "Tools", 1), ("web-frameworks", "Web frameworks", 2)]


def test_a_second_run_makes_no_category_for_what_is_there_already(app: Flask, run: Any) -> None:
    given = [project(1, category="tools")]
    run(given, "--create-categories")
    with app.app_context():
        transaction(lambda: db.session.execute(update(Category).values(slug="dev-tools")))
    assert run(given, "--create-categories").output == "imported 0, unchanged 1, refused 0\n"
    assert size(app, Category) == 1


def test_many_rows_go_in_by_batches(app: Flask, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_export, "TAKEN_AT_ONCE", 3)
    assert run([project(number) for number in range(8)]).output == "imported 8, unchanged 0, refused 0\n"
    assert [row.title for row in stored(app)] == [f"Project {number}" for number in range(8)]


def test_projects_of_one_website_with_different_repositories_are_imported(app: Flask, run: Any) -> None:
    site, repositories = "https://tool.example", [f"https://github.com/a/{name}" for name in ("one", "two")]
    given = [project(n, url=site, repository_url=each) for n, each in enumerate(repositories)]
    given += [project(n, url=f"{site}/#/{n}") for n in (5, 6)]
    assert run(given).output == "imported 4, unchanged 0, refused 0\n"
    assert run(given).output == "imported 0, unchanged 4, refused 0\n"


def test_a_repository_as_git_clones_it_becomes_its_web_address_or_is_refused_at_its_field(app: Flask, run: Any) -> None:
    given = [project(1, repository_url="git@github.com:a/b.git"), project(2, repository_url="git://git.example/a.git")]
    result = run(given)
    assert (result.exit_code, result.stdout) == (1, "imported 1, unchanged 0, refused 1\n")
    assert result.stderr.startswith("line 2: repository_url: Must be an absolute URL")
    assert [row.repository_url for row in stored(app)] == ["https://github.com/a/b"]


@pytest.mark.parametrize("at_once", [1, 200])
def test_another_project_of_the_same_url_is_refused_with_the_line_that_it_equals(
    app: Flask, run: Any, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(import_export, "TAKEN_AT_ONCE", at_once)
    site = "https://tool.example"
    given = [
        project(1, url=site),
        project(2),
        project(3, url=f"{site}/?ref=x", repository_url="https://github.com/a/b"),
    ]
    refused = "line 3: Has the URL of line 1, 'Project 1'. Two projects of one URL need a repository_url each.\n"
    for counts in ("imported 2, unchanged 0", "imported 0, unchanged 2"):
        result = run(given)
        assert (result.exit_code, result.stderr) == (1, refused)
        assert result.stdout == f"{counts}, refused 1\n"


def test_a_row_of_a_project_with_another_title_is_named_and_changes_nothing(app: Flask, run: Any) -> None:
    run([project(1)])
    (row,) = stored(app)
    result = run([project(1, title="Other")])
    assert (result.exit_code, result.stdout) == (0, "imported 0, unchanged 1, refused 0\n")
    assert result.stderr == f"line 1: Unchanged: project {row.id}, 'Project 1', has this URL already.\n"


def test_a_url_that_was_taken_in_between_is_seen_at_the_second_try(
    app: Flask, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([project(1)])
    unseen = [defaultdict(list)]
    held = import_export._held
    monkeypatch.setattr(import_export, "_held", lambda *args: unseen.pop() if unseen else held(*args))
    assert run([project(1), project(2)]).output == "imported 1, unchanged 1, refused 0\n"
    assert unseen == []


def test_nobody_is_notified(make_app: Any) -> None:
    events = ["project.submitted", "project.approved"]
    endpoint = {"url": "https://hook.example.org/", "secret": "x" * 32, "events": events}
    app = make_app(**ENVIRONMENT, WEBHOOK_ENDPOINTS=json.dumps([endpoint]))
    World(app).admin("boss")
    assert importer(app)([project(1)], "--status", "live", "--create-categories").exit_code == 0
    assert size(app, Delivery) == 0


def test_an_import_needs_an_owner(app: Flask, world: World) -> None:
    world.user("ida")
    world.admin("boss")
    with app.app_context():
        transaction(lambda: db.session.execute(User.__table__.update().values(status="suspended")))
    run = importer(app)
    nobody = run([project(1)])
    assert nobody.exit_code == 1
    assert nobody.stderr.startswith("Error: There is no administrator to own the projects. Add one by `flask users ")
    assert run([project(1)], "--owner", "eva").stderr == "Error: There is no account named 'eva'.\n"


def test_the_format_follows_from_the_name_unless_it_is_given(app: Flask, run: Any, tmp_path: Path) -> None:
    table = b"title,tagline,url,category\nA,B,https://example.org/a,tools\n"
    for name in ("a.csv", "b.CSV"):
        (tmp_path / name).write_bytes(table)
        assert run(b"", file=str(tmp_path / name)).exit_code == 0
    (tmp_path / "c.tsv").write_bytes(table.replace(b",", b"\t"))
    assert run(b"", file=str(tmp_path / "c.tsv")).output == "imported 0, unchanged 1, refused 0\n"
    assert run(table, "--format", "csv").output == "imported 0, unchanged 1, refused 0\n"
    (tmp_path / "rows.txt").write_bytes(jsonl(project(2)))
    assert run(b"", file=str(tmp_path / "rows.txt")).output == "imported 1, unchanged 0, refused 0\n"


def test_a_byte_order_mark_is_no_part_of_the_first_row(run: Any) -> None:
    assert run(codecs.BOM_UTF8 + jsonl(project(1))).exit_code == 0
    table = codecs.BOM_UTF8 + b"title,tagline,url,category\nA,B,https://example.org/a,tools\n"
    assert run(table, "--format", "csv").exit_code == 0


def test_an_empty_file_imports_nothing(run: Any) -> None:
    assert run(b"").output == "imported 0, unchanged 0, refused 0\n"


TABLE = "Title,tagline, URL ,Category\nGrüße,B,https://example.org/a,tools\n\n,,,\nC,D,https://example.org/c,tools\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("declared", ["", "sep={}\n", '"sep={}"\r\n'])
def test_a_table_of_a_spreadsheet_is_read_however_it_was_saved(
    app: Flask, run: Any, encoding: str, delimiter: str, declared: str
) -> None:
    text = declared.format(delimiter) + TABLE.replace(",", delimiter)
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    assert run(mark + text.encode(encoding), "--format", "csv").stdout == "imported 2, unchanged 0, refused 0\n"
    assert [one.title for one in stored(app)] == ["Grüße", "C"]


@pytest.mark.parametrize(
    "above", ["\n\n", ";;;\r\n \n", "SEP=;\n", "sep=; \r\n", '\n"sep=;";;;\n', '"";""\nsep=;;;;\n']
)
def test_blank_rows_above_a_table_a_padded_separator_and_spaces_are_left_out(run: Any, above: str) -> None:
    table = above + TABLE.replace(",", "; ").replace("tools\n", " tools \n")
    assert run(table.encode(), "--format", "csv").stdout == "imported 2, unchanged 0, refused 0\n"
    bad = above + "title;tagline;url;category\nE;F;no address;tools\n"
    assert f"line {above.count(chr(10)) + 2}: url: " in run(bad.encode(), "--format", "csv").stderr


@pytest.mark.parametrize(
    ("encoding", "ending"),
    [
        ("utf-8", "\r"),
        ("utf-8", "\r\n"),
        ("utf-8-sig", "\r"),
        ("utf-16", "\r"),
        ("utf-16-le", "\n"),
        ("utf-16-be", "\r\n"),
    ],
)
def test_a_table_is_read_whatever_ends_its_lines_and_in_utf_16_without_a_mark(
    app: Flask, run: Any, encoding: str, ending: str
) -> None:
    bad = "E,F,no address,tools\n"
    result = run((TABLE + bad).replace("\n", ending).encode(encoding), "--format", "csv")
    assert result.stdout == "imported 2, unchanged 0, refused 1\n"
    assert "line 6: url: " in result.stderr
    assert [one.title for one in stored(app)] == ["Grüße", "C"]


def test_rows_of_utf_16_are_named_by_their_lines_and_a_broken_end_by_its_line(run: Any) -> None:
    rows = "title,tagline,url,category\nA,B,ftp://example.org/a,tools\n"
    assert "line 2: url: " in run(rows.encode("utf-16"), "--format", "csv").stderr
    broken = (rows + "C,D,https://example.org/c,tools\n").encode("utf-16") + b"\x00\xd8"
    assert "The file begins as UTF-16, and goes on as something else." in run(broken, "--format", "csv").stderr
    within = rows.encode("utf-16-le") + b"\x00\xd8" + "C\nD\n".encode("utf-16-le")
    assert "line 3: The file begins" in run(within, "--format", "csv").stderr


def test_a_cell_may_have_a_line_feed_where_carriage_returns_end_the_lines(app: Flask, run: Any) -> None:
    table = (
        TABLE.replace("\n", "\r").replace("Category\r", "Category,description\r").replace("tools\r", 'tools,"a\nb"\r')
    )
    assert run(table.encode(), "--format", "csv").stdout == "imported 2, unchanged 0, refused 0\n"
    assert [one.description for one in stored(app)] == ["a\nb", "a\nb"]


def test_a_hundred_bad_rows_have_a_line_each_and_one_that_sums_up(run: Any) -> None:
    result = run([project(n, url="no address") for n in range(100)])
    assert result.stdout == "imported 0, unchanged 0, refused 100\n"
    assert len(result.stderr.splitlines()) == 100


def test_each_of_two_owners_gets_a_project_of_one_address(app: Flask, run: Any, world: World) -> None:
    ida, ole = world.user("ida"), world.user("ole")
    given = [project(1, owner="ida"), project(1, owner="ole"), project(1), project(1, owner="nobody-there")]
    result = run(given)
    assert result.stdout == "imported 3, unchanged 1, refused 0\n"
    assert [one.owner_id for one in stored(app)][:2] == [ida.id, ole.id]
    assert run(given).stdout == "imported 0, unchanged 4, refused 0\n"


def test_what_an_import_does_not_keep_is_said_with_the_way_to_keep_it(run: Any) -> None:
    row = project(1, owner="nobody-there", upvotes=3, created_at="2020-01-01T00:00:00Z")
    assert run([row, project(2, upvotes=0)]).stderr.splitlines()[-3:] == [
        "Not kept: votes of 1 row. flask copy and flask backup keep them.",
        "Not kept: dates of 1 row. --keep-dates keeps them.",
        "Not kept: owners of 1 row. --create-users adds missing ones without a password, but no reserved names.",
    ]
    assert "owners" not in run([project(3, owner="nobody-there")], "--owner", "boss").stderr


def test_dates_are_kept_where_that_is_asked_for_and_the_log_says_when_it_was(app: Flask, run: Any) -> None:
    dates = {"created_at": "2020-01-01T00:00:00Z", "published_at": "2020-02-01T00:00:00+01:00", "status": "live"}
    before = now()
    assert run([project(1, **dates)], "--keep-dates").stderr.count("\n") == 0
    [one] = stored(app)
    assert [one.created_at.year, one.published_at.month, one.listed_at] == [2020, 1, one.published_at]
    with app.app_context():
        assert db.session.scalars(select(AuditEntry.at)).one() >= before


def test_a_project_is_as_old_as_its_first_date_so_that_its_export_can_be_imported(app: Flask, run: Any) -> None:
    dates = {"published_at": "2020-02-01T00:00:00Z", "updated_at": "2020-03-01T00:00:00Z"}
    assert run([project(1, **dates, status="live")], "--keep-dates").exit_code == 0
    [one] = stored(app)
    assert one.created_at == one.submitted_at == one.published_at


@pytest.mark.parametrize(
    ("dates", "fault"),
    [
        ({"created_at": "yesterday"}, "created_at: Not a time in RFC 3339"),
        ({"created_at": "2999-01-01T00:00:00Z"}, "created_at: Must not be in the future."),
        (
            {"created_at": "2020-01-02T00:00:00Z", "published_at": "2020-01-01T00:00:00Z"},
            "published_at: Must not be before created_at.",
        ),
    ],
)
def test_a_date_that_makes_no_sense_is_refused_only_where_it_would_be_kept(
    run: Any, dates: dict[str, str], fault: str
) -> None:
    result = run([project(1, **dates)], "--keep-dates")
    assert (result.exit_code, result.stdout) == (1, "imported 0, unchanged 0, refused 1\n")
    assert fault in result.stderr
    assert run([project(1, **dates)]).exit_code == 0


def test_missing_owners_are_added_without_a_password_and_reserved_names_are_not(app: Flask, run: Any) -> None:
    given = [project(1, owner="new-owner"), project(2, owner="new-owner"), project(3, owner="root")]
    assert "owners of 1 row" in run(given, "--create-users").stderr
    with app.app_context():
        [user] = db.session.scalars(select(User).where(User.username == "new-owner"))
        assert (user.password_hash, user.notify, user.email) == ("", False, "new-owner@imported.invalid")
        owners = select(User.username).join(Project, Project.owner_id == User.id)
        names = db.session.scalars(owners.order_by(Project.id))
        assert list(names) == ["new-owner", "new-owner", "boss"]
    for password in ("", "new-owner", "correct horse battery"):
        login = {"login": "new-owner", "password": password}
        assert app.test_client().post("/api/auth/login", json=login).status_code in (401, 422)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_into_an_empty_directory_is_exported_again_as_it_was(
    app: Flask, world: World, run: Any, form: str, tmp_path: Path
) -> None:
    ida = world.user("ida")
    boss = world.caller(world.admin("grace"))
    for status in ("live", "pending", "rejected", "live"):
        number = world.project(
            ida, status, tags=["a", "b"], description="Text\nin lines", repository_url="https://example.org/r"
        )
    taken_down = boss.put(f"/api/admin/projects/{number}/unpublish", {"reason": "  Its host is gone.\nFor now."})
    assert taken_down.status_code == 200
    runner = app.test_cli_runner(catch_exceptions=False)
    before = runner.invoke(args=["export", "--format", form]).stdout
    with app.app_context():
        for model in (ProjectTag, Project):
            transaction(lambda model=model: db.session.execute(delete(model)))
    result = run(before.encode(), "--format", form, "--keep-dates", "--create-users")
    assert (result.stdout, result.stderr) == ("imported 4, unchanged 0, refused 0\n", "")
    after = runner.invoke(args=["export", "--format", form]).stdout
    assert without_ids(after, form) == without_ids(before, form)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_logo_is_exported_and_imported_again(app: Flask, world: World, run: Any, form: str) -> None:
    with_logo, _without, owner = world.project(), world.project(), world.user().id
    with app.app_context():
        addresses = transaction(lambda: logos.store(pictures.as_logo(picture((300, 200), "red")), by=owner))
        change = update(Project).where(Project.id == with_logo).values(logo=addresses)
        transaction(lambda: db.session.execute(change))
    before = app.test_cli_runner(catch_exceptions=False).invoke(args=["export", "--format", form]).stdout
    with app.app_context():
        for model in (ProjectTag, Project, Logo):
            transaction(lambda model=model: db.session.execute(delete(model)))
    assert run(before.encode(), "--format", form).stdout == "imported 2, unchanged 0, refused 0\n"
    logo, nothing = (each.logo for each in stored(app))
    assert nothing is None
    for side in ("64", "256"):
        shown = app.test_client().get(logo[side])
        image = Image.open(BytesIO(shown.data)).convert("RGBA")
        assert (image.format, image.size) == (None, (int(side), int(side)))
        assert image.getpixel((int(side) // 2, 2))[3] == 0  # above the picture, which is not square
        red, green, blue, alpha = image.getpixel((int(side) // 2, int(side) // 2))
        assert (red > 240, green < 15, blue < 15, alpha) == (True, True, True, 255)


def test_a_logo_is_held_to_what_an_upload_is(app: Flask, run: Any) -> None:
    text, wide = b64encode(b"GIF89a, or so").decode(), b64encode(png(9000, 1, b"")).decode()
    given = ["%%%", text, wide, "A" * (rows.LOGO_MAX + 4), 7, None, b64encode(RED).decode()]
    result = run([project(number, logo=logo) for number, logo in enumerate(given)])
    assert result.stdout == "imported 2, unchanged 0, refused 5\n"
    assert [line.partition(": ")[2] for line in result.stderr.splitlines() if line.startswith("line")] == [
        "logo: Is not base64.",
        "logo: Is not a PNG, JPEG or WebP picture, or it is damaged.",
        "logo: Must be at most 8,192 pixels wide and high.",
        "logo: Must be a picture of at most 1,048,576 bytes in base64.",
        "logo: Must be a picture of at most 1,048,576 bytes in base64.",
    ]
    assert size(app, Logo) == 1


def test_pictures_are_exported_on_request_and_imported_again_in_their_order(app: Flask, world: World, run: Any) -> None:
    of_two, without = world.project(), world.project()
    for alt, colour in (("Rouge", "red"), ("\u6c34", "blue")):
        world.picture(of_two, alt, picture((1600, 900), colour))
    world.picture(without, "red", picture((1600, 900), "red"))  # two projects share it
    runner = app.test_cli_runner(catch_exceptions=False)
    assert "pictures" not in json.loads(runner.invoke(args=["export"]).stdout.splitlines()[0])
    refused = runner.invoke(args=["export", "--pictures", "--format", "csv"])
    assert (refused.exit_code, "--pictures needs --format jsonl." in refused.stderr) == (2, True)
    before = runner.invoke(args=["export", "--pictures"]).stdout
    with app.app_context():
        for model in (ProjectTag, Project, Logo):
            transaction(lambda model=model: db.session.execute(delete(model)))
    assert run(before.encode()).stdout == "imported 2, unchanged 0, refused 0\n"
    assert run(before.encode()).stdout == "imported 0, unchanged 2, refused 0\n"
    first, second = (each.pictures for each in stored(app))
    assert [each["alt"] for each in (*first, *second)] == ["Rouge", "\u6c34", "red"]
    assert first[0]["1280"] == second[0]["1280"]
    assert len({each["id"] for each in (*first, *second)}) == 3
    assert size(app, Logo) == 2
    for each, colour in zip(first, ((255, 0, 0), (0, 0, 255)), strict=True):
        for side, height in (("640", 360), ("1280", 720)):
            image = Image.open(BytesIO(app.test_client().get(each[side]).data)).convert("RGB")
            assert image.size == (int(side), height)
            assert all(abs(a - b) < 12 for a, b in zip(image.getpixel((9, 9)), colour, strict=True))


def test_pictures_of_a_row_are_held_to_what_uploads_are(app: Flask, run: Any) -> None:
    red, alt = b64encode(RED).decode(), "Red"
    given = [
        [{"alt": alt, "picture": red}] * 6, [{"alt": "", "picture": red}], [{"alt": alt}],
        [{"alt": alt, "picture": b64encode(b"GIF89a").decode()}], [{"alt": alt, "picture": red, "width": 8}],
        "no", None, [], [{"alt": alt, "picture": red}] * 5,
    ]  # fmt: skip
    result = run([project(number, pictures=each) for number, each in enumerate(given)])
    assert result.stdout == "imported 3, unchanged 0, refused 6\n"
    assert [line.partition(": ")[2] for line in result.stderr.splitlines() if line.startswith("line")] == [
        "pictures: Must be 0 to 5 pictures.",
        "pictures/0/alt: Must not be blank.",
        "pictures/0/picture: Missing data for required field.",
        "pictures/0/picture: Is not a PNG, JPEG or WebP picture, or it is damaged.",
        "pictures/0/width: Unknown field.",
        "pictures: Not a valid list.",
    ]
    assert [len(each.pictures) for each in stored(app)] == [0, 0, 5]


def test_an_import_takes_few_rows_at_once_where_they_have_pictures() -> None:
    sizes = [[*map(sum, batches)] for batches in [import_export.batches([0] * 450 + [5] * 23, int)]]
    assert sizes == [[0, 0, 50, 50, 15]]
    assert [len(batch) for batch in import_export.batches([0] * 450 + [5] * 23, int)] == [200, 200, 60, 10, 3]


def without_ids(text: str, form: str) -> list[dict[str, Any]]:
    """The rows of an export without their ids."""
    lines = text.splitlines(keepends=True)
    rows = list(csv.DictReader(lines)) if form == "csv" else [json.loads(line) for line in lines]
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]
