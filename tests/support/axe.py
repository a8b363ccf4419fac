"""Axe in a real browser. It runs in a world of its own, so that the page's policy stays in force."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from tests.support.web import AXE

# Style sheets are not read again (`preload`): that serves one rule, which is experimental and off.
RUN = "axe.run(document, {resultTypes: ['violations'], preload: false, %s}).then("
RUN += "found => JSON.stringify(found.violations.map("
RUN += "each => [each.id, ...each.nodes.map(node => node.target + ': ' + node.failureSummary)])))"


def inspector(page: Page) -> Callable[..., list[Any]]:
    """Says what axe finds on the page, until another one is loaded: by these rules, or by all."""
    session = page.context.new_cdp_session(page)
    frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})["executionContextId"]
    session.send("Runtime.evaluate", {"expression": AXE.read_text(), "contextId": world})

    def violations(*rules: str) -> list[Any]:
        run = RUN % (f"runOnly: {list(rules)}" if rules else "")
        asked = {"expression": run, "contextId": world, "awaitPromise": True, "returnByValue": True}
        found = session.send("Runtime.evaluate", asked)
        assert "value" in found["result"], found
        return json.loads(found["result"]["value"])

    return violations
