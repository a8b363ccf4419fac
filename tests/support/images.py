"""Images of the service for tests: built by buildah over a base of Debian's packages, and run in a chroot."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psutil

from tests.support.servers import debian_program

ROOT = Path(__file__).resolve().parents[2]
BASE, IMAGE = "localhost/base", "localhost/project-directory"
# What a build needs of its base. The packages are unpacked and not set up, which takes a sixth of the time.
PACKAGES = "python3-pip,libstdc++6,dash,coreutils"
WITHIN = 280  # seconds for each step


class NotPermitted(Exception):
    """This machine has the programs and cannot build images all the same; the message says why."""


def require_buildah() -> None:
    """Raises ServerMissing where a program is missing, NotPermitted where the user is not root."""
    for program in ("buildah", "mmdebstrap"):
        debian_program(program, program)
    if os.geteuid():
        raise NotPermitted("buildah can be run here by root alone")


class Buildah:
    """A store of images of its own, in a folder on disk that `remove` takes away."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="directory-image-", dir="/var/tmp"))
        where = ("--root", str(self.folder / "root"), "--runroot", str(self.folder / "run"))
        self._program = ("buildah", *where, "--storage-driver", "vfs")

    def __call__(self, *arguments: str) -> str:
        """What a command prints; it must end well."""
        command = self.command(*arguments)
        return _require(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN))

    def command(self, *arguments: str) -> list[str]:
        """The words of a command, to be run elsewhere."""
        return ["/usr/bin/env", f"TMPDIR={self.folder}", *self._program, *arguments]

    def make_base(self) -> None:
        """The image BASE: Debian's Python 3.11 and what it needs. Raises NotPermitted where that cannot be made or run.

        Nothing of ours is in it yet, so what fails here is the machine's doing: a container without privileges forbids
        what a container is made by, or Debian's packages cannot be had.
        """
        tar = self.folder / "base.tar"
        debian = [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=extract",
            "--skip=output/dev",
            f"--include={PACKAGES}",
        ]
        try:
            _require(
                subprocess.run(
                    [*debian, "--skip=output/dev", "bookworm", str(tar)], capture_output=True, text=True, timeout=WITHIN
                )
            )
            container = self("from", "scratch")
            self("add", container, str(tar), "/")
            self("run", "--isolation", "chroot", "--user", "10001:10001", container, "--", "python3", "-c", "pass")
            self("commit", "--quiet", "--rm", container, BASE)
        except (AssertionError, subprocess.TimeoutExpired) as failed:
            raise NotPermitted(f"no base of an image can be made here (…{str(failed).strip()[-150:]})") from failed
        tar.unlink()

    def build(self) -> None:
        """The image IMAGE, of the Containerfile over BASE."""
        # Certificates of the machine: its own authority may stand before the package indexes.
        certificates = "/etc/ssl/certs:/etc/ssl/certs:ro"
        options = ("--isolation", "chroot", "--format", "docker", "--layers=false", "--pull-never", "--quiet")
        self("bud", *options, "--volume", certificates, "--build-arg", f"BASE={BASE}", "--tag", IMAGE, ".")

    def configuration(self) -> dict[str, Any]:
        """What the image says of itself: its user, entry point, environment and health check."""
        found: dict[str, Any] = json.loads(self("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        return found

    def remove(self) -> None:
        """Remove all containers and images."""
        subprocess.run(self.command("rm", "--all"), capture_output=True, timeout=WITHIN)
        shutil.rmtree(self.folder, ignore_errors=True)


def _require(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
    return ran.stdout.strip()


class ImageContainer:
    """A container of the image, without a shell: programs run in it as the image's user."""

    def __init__(self, buildah: Buildah) -> None:
        self._buildah, self._configuration = buildah, buildah.configuration()
        self.user = int(self._configuration["User"].partition(":")[0])
        self._name = buildah("from", "--pull-never", IMAGE)
        self.root = Path(buildah("mount", self._name))
        for shell in ("bash", "dash", "sh"):
            (self.root / "bin" / shell).unlink(missing_ok=True)

    def run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(self._command(command, environment), capture_output=True, text=True, timeout=WITHIN)

    def start(self, command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program whose output goes to the log."""
        with log.open("wb") as output:
            return subprocess.Popen(self._command(command, environment), stdout=output, stderr=output)

    def configuration(self) -> dict[str, Any]:
        """The image's."""
        return self._configuration

    def _command(self, command: list[str], environment: dict[str, str]) -> list[str]:
        given = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
        return self._buildah.command("run", "--isolation", "chroot", *given, self._name, "--", *command)


def main_process(runner: subprocess.Popen[bytes], user: int) -> psutil.Process:
    """The container's first program, started by buildah or by the test. Raises StopIteration while there is none."""
    first = psutil.Process(runner.pid)
    family = [first, *first.children(recursive=True)]
    own = (process for process in family if process.uids().real == user)
    return next(process for process in own if not (process.cmdline() or ["buildah"])[0].startswith("buildah"))
