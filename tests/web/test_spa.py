"""The code of docs/spa.md works: in a browser, from another origin, as its reader would run it."""

import json
import os
import re
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.chromium import served
from tests.support.factories import PASSWORD
from tests.support.visitor import visitor
from tests.support.web import DENO, ROOT, require_pages

WEB = ROOT / "directory" / "web"
STORY = """
import * as client from "./client.ts";
const told = [];
const refused = (act) => act().catch((error) => [error.code, error.fields, error.wait >= 0]);
told.push(await client.whoAmI());
told.push(await refused(() => client.vote(1, true)));
told.push(await refused(() => client.signIn("ada", "not the password")));
told.push((await client.signIn("ada", PASSWORD)).username);
told.push((await client.whoAmI()).username);
const titles = [];
for await (const project of client.projects({ q: "lamp", sort: "newest" })) titles.push(project.title);
told.push(titles.length, new Set(titles).size);
for (const on of [true, true, false, false]) told.push((await client.vote(1, on)).upvotes);
const edited = await client.edit(1, { tagline: "Changed" });
told.push([edited.tagline, client.draft(edited)]);
await client.withdraw(1);
told.push(await refused(() => client.edit(1, { tagline: "" })));
document.body.textContent = JSON.stringify(told);
"""


def blocks(language):
    """The code of a language on the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / "spa.md").read_text(), re.MULTILINE | re.DOTALL)


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def pages(tmp_path):
    """The pages of another origin: a folder, and the address at which it is served."""
    (tmp_path / "index.html").write_text(
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="app.js"></script>'
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def bundle(folder, api):
    """Bundle what stands on the page with a story that uses all of it."""
    (folder / "client.ts").write_text("\n".join(blocks("ts")))
    (folder / "story.js").write_text(STORY.replace("PASSWORD", json.dumps(PASSWORD)))
    define = f"--define:import.meta.env={json.dumps({'VITE_API': api})}"
    command = [DENO, "run", "-A", WEB / "node_modules/esbuild/bin/esbuild", "story.js", "--bundle", "--format=esm"]
    environment = {**os.environ, "NODE_PATH": str(WEB / "node_modules")}
    options = [define, "--outfile=app.js", "--log-level=warning"]
    ran = subprocess.run([*command, *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_client_of_the_page_does_all_that_it_says_from_another_origin(chromium, make_app, world, pages):
    require_pages(DENO)
    folder, origin = pages
    ada = world.user("ada")
    for number in range(23):
        world.project(owner=ada, title=f"Lamp {number}")
    with served(make_app(CORS_ORIGINS=f"{origin}/")) as site, visitor(chromium, origin, 401, 422) as person:
        bundle(folder, site)
        person.page.goto(f"{origin}/index.html")
        person.page.wait_for_function("document.body?.textContent.startsWith('[')")
        told = json.loads(person.page.locator("body").inner_text())
        assert [url for url in person.elsewhere if not url.startswith(f"{site}/api/")] == []
        person.elsewhere.clear()
    assert told[0] is None
    assert [told[1][0], told[2][0]] == ["unauthenticated", "invalid_credentials"]
    assert told[3:5] == ["ada", "ada"]
    assert told[5:7] == [23, 23]
    assert told[7:11] == [1, 1, 0, 0]
    note = "Number 1 in the review queue"
    assert told[11] == ["A thing that does things", {"tagline": "Changed", "note": note}]
    assert told[12][0] == "validation_failed"
    assert list(told[12][1]) == ["tagline"]


def test_the_types_of_the_page_are_right(tmp_path):
    tool = ROOT / "tests" / "web" / "node_modules" / "typescript" / "bin" / "tsc"
    require_pages(DENO, tool)
    (tmp_path / "client.ts").write_text("\n".join(blocks("ts")).replace("import.meta.env?.VITE_API ?? ", ""))
    (tmp_path / "schema.d.ts").write_text((WEB / "src" / "api" / "schema.d.ts").read_text())
    paths = {"openapi-fetch": [str(WEB / "node_modules" / "openapi-fetch")]}
    options = {
        "strict": True, "noEmit": True, "target": "ES2022", "module": "ESNext", "moduleResolution": "Bundler",
        "skipLibCheck": True, "types": [], "paths": paths,
    }  # fmt: skip
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["client.ts"]}))
    ran = subprocess.run(
        [DENO, "run", "-A", tool, "-p", tmp_path], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_proxy_of_the_page_hands_on_the_api_and_its_pages_open_at_the_same_name():
    require_pages(DENO)
    [config] = blocks("js")
    program = f"{config.replace('export default', 'const config =')} console.log(JSON.stringify(config.server))"
    ran = subprocess.run([DENO, "eval", program], capture_output=True, text=True, timeout=60)
    server = json.loads(ran.stdout)
    assert server["proxy"] == {"/api": {"target": "http://127.0.0.1:8000"}}
    assert server["host"] == "127.0.0.1"
