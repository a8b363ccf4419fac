"""A client that is typed by the OpenAPI document compiles strictly, and calls every operation of a real server."""

import json
import subprocess

import pytest

from tests.conftest import ENVIRONMENT
from tests.support.serving import serving
from tests.support.web import DENO, ROOT, require_pages

# The extras whose operations the story calls: without one of them it is another story.
pytestmark = pytest.mark.extra(
    "appeals", "claims", "feed_keys", "fields", "links", "passkeys", "picks", "pictures", "previews", "providers",
    "replies", "reports", "spam_rules", "vote_review",
)  # fmt: skip
TOOLS, PACKAGES = ROOT / "tests" / "web" / "node_modules", ROOT / "directory" / "web" / "node_modules"
STORY = ROOT / "tests" / "web" / "typed.ts"
HOOK = [{
    "url": "http://127.0.0.1:9/hook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "name": "ops",
    "events": ["project.approved", "project.unpublished"],
}]  # fmt: skip
MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.org"}
STRICT = {
    "strict": True, "noUnusedLocals": True, "noUncheckedIndexedAccess": True, "exactOptionalPropertyTypes": True,
    "noEmit": True, "target": "ES2022", "module": "ESNext", "moduleResolution": "Bundler", "skipLibCheck": True,
    "allowImportingTsExtensions": True, "lib": ["ES2022", "DOM", "DOM.Iterable"], "types": [],
}  # fmt: skip


GITHUB = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": "secret"}  # to begin with, it is not asked


def deno(folder, *arguments):
    """What Deno prints when it runs a program."""
    command = [DENO, "run", "-A", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A folder with the story and the types that openapi-typescript makes of the document."""
    program = TOOLS / "openapi-typescript" / "bin" / "cli.js"
    require_pages(DENO, program, PACKAGES / "openapi-fetch")
    folder = tmp_path_factory.mktemp("client")
    (folder / "story.ts").write_text(STORY.read_text())
    (folder / "node_modules").symlink_to(PACKAGES)
    deno(ROOT, program, ROOT / "docs" / "openapi.json", "-o", folder / "schema.d.ts")
    return folder


def test_it_compiles_strictly(client):
    (client / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["story.ts"]}))
    assert deno(client, TOOLS / "typescript" / "bin" / "tsc", "-p", client) == ""


# The rules are tested on both databases elsewhere; here is tested what the document says.
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_it_calls_every_operation_of_a_real_server(client, database, world, tmp_path):
    options = ["--bundle", "--format=esm", "--outfile=story.js", "--log-level=warning"]
    deno(client, PACKAGES / "esbuild" / "bin" / "esbuild", "story.ts", *options)
    users = [world.admin("root"), world.user("ada"), world.user("bob")]
    tokens = [world.caller(user).token for user in users]
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "WEBHOOK_ENDPOINTS": json.dumps(HOOK), **MAIL, **GITHUB}
    settings |= {"REPORTS": "everybody", "APPEALS": "on"}
    with serving(settings, tmp_path / "log") as server:
        called = json.loads(deno(client, "story.js", f"http://127.0.0.1:{server.port}", *tokens))
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    operations = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in {"get", "put", "post", "delete"} and answers_json(operation)
    }
    assert set(called) == operations


def answers_json(operation):
    """Whether an operation answers with JSON, or with nothing, as a typed client takes it."""
    good = next((answer for status, answer in operation["responses"].items() if status.startswith("2")), None)
    return good is not None and (not good.get("content") or "application/json" in good["content"])
