"""Audits of one page: by Lighthouse in a Chromium of its own each, and by axe."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

from bench.lighthouse.site import Page, Site
from tests.support.axe import inspector
from tests.support.chromium import QUIET, chromium_program, text_without_ages
from tests.support.waiting import until

HERE = Path(__file__).parent
SCRIPT = HERE.parent.parent / ".ci" / "web.py"
WIDTHS = (320, 390, 1280)
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
}


class AuditFailed(Exception):
    """Lighthouse has no report; says why."""


class Lighthouse:
    """Lighthouse, which audits one page after the other."""

    def __init__(self) -> None:
        command = [sys.executable, str(SCRIPT), "run", str(HERE / "audit.mjs")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)

    def audit(self, site: Site, page: Page, profile: str, report: Path) -> dict[str, Any]:
        """The report of a page, which is also written to a file. Raises AuditFailed."""
        with chromium() as port:
            order = {
                "port": port,
                "address": f"{site.address}{page.path}",
                "cookie": site.cookies[page.caller],
                "profile": profile,
                "report": str(report),
            }
            print(json.dumps(order), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        failed = json.loads(line).get("error") if line else "it ended"
        if failed:
            raise AuditFailed(f"Lighthouse cannot audit {page.path}: {failed}")
        return json.loads(report.read_text())

    def close(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def chromium() -> Iterator[int]:
    """The port of a fresh Chromium, for as long as the block runs."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = ["--headless=new", "--no-first-run", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([chromium_program(whole=True), *QUIET, *own, "about:blank"], **quiet)
        try:
            port = Path(folder) / "DevToolsActivePort"
            until(lambda: port.exists() and "\n" in port.read_text())
            yield int(port.read_text().splitlines()[0])
        finally:
            process.terminate()
            process.wait()


def violations(browser: Browser, site: Site, page: Page) -> list[str]:
    """The findings of axe on a page, light, dark and in forced colours, on three widths."""
    found = []
    for look, options in LOOKS.items():
        with _opened(browser, site, page, reduced_motion="reduce", **options) as opened:
            inspect = inspector(opened)
            for width in WIDTHS:
                opened.set_viewport_size({"width": width, "height": 800})
                found += [f"{look}, {width} px: {' '.join(each)}" for each in inspect()]
    return found


def difference(browser: Browser, site: Site, page: Page) -> list[str]:
    """The lines of a page that only its text with JavaScript has, or only that without; ages are left out."""
    texts = []
    for enabled in (True, False):
        with _opened(browser, site, page, java_script_enabled=enabled) as opened:
            texts.append(text_without_ages(opened).splitlines())
    return sorted({*texts[0]} ^ {*texts[1]})


@contextmanager
def _opened(browser: Browser, site: Site, page: Page, **options: Any) -> Iterator[Tab]:
    headers = {"Cookie": site.cookies[page.caller]} if site.cookies[page.caller] else {}
    context = browser.new_context(extra_http_headers=headers, **options)
    opened = context.new_page()
    opened.goto(f"{site.address}{page.path}")
    opened.wait_for_load_state("networkidle")
    yield opened
    context.close()
