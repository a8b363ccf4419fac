"""Clients that the two most used generators make of the OpenAPI document, without a warning, refusals included."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.support.chromium import served
from tests.support.factories import World
from tests.support.web import DENO, ROOT, require_pages

DOCUMENT = ROOT / "docs" / "openapi.json"
STORY = """
import sys
from generated.api.projects import projects_index, projects_show, projects_toggle_vote
from generated.client import AuthenticatedClient, Client
from generated.models import Problem, ProjectDetail

site, token = sys.argv[1:]
anonymous, member = Client(base_url=site), AuthenticatedClient(base_url=site, token=token)
assert isinstance(projects_show.sync(1, client=anonymous), ProjectDetail)
for answer, status, code in (
    (projects_show.sync_detailed(999, client=anonymous), 404, "not_found"),
    (projects_toggle_vote.sync_detailed(1, client=anonymous), 401, "unauthenticated"),
    (projects_index.sync_detailed(client=anonymous, limit=0), 422, "validation_failed"),
):
    assert (answer.status_code, type(answer.parsed), answer.parsed.code) == (status, Problem, code), answer
assert projects_toggle_vote.sync(1, client=member).upvotes == 1
print("done")
"""


def generated(folder: Path) -> subprocess.CompletedProcess[str]:
    """What openapi-python-client prints when it makes a client in the folder."""
    config = ROOT / "docs" / "openapi-python-client.yaml"
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none"]
    command += ["--path", str(DOCUMENT), "--config", str(config), "--output-path", str(folder / "generated")]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "PATH": programs}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=given)


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_python_client_is_made_without_a_warning_and_reads_refusals(app: Flask, world: World, tmp_path: Path) -> None:
    made = generated(tmp_path)
    said = made.stdout + made.stderr
    assert (made.returncode, "warning" in said.lower()) == (0, False), said[-3000:]
    member = world.user("ada")
    world.project(title="Lamp")
    token = world.caller(member).token
    with served(app) as site:
        command = [sys.executable, "-c", STORY, site, str(token)]
        given = {**os.environ, "PYTHONPATH": str(tmp_path)}
        ran: Any = subprocess.run(command, capture_output=True, text=True, timeout=120, env=given)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


def test_types_for_typescript_are_made_without_a_warning(tmp_path: Path) -> None:
    program = ROOT / "tests" / "web" / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    require_pages(Path(DENO), program)
    command = [DENO, "run", "-A", str(program), str(DOCUMENT), "-o", str(tmp_path / "schema.d.ts")]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    said = made.stdout + made.stderr
    assert (made.returncode, "warn" in said.lower()) == (0, False), said
    assert "Problem:" in (tmp_path / "schema.d.ts").read_text()
