"""How the pages are built: what they weigh, what their sources may not use, and where nothing can be downloaded."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bench.lighthouse import sources
from directory.pages import build as web_build
from tests.support.web import DENO, ROOT, require_pages

SCRIPT = ROOT / ".ci" / "web.py"
PROGRESS = SCRIPT.with_name("progress.py")
KB = 1024
BUDGETS = json.loads((ROOT / "directory" / "web" / "budgets.json").read_text())


def load_script():
    from importlib.util import module_from_spec, spec_from_file_location

    if str(SCRIPT.parent) not in sys.path:
        sys.path.append(str(SCRIPT.parent))  # as where it runs as a script
    spec = spec_from_file_location("web_script", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def weight(entry, suffix):
    """Return the compressed KB of the files of a kind that an entry loads, and how many files there are."""
    build = web_build.load()
    files = build.entries[entry]
    names = [path.rpartition("/")[2] for path in (files.style, files.script, *files.preload)]
    sizes = [len(build.assets[name].compressed) for name in names if name.endswith(suffix)]
    return sum(sizes) / KB, len(sizes)


def test_the_pages_weigh_no_more_than_they_may():
    require_pages()
    for entry, budget in BUDGETS.items():
        for kind, most in budget.items():
            assert weight(entry, kind)[0] <= most, (entry, kind)
    # besides: the page and the icon
    assert weight("reading", "js")[1] + weight("reading", "css")[1] + 2 <= 5


def test_every_file_that_a_page_names_is_there_and_none_is_elsewhere():
    require_pages()
    build = web_build.load()
    for files in build.entries.values():
        for address in (files.style, files.script, *files.preload):
            assert address.removeprefix("/assets/") in build.assets
    for asset in build.assets.values():
        assert b"sourceMappingURL" not in asset.content


def test_each_colour_has_a_plain_one_for_browsers_without_light_dark():
    style = (ROOT / "directory/web/src/styles/base.css").read_text()
    usual, plain = style.split("@supports not (color: light-dark(#000, #fff))")
    plain = plain.partition("\n}\n")[0]
    names = re.findall(r"(--[a-z-]+):[^;]*light-dark", usual)
    assert len(names) > 10
    assert set(names) <= set(re.findall(r"(--[a-z-]+): [^;]*;", plain))
    assert "light-dark" not in plain


def test_the_lock_files_name_no_registry_and_the_build_few_packages():
    for folder in ("directory/web", "tests/web", "bench/lighthouse"):
        lock = (ROOT / folder / "deno.lock").read_text()
        assert "://" not in lock
        assert '"integrity": "sha512-' in lock
    assert 4 <= sources.packages() <= 10


def test_sources_with_hooks_are_refused(tmp_path, monkeypatch):
    script = load_script()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    source = tmp_path / "page.tsx"
    for line in ('import { useState } from "preact/hooks";', "const shown = useSignal(1);", "useEffect(() => {});"):
        source.write_text(f"// a page\n{line}\n")
        assert script.faults(source) == [f"page.tsx:2: no hooks: {line}"]
    source.write_text("user.value; use(1); const because = 1;\n")
    assert script.faults(source) == []
    source.write_text("\n" * 251)
    assert script.faults(source) == ["page.tsx: 251 lines"]


def test_styles_that_name_a_side_are_refused(tmp_path, monkeypatch):
    script = load_script()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    source = tmp_path / "page.css"
    wrong = ("margin-left: 1px", "padding: 1px 2px 3px 4px", "left: 0", "text-align: right", "border-right: 0")
    for line in wrong:
        source.write_text(f".left {{ {line}; }}\n")
        assert script.faults(source) == ["page.css:1: no left and right, but start and end (inline)"]
    source.write_text(".right { margin-inline-start: 1px; padding: 1px 2px 3px 2px; inset-inline: 0 1px; }\n")
    assert script.faults(source) == []


def test_the_sources_have_neither_hooks_nor_long_files():
    script = load_script()
    sources = [path for path in (ROOT / "directory/web/src").rglob("*.*") if path.name not in script.MADE]
    assert len(sources) > 30
    assert [fault for path in sources for fault in script.faults(path)] == []


@pytest.fixture
def checkout(tmp_path):
    """The sources of the pages in a folder of their own, next to the script; nothing is installed."""
    (tmp_path / ".ci").mkdir()
    for script in (SCRIPT, PROGRESS):
        shutil.copy(script, tmp_path / ".ci")
    ignored = shutil.ignore_patterns("node_modules", "dist", ".dist.*")
    shutil.copytree(ROOT / "directory" / "web", tmp_path / "directory" / "web", ignore=ignored)
    return tmp_path


def test_an_error_in_a_source_is_named_with_its_file_and_line(checkout):
    require_pages()
    (checkout / "directory" / "web" / "node_modules").symlink_to(ROOT / "directory" / "web" / "node_modules")
    script, web = load_script(), checkout / "directory" / "web"
    with (web / "src" / "console" / "main.tsx").open("a") as source:
        source.write("const wrong: = 1;\nconst more: = 2;\n")
    with pytest.raises(script.CannotBuild) as raised:
        script.step("bundle the pages", [script.deno(), "run", "-A", "build.mjs"], web)
    line = len((web / "src" / "console" / "main.tsx").read_text().splitlines()) - 1
    assert str(raised.value).splitlines()[:2] == [
        "cannot bundle the pages:", f'  src/console/main.tsx:{line}:14: error: Unexpected "="',
    ]  # fmt: skip


def test_a_bundle_over_its_budget_is_warned_of_and_fails_one_kilobyte_above(checkout):
    require_pages()
    script, web = load_script(), checkout / "directory" / "web"
    (web / "node_modules").symlink_to(ROOT / "directory" / "web" / "node_modules")
    bundle = ["bundle the pages", [script.deno(), "run", "-A", "build.mjs"], web]
    is_now = weight("reading", "js")[0]

    (web / "budgets.json").write_text(json.dumps({**BUDGETS, "reading": {"js": is_now - 0.5, "css": 8}}))
    lines = script.step(*bundle)
    assert [line.partition(": ")[0] for line in lines if "reading.js: " in line] == ["warning"]
    assert not [line for line in lines if "warning" in line and "reading.js" not in line]
    assert (web / "dist" / "pages.json").exists()

    (web / "budgets.json").write_text(json.dumps({**BUDGETS, "reading": {"js": is_now - 1.5, "css": 8}}))
    with pytest.raises(script.CannotBuild, match=r"error: over its budget, reading\.js: "):
        script.step(*bundle)


def refused():
    """An address at which every connection is refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


@pytest.mark.parametrize("what", ["Deno", "packages"])
def test_where_nothing_can_be_downloaded_the_build_says_so_in_one_line(checkout, what):
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(checkout), "DENO_DIR": str(checkout / "cache"),
        "NPM_CONFIG_REGISTRY": refused(), "PIP_INDEX_URL": refused(), "PIP_CONFIG_FILE": os.devnull,
    }  # fmt: skip
    if what == "packages":
        require_pages(DENO)
        (checkout / ".venv/web/bin").mkdir(parents=True)
        (checkout / ".venv/web/bin/deno").symlink_to(DENO)
    command = [sys.executable, ".ci/web.py", "build"]
    ran = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=60)
    said = (
        f"The pages are not built, and the API works without them: cannot install {'the ' * (what == 'packages')}{what}"
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    *waiting, line = ran.stderr.splitlines()
    assert line.startswith(said)
    assert all(each.startswith("Pages: ") for each in waiting)
    assert not Path(checkout / "directory/web/dist").exists()


def test_a_package_that_is_not_the_tested_one_is_refused(checkout):
    require_pages(DENO)
    lock = checkout / "directory/web/deno.lock"
    before, name, after = lock.read_text().partition('"preact@11.2.0": {')
    lock.write_text(before + name + after.replace('"integrity": "sha512-', '"integrity": "sha512-AAAA', 1))
    (checkout / ".venv/web/bin").mkdir(parents=True)
    (checkout / ".venv/web/bin/deno").symlink_to(DENO)
    command = [sys.executable, ".ci/web.py", "build"]
    environment = {**os.environ, "DENO_DIR": str(checkout / "cache")}
    ran = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "checksum did not match" in ran.stderr
    assert not (checkout / "directory/web/dist").exists()


def test_make_run_goes_on_without_the_pages():
    makefile = (ROOT / "Makefile").read_text()
    assert "wait $$pages || true; exec $(BIN)/python serve.py" in makefile


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_make_run_builds_the_pages_where_they_are_served(tmp_path, enabled):
    calls = tmp_path / "calls"
    program = tmp_path / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$*" >>{calls}\n')
    program.chmod(0o755)
    for name in ("Makefile", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".ci").mkdir()
    shutil.copy(PROGRESS, tmp_path / ".ci")
    (tmp_path / ".venv" / ".run").touch()
    environment = {"PATH": os.environ["PATH"], "WEB_ENABLED": enabled}
    ran = subprocess.run(["make", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "Compiling\n")
    said = [line for line in calls.read_text().splitlines() if ".py" in line and "compileall" not in line]
    assert said == [*[".ci/web.py build"] * (enabled == "true"), "serve.py"]
