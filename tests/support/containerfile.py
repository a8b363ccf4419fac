"""The Containerfile's steps in a folder, where no container can be: /app and /data are folders within that one."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WITHIN = 280  # seconds for each step
# Folders of the image that the steps name, which here lie in another.
OWN_PATHS = re.compile(r"(?<![\w./-])/(?=(?:app|build|data)\b)")


def instructions() -> list[tuple[str, str]]:
    """Each step of the Containerfile: its first word, and the rest as one line."""
    text = (ROOT / "Containerfile").read_text()
    steps = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ").splitlines()
    return [
        (word, re.sub(r" +", " ", rest).strip()) for word, _, rest in (step.partition(" ") for step in steps) if word
    ]


def configuration() -> dict[str, Any]:
    """What the image says of itself, as buildah has it: user, entry point, command, environment and health check."""
    last = dict(instructions())
    kind, _, check = re.sub(r"--\S+ ", "", last["HEALTHCHECK"]).partition(" ")
    return {
        "User": last["USER"],
        "Env": last["ENV"].split(),
        "Entrypoint": json.loads(last["ENTRYPOINT"]),
        "Cmd": json.loads(last["CMD"]),
        "Healthcheck": {"Test": [kind, *json.loads(check)]},
    }


class FolderContainer:
    """What the steps make, run by the tests' own user with the tests' version of Python."""

    user = os.geteuid()

    def __init__(self, folder: Path) -> None:
        self.root, self._here, self._configuration = folder, folder, configuration()
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True, timeout=WITHIN)
        for instruction, rest in instructions():
            self._step(instruction, rest)
        shutil.rmtree(folder / "build")

    def run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command, given = self._within(command), self._environment(environment)
        return subprocess.run(command, cwd=self._here, env=given, capture_output=True, text=True, timeout=WITHIN)

    def start(self, command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program whose output goes to the log."""
        command, given = self._within(command), self._environment(environment)
        with log.open("wb") as output:
            return subprocess.Popen(command, cwd=self._here, env=given, stdout=output, stderr=output)

    def configuration(self) -> dict[str, Any]:
        """As that of an image."""
        return self._configuration

    def _step(self, instruction: str, rest: str) -> None:
        match instruction:
            case "FROM":
                self._here = self.root
            case "WORKDIR":
                self._here = Path(self._placed(rest))
                self._here.mkdir(exist_ok=True)
            case "COPY":
                self._copy(rest.split())
            case "RUN":
                command = json.loads(rest) if rest.startswith("[") else ["sh", "-euc", rest]
                given = {**os.environ, **self._environment({})}
                ran = subprocess.run(
                    self._within(command), cwd=self._here, env=given, capture_output=True, text=True, timeout=WITHIN
                )
                assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
            case _:
                # These are in the configuration, or about the base and the network, which are the machine's own here.
                assert instruction in {"ARG", "CMD", "ENTRYPOINT", "ENV", "EXPOSE", "HEALTHCHECK", "USER"}, instruction

    def _copy(self, words: list[str]) -> None:
        source, target = words[-2:]
        if "--from=build" in words:  # both stages have the same folders
            assert source == target
        elif source == ".":
            _copy_context(self._here)
        else:
            shutil.copy2(ROOT / source, self._here)

    def _environment(self, given: dict[str, str]) -> dict[str, str]:
        path = f"{self.root}/python/bin:{os.defpath}"
        own = dict(word.split("=", 1) for word in self._configuration["Env"])
        return {"PATH": path, **{name: self._placed(value) for name, value in own.items()}, **given}

    def _within(self, command: list[str]) -> list[str]:
        """The command with the folders where they are here, and its program as Popen finds it."""
        program, *rest = [self._placed(word) for word in command]
        return [f"{self.root}/python/bin/{program}" if program == "python3" else program, *rest]

    def _placed(self, text: str) -> str:
        return OWN_PATHS.sub(f"{self.root}/", text)


def _copy_context(target: Path) -> None:
    """What .dockerignore lets into a build: it refuses everything, names what is allowed, then parts to leave out."""
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] not in {"", "#"}]
    assert lines[0] == "*"
    wanted = [path for line in lines if line[0] == "!" for path in ROOT.glob(line[1:])]
    refused = [line.removeprefix("**/") for line in lines[1:] if line[0] != "!"]

    def left_out(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(ROOT)
        return [
            name
            for name in names
            for pattern in refused
            if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(str(inside / name), pattern)
        ]

    for path in wanted:
        if path.is_dir():
            shutil.copytree(path, target / path.name, ignore=left_out)
        else:
            shutil.copy2(path, target)
