"""The certified provider of npm, run by Deno: one process for all tests of a session."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.processes import free_port
from tests.support.web import DENO, ROOT, require_pages

SECRET = "a secret of thirty-two characters"
FOLDER = ROOT / "tests" / "web"


@contextmanager
def openid_provider() -> Iterator[str]:
    """Its issuer, for as long as the block runs; skips where it is not installed, as pages do."""
    require_pages(FOLDER / "node_modules" / "oidc-provider" / "package.json")
    port = free_port()
    command = [str(DENO), "run", "-A", "provider.mjs", str(port)]
    with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def settings(issuer: str) -> dict[str, str]:
    """The settings of an application that signs in by it."""
    given = {"name": "company", "label": "Example Inc.", "issuer": issuer}
    return {"OIDC_PROVIDERS": json.dumps([{**given, "client_id": "directory", "client_secret": SECRET}])}
