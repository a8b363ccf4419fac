"""docs/core.md is taken literally: its files and functions are there, and one project's way goes through no others."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

from directory.services.delivery.deliverer import DeliveryThread
from tests.conftest import build, migrate
from tests.support.calls import DIRECTORY, called, of_request, submission
from tests.support.factories import Api, World
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.receiver import SECRET, Receiver

PAGE = DIRECTORY.parent / "docs" / "core.md"
ENTRY = re.compile(r"^- \[`([^`]+)`\]\(\.\./directory/([^)]+)\): (.+?)(?=\n- |\n\n|\Z)", re.MULTILINE | re.DOTALL)
NO_CORE = {"cache", "extras", "server"}


def entries() -> list[tuple[str, str]]:
    """The files of the page and what it says of each."""
    found = ENTRY.findall(PAGE.read_text(encoding="utf-8"))
    assert [name for name, path, _ in found if name != path] == []
    return [(path, sentence) for _, path, sentence in found]


def names_in(path: str) -> set[str]:
    """The names of the functions, classes and constants of a file; of SQL its words."""
    text = (DIRECTORY / path).read_text(encoding="utf-8")
    if not path.endswith(".py"):
        return set(re.findall(r"\w+", text))
    tree = [*ast.walk(ast.parse(text))]
    defined = {each.name for each in tree if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    return defined | {each.id for each in tree if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def test_each_file_is_there_once_and_is_of_the_core() -> None:
    files = [path for path, _ in entries()]
    assert [path for path in files if not (DIRECTORY / path).is_file() or path.split("/")[0] in NO_CORE] == []
    assert [path for path, number in Counter(files).items() if number > 1] == []
    assert PAGE.read_text(encoding="utf-8").count("\n- ") == len(files)


def test_each_function_and_table_is_in_the_file_that_is_said_to_have_it() -> None:
    for path, sentence in entries():
        named = {name.removesuffix("()") for name in re.findall(r"`(\w+(?:\(\))?)`", sentence)}
        assert named - names_in(path) <= {"by", "viewer", "create_app"}, path


def test_one_project_goes_its_way_through_no_file_that_the_page_leaves_out(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/core.db"
    migrate(url)
    with Receiver() as receiver:
        hook = json.dumps([{"url": receiver.url, "secret": SECRET, "events": ["project.approved"]}])
        app = build(url, EXTRAS="none", RESPONSE_CACHE=False, WEBHOOK_ENDPOINTS=hook)
        world = World(app)
        owner, admin, visitor = world.caller(world.user()), world.caller(world.admin()), Api(app)
        deliveries: DeliveryThread = delivery_thread(app, app.extensions["webhooks"][0], quick())
        for number in range(2):  # what the first one imports and compiles is no part of the way
            project = f"/api/projects/{number + 1}"
            way = of_request(owner, "POST", "/api/projects", submission(world, number))
            way |= of_request(admin, "PUT", f"/api/admin/projects/{number + 1}/approve")
            way |= of_request(visitor, "GET", "/api/projects") | of_request(owner, "GET", project)
            way |= of_request(owner, "POST", f"{project}/upvote") | called(lambda: send_all(deliveries))
        assert len(receiver.received) == 2
    visited = {call.split(":")[0] for call in way}
    assert {path for path in visited - {path for path, _ in entries()} if path.split("/")[0] not in NO_CORE} == set()
