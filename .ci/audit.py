"""Looks what is pinned up among the known vulnerabilities, where there is a service that knows them.

A part of `make check`. Without a network, or where a mirror has packages and no more, it says so and fails nothing.
"""

import re
import subprocess
import sys
from pathlib import Path
from threading import Thread

import requests
from pip._internal.models.index import PyPI

INDEX = re.compile(r"^(?:global|install|:env:)\.index-url='(.*)'$", re.M)
LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
SECONDS = 4.0


def index() -> str:
    """The address of the package index that pip is configured with, or of its own default."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    return (INDEX.findall(listed.stdout) or [PyPI.simple_url])[-1].rstrip("/").removesuffix("/simple")


def why_not(service: str) -> str:
    """Why the service cannot be asked about what is pinned; empty where it can."""
    name, version = re.findall(r"^([\w.-]+)==([\w.]+)", LOCK.read_text(), re.M)[0]
    found = [f"{service} does not answer within {SECONDS:.0f} s"]
    address = f"{service}/pypi/{name}/{version}/json"
    # In a thread, because no timeout of the library bounds the look at the name server or an answer that drips.
    asking = Thread(target=lambda: found.append(_asked(address)), daemon=True)
    asking.start()
    asking.join(SECONDS)
    return found[-1]


def _asked(address: str) -> str:
    try:
        answer = requests.get(address, timeout=SECONDS)
        known = answer.json() if answer.ok else None
    except requests.RequestException as error:
        return f"{address} cannot be read ({type(error).__name__})"
    if isinstance(known, dict) and "vulnerabilities" in known:
        return ""
    return f"{address} does not list them ({answer.status_code})"


def main(service: str | None = None, *arguments: str) -> int:
    """The exit status: not 0 where the service was asked, and something is known or went wrong."""
    if reason := why_not(service or index()):
        sys.stdout.write(f"Known vulnerabilities were not looked up: {reason}.\n")
        return 0
    # Not --strict, by which one release that is missing there would hide what is known of the others.
    audit = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    return subprocess.call([*audit, "-r", str(LOCK), *arguments])  # noqa: S603 (the arguments are the tests')


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
