"""What a fork finds: a workflow that runs our CI, settings that keep editors from rewriting files, and quiet tools."""

import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
LIKE_MAKEFILES = {"Makefile", "Caddyfile"}


def test_the_workflow_runs_what_ci_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    [job] = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "bash .ci/run"
    assert (ROOT / ".ci" / "run").is_file()


def test_an_editor_that_keeps_to_the_settings_rewrites_no_file() -> None:
    settings = (ROOT / ".editorconfig").read_text()
    assert re.findall(r"^\[\{(.*)\}\]\nindent_style = tab$", settings, re.M) == ["Makefile,*.mk,Caddyfile"]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        content = (ROOT / name).read_bytes()
        if b"\0" in content or not content:
            continue
        lines = content.decode().split("\n")
        assert lines[-1] == "", name
        assert [line for line in lines if line != line.rstrip()] == [], name
        assert Path(name).name in LIKE_MAKEFILES or [line for line in lines if line.startswith("\t")] == [], name


def test_other_tools_change_nothing() -> None:
    assert "*" in (ROOT / ".prettierignore").read_text().splitlines()  # Prettier
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"] == {"managed": False}  # uv sync
