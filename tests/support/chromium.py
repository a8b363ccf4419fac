"""A real browser, and an application on a port of its own for it."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.support.processes import ServerMissing
from tests.support.servers import or_skip

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WITHIN = 30_000  # milliseconds for what a page is to do or to show, on a machine that is busy with other tests
LAN = "--host-resolver-rules=MAP *.lan 127.0.0.1"  # names of a local network, which lead to this machine


# The headless shell takes half the CPU time: the others also run the user interface, which is not shown.
SHELL = ("chromium-headless-shell", "chrome-headless-shell")
WHOLE = ("chromium", "chromium-browser", "google-chrome")


def chromium_program(*, whole: bool = False) -> str:
    """Debian's Chromium, or the one on PATH: its headless shell first, or the whole one. Raises ServerMissing."""
    for name in (*WHOLE, *SHELL) if whole else (*SHELL, *WHOLE):
        if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/bin"):
            return found
    raise ServerMissing("no chromium here: install Debian's chromium, as `make servers` does")


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser while the block runs; skips where there is none, and fails there where servers are required."""
    with or_skip():
        program = chromium_program()
    expect.set_options(timeout=WITHIN)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*QUIET, LAN])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser of a module. Two cannot run in one process, nor one and a test with its own event loop."""
    with launched() as browser:
        yield browser


class Handler(WSGIRequestHandler):
    timeout = 5  # seconds for a connection without a request


@contextmanager
def served(app: Any, *, tls: tuple[str, str] | None = None) -> Iterator[str]:
    """The address at which a WSGI application answers for as long as the block runs.

    With `tls`, the files of a certificate and its key, it answers over https.
    """
    server = make_server("127.0.0.1", 0, app, request_handler=Handler, threaded=True, ssl_context=tls)
    # Closing waits for the requests under way: one that goes on would hold the database that the next test resets.
    server.daemon_threads = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def text_without_ages(page: Page) -> str:
    """The text of a page, but for what a script writes in place of dates."""
    page.locator("time").evaluate_all("times => times.forEach(time => { time.textContent = time.dateTime })")
    return page.locator("body").inner_text()
