"""The bars of the sources of the pages: how long a build takes, of how many packages, and how long a file is."""

import re
import subprocess
import sys

from bench.lighthouse.audits import SCRIPT
from bench.lighthouse.bars import Bar

WEB = SCRIPT.parents[1] / "directory" / "web"
PARTS = WEB.parent
GENERATED = WEB / "src" / "api" / "schema.d.ts"
TOLD = re.compile(r"built in (\d+) ms")
PACKAGE = re.compile(r'^    "(@?[^@"]+)@[^"]+": \{$', re.MULTILINE)
TRIES = 3


def measured() -> list[Bar]:
    """Build the pages, and measure. Raises CalledProcessError where the build fails."""
    scripts = [path for path in (WEB / "src").rglob("*.ts*") if path != GENERATED]
    longest, typescript = max([*scripts, *(WEB / "src").rglob("*.css")], key=_lines), sum(map(_lines, scripts))
    pages = sum(map(_lines, [*(PARTS / "templates").glob("*.html"), *(PARTS / "pages").glob("*.py")]))
    return [
        Bar("build in ms", min(_build() for _ in range(TRIES)), 1000, "make web"),
        Bar("packages of the build", packages(), 10, "directory/web/deno.lock"),
        Bar("lines of a source file", _lines(longest), 250, str(longest.relative_to(WEB))),
        Bar("lines of TypeScript", typescript, 5000, "directory/web/src", is_aim=True),
        Bar("lines of TypeScript, templates and page routes", typescript + pages, 6300, "directory", is_aim=True),
    ]


def packages() -> int:
    """How many packages are installed for the build; of esbuild's programs it is one, that of the machine."""
    found = set(PACKAGE.findall((WEB / "deno.lock").read_text()))
    return len({name for name in found if not name.startswith("@esbuild/")}) + 1


def _build() -> int:
    command = [sys.executable, str(SCRIPT), "run", "build.mjs"]
    output = subprocess.run(command, cwd=WEB, check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(TOLD.search(output)[1])


def _lines(path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
