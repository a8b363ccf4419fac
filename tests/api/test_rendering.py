"""Descriptions as HTML in answers of the API: where they are made, and what they cost."""

from collections.abc import Callable
from typing import Any

import pytest

from directory.http import endpoint
from directory.services.identity import Caller
from directory.services.text import markdown
from tests.support import cpu
from tests.support.factories import World

LAZY = "a\n>>>>\n" * 1_400
NEW = {"title": "Quotes", "tagline": "Of many levels", "url": "https://quotes.example", "category": "tools"}


def test_no_description_is_rendered_in_the_transaction_of_a_request(
    world: World, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[bool] = []
    running: list[bool] = []
    ran: list[bool] = []
    real, transaction = markdown._rendered, endpoint.transaction

    def noting(text: str) -> tuple[str, int]:
        before = real.cache_info().misses
        found = real(text)
        if real.cache_info().misses > before:
            rendered.append(bool(running))
        return found

    def watched(work: Callable[[], Any]) -> Any:
        running.append(True)
        try:
            return transaction(work)
        finally:
            ran.append(running.pop())

    real.cache_clear()
    monkeypatch.setattr(markdown, "_rendered", noting)
    monkeypatch.setattr(endpoint, "transaction", watched)
    owner = world.caller(ada)
    world.category("tools")
    made = owner.post("/api/projects", {**NEW, "description": "*One*"})
    assert made.json["description_html"] == '<p dir="auto"><em>One</em></p>\n'
    path = f"/api/projects/{made.json['id']}"
    assert (
        owner.put(path, {**NEW, "description": "*Two*"}).json["description_html"] == '<p dir="auto"><em>Two</em></p>\n'
    )
    admin = world.caller(world.admin("root"))
    review = f"/api/admin/projects/{made.json['id']}"
    assert admin.put(f"{review}/approve").json["description_html"] == '<p dir="auto"><em>Two</em></p>\n'
    assert owner.put(path, {"description": "*Three*"}).json["description_html"] == '<p dir="auto"><em>Two</em></p>\n'
    assert admin.put(f"{review}/approve").json["description_html"] == '<p dir="auto"><em>Three</em></p>\n'
    assert admin.put(path, {"description": "*Four*"}).json["description_html"] == '<p dir="auto"><em>Four</em></p>\n'
    assert len(ran) == 6
    assert rendered == [False] * 4


def test_a_costly_description_is_stored_as_it_is_and_costs_little_wherever_it_is_shown(
    world: World, ada: Caller
) -> None:
    owner, admin = world.caller(ada), world.caller(world.admin("root"))
    world.category("tools")
    with cpu.at_most(3):  # some 20 seconds without a limit of steps
        made = owner.post("/api/projects", {**NEW, "description": LAZY})
        assert (made.status_code, made.json["description"]) == (201, LAZY)
        assert made.json["description_html"].startswith('<p dir="auto">a<br>&gt;&gt;&gt;&gt;<br>a<br>')
        [item] = admin.get("/api/admin/projects?waiting=true").json["items"]
        assert item["description_html"] == made.json["description_html"]
        assert owner.post("/api/markdown", {"text": LAZY}).json["html"] == made.json["description_html"]
