"""Measures what `make run` weighs: python -m bench.weight. Needs wrk.

It copies the files of this checkout into an empty folder, whose packages are this one's, starts `make run` there and
waits for the first answer: the first time the pages are built, the code is compiled, and the demo is planted. The
second start finds all of it. The memory is proportional (PSS), which counts a page that several processes share by
their number, of all processes of `make run`: after each start, and after 10,000 requests of visitors.
"""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import requests as http

from bench.__main__ import ROOT
from bench.load import wait_for, wrk
from tests.support.processes import free_port

REQUESTS = 10_000
SETTLED = 3  # seconds after the first answer, when what starts with the server is done


def main() -> None:
    """Run."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy(place)
        print("| start | s to the first answer | PSS | after 10,000 requests |", "|---|---|---|---|", sep="\n")
        for name in ("first", "second"):
            print(f"| {name} | {' | '.join(start(place))} |", flush=True)


def copy(place: Path) -> None:
    """The files that git knows, and the packages as installed; of the stamps of make, not that all is compiled."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    (place / ".venv").mkdir()
    for installed in (ROOT / ".venv").glob("[!.]*"):
        (place / ".venv" / installed.name).symlink_to(installed.resolve())
    (place / ".venv" / ".run").touch()


def start(place: Path) -> tuple[str, str, str]:
    """The seconds and the mebibytes of one start."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment |= {"PORT": str(port), "RATELIMIT_ENABLED": "false"}
    with (place / "run.log").open("wb") as log:
        process = subprocess.Popen(
            ["make", "run"], cwd=place, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        seconds = wait_for(url, process, patience=600)
        time.sleep(SETTLED)
        before, answered = mebibytes(process.pid), 0
        while answered < REQUESTS:
            answered += wrk(url, visits(url), 1, 4)["requests"]
        return f"{seconds:.1f}", f"{before:.0f} MiB", f"{mebibytes(process.pid):.0f} MiB"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def visits(url: str) -> list[str]:
    """What visitors ask for: lists, and each project, by the API and by the pages."""
    items = http.get(f"{url}/api/projects?limit=100", timeout=30).json()["items"]
    paths = ["/", "/best", "/api/projects", "/api/projects?sort=upvotes", "/api/projects/facets", "/api/tags"]
    for each in items:
        paths += [f"/api/projects/{each['id']}", f"/p/{each['id']}/{each['slug']}", f"/?q={each['slug'].split('-')[0]}"]
    return [f"GET {path} -" for path in paths]


def mebibytes(pid: int) -> float:
    """The proportional memory of a process and of those that it started."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return float(sum(each.memory_full_info().pss for each in processes)) / 2**20


if __name__ == "__main__":
    main()
