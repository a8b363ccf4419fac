"""Build and check the pages of directory/web: python .ci/web.py build|tools|check|lighthouse|run ARGUMENTS...

`build` installs what the build needs, bundles, and warns of a bundle over its budget (directory/web/budgets.json). 1 KB
above it the build fails. With `--weights` it prints the weight of every bundle. `tools` installs what checks the pages,
and `check` checks their sources: types, what is made of the OpenAPI document and of the table of events, no hooks, no
long files. `schema` makes that again, `lighthouse` installs what `make lighthouse` runs, and `run` runs Deno itself,
for all of it: the one on PATH, or the wheel of PyPI, which goes into .venv/web. The lock files refuse a package other
than the tested one. What takes long prints every few seconds how far it is. A failure is one line: the API works
without its pages.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from progress import Shown

ROOT = Path(__file__).resolve().parents[1]
WEB, TOOLS, LIGHTHOUSE = ROOT / "directory" / "web", ROOT / "tests" / "web", ROOT / "bench" / "lighthouse"
OWN = ROOT / ".venv" / "web"
DENO = "deno==2.9.8"
OLDEST = (2, 5)
WITHIN = float(os.environ.get("WEB_BUILD_SECONDS", "60"))  # for each step; an index that does not answer ends it
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore")
SHORT = ("--timeout", "5", "--retries", "1")
LONGEST_FILE = 250  # lines
API = WEB / "src" / "api"
MADE = ("schema.d.ts", "events.ts")  # files of API
HOOKS = re.compile(r"""preact/(hooks|compat)["']|\buse[A-Z]\w*\(""")
# A property or a value that names a side, or four values of which two are those of the sides and differ.
SIDE = re.compile(
    r"(?<![\w-])(?:(?:margin|padding|border)-(?:left|right)\b|(?:left|right):|(?:text-align|float): (?:left|right)\b"
    r"|border-(?:top|bottom)-(?:left|right)|(?:margin|padding|inset): [^\s;]+ ([^\s;]+) [^\s;]+ (?!\1;)[^\s;]+;)"
)
DONE = {
    "build": "built, and the API works without them",
    "tools": "tested",
    "check": "checked",
    "schema": "typed",
    "lighthouse": "audited",
    "run": "run",
}
SHOWN = Shown("Pages", moves=False)
ENVIRONMENT = {"DENO_NO_UPDATE_CHECK": "1", "DENO_TLS_CA_STORE": "mozilla,system", "NO_COLOR": "1"}


ERROR_IN_FILE = re.compile(r"^\S+:\d+:\d+: error: ")  # how build.mjs prints an error of esbuild
MOST_ERRORS = 10  # a missing brace can cause hundreds


class CannotBuild(Exception):
    """A step that failed, with the lines of its output that explain why."""


def deno() -> str:
    """The program, installed if need be. Raises CannotBuild."""
    found = shutil.which("deno")
    if found and _version(found) >= OLDEST:
        return found
    own = OWN / "bin" / "deno"
    if not own.exists():
        install = ("uv", "pip", "install", "--quiet") if shutil.which("uv") else (*PIP, *SHORT)
        step("install Deno", [*install, "--no-deps", "--no-compile", "--target", str(OWN), DENO])
    return str(own)


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True)  # noqa: S603 (found on PATH)
    numbers = said.stdout.removeprefix("deno ").split(" ")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def step(what: str, command: list[str], folder: Path = ROOT) -> list[str]:
    """Run a command in silence, and return the lines that it printed. Raises CannotBuild."""
    SHOWN.step = what
    environment = {**os.environ, **ENVIRONMENT}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    try:
        ran = subprocess.run(command, cwd=folder, env=environment, timeout=WITHIN, **output)  # noqa: S603 (our own)
    except subprocess.TimeoutExpired:
        raise CannotBuild(f"cannot {what}: no end within {WITHIN:g} seconds") from None
    except OSError as error:
        raise CannotBuild(f"cannot {what}: {error.strerror}") from None
    lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
    if ran.returncode:
        raise CannotBuild(f"cannot {what}:{_reason(lines)}")
    return lines


def _reason(lines: list[str]) -> str:
    """Return every error that names its place in a file, up to MOST_ERRORS, else the one line that explains most."""
    located = [line for line in lines if ERROR_IN_FILE.match(line)][:MOST_ERRORS]
    return "\n  ".join(["", *located]) if located else " " + min(lines, key=_rank, default="it failed")


def _rank(line: str) -> int:
    """Rank a line of output by how well it explains a failure: the lowest explains most."""
    words = ("checksum", "error")
    return next((place for place, word in enumerate(words) if word in line.lower()), len(words))


def build(weights: bool = False) -> None:
    """Bundle the pages into directory/web/dist, print warnings, and with `weights` every budget. Raises CannotBuild."""
    program = deno()
    step("install the packages of the pages", [program, "install", "--frozen"], WEB)
    for line in step("bundle the pages", [program, "run", "-A", "build.mjs"], WEB):
        if weights or line.startswith("warning:"):
            sys.stdout.write(f"{line}\n")


def tools() -> None:
    """Install what checks the pages into tests/web/node_modules. Raises CannotBuild."""
    step("install the tools for the pages", [deno(), "install", "--frozen"], TOOLS)


def lighthouse() -> None:
    """Install Lighthouse into bench/lighthouse/node_modules. Raises CannotBuild."""
    step("install Lighthouse", [deno(), "install", "--frozen"], LIGHTHOUSE)


def schema(folder: Path) -> None:
    """Write the types of the OpenAPI document, and what the console says of the events. Raises CannotBuild."""
    types, words = (str(folder / name) for name in MADE)
    program = "node_modules/openapi-typescript/bin/cli.js"
    step("make the types", [deno(), "run", "-A", program, str(ROOT / "docs" / "openapi.json"), "-o", types], TOOLS)
    step("write the events", [sys.executable, ".ci/console_events.py", words])


def check() -> list[str]:
    """What is wrong with the sources of the pages. Raises CannotBuild."""
    tools()
    wrong = [each for path in sorted((WEB / "src").rglob("*.*")) if path.name not in MADE for each in faults(path)]
    with tempfile.TemporaryDirectory() as folder:
        schema(Path(folder))
        for name in MADE:
            if (Path(folder) / name).read_bytes() != (API / name).read_bytes():
                wrong.append(f"{(API / name).relative_to(ROOT)} is stale: run python .ci/web.py schema")
    SHOWN.step = "check the types"
    types = [deno(), "run", "-A", "node_modules/typescript/bin/tsc", "-p", str(WEB / "tsconfig.json")]
    ran = subprocess.run(types, cwd=TOOLS, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return wrong + ran.stdout.splitlines()


def faults(path: Path) -> list[str]:
    """What is wrong with one file.

    It is too long, it uses hooks, with which fast keys and typing get lost, or a style names a side, which is the other
    one where people write from right to left.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    shown = path.relative_to(ROOT)
    found = [
        f"{shown}:{number}: no hooks: {line.strip()}" for number, line in enumerate(lines, 1) if HOOKS.search(line)
    ]
    if path.suffix == ".css" and not path.name.startswith("console"):  # the console is in English alone
        sides = [number for number, line in enumerate(lines, 1) if SIDE.search(line)]
        found += [f"{shown}:{number}: no left and right, but start and end (inline)" for number in sides]
    return [*found, *([f"{shown}: {len(lines)} lines"] if len(lines) > LONGEST_FILE else [])]


def main(action: str, *arguments: str) -> int:
    """Do it; the exit status."""
    try:
        if action == "run":
            return subprocess.call([deno(), "run", "-A", *arguments], env={**os.environ, **ENVIRONMENT})  # noqa: S603
        actions = {
            "build": lambda: build("--weights" in arguments),
            "tools": tools,
            "check": check,
            "lighthouse": lighthouse,
            "schema": lambda: (tools(), schema(API)),
        }
        with SHOWN:
            found = actions[action]()
    except CannotBuild as error:
        sys.stderr.write(f"The pages are not {DONE[action]}: {error}\n")
        return int(action != "check" or bool(os.environ.get("CI")))
    wrong = found if action == "check" else []
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
