"""A project about which somebody has decided, for tests of appeals."""

from typing import Any

from flask import Flask

from tests.support.factories import Api, World

KINDS = ("rejected", "revision", "unpublished")
NO = {"reason": "It has no licence."}
TEXT = {"text": "The licence is in the file COPYING."}
WORDS = {"upheld": "Nobody can read that file.", "reversed": "We had overlooked it."}


class Case:
    """A project of ada's about which root has decided, and eve may settle the appeal."""

    def __init__(self, app: Flask, kind: str, *, category: str = "tools") -> None:
        self.app, self.world, self.kind = app, World(app), kind
        self.ada, self.decider = self.world.user(), self.world.admin()
        self.world.category(category)
        self.judge = self.world.reviewer(category)
        self.owner, self.root, self.eve = (self.world.caller(each) for each in (self.ada, self.decider, self.judge))
        self.id = self.world.project(self.ada, "pending" if kind == "rejected" else "live", category=category)
        if kind == "revision":
            self.world.revise(self.id, self.ada, title="Another title", category=self.world.category("web"))
        self.before = self.shown()
        decision = "unpublish" if kind == "unpublished" else "reject"
        assert self.root.put(f"/api/admin/projects/{self.id}/{decision}", NO).status_code == 200
        self.decided = self.shown()

    def shown(self) -> Any:
        return self.owner.get(f"/api/projects/{self.id}").json

    def appeal(self, body: Any = TEXT, by: Api | None = None) -> Any:
        return (by or self.owner).post(f"/api/projects/{self.id}/appeal", body)

    def settle(self, outcome: str, by: Api | None = None, **options: Any) -> Any:
        body = {"outcome": outcome, "reason": WORDS[outcome]}
        return (by or self.eve).put(f"/api/review/projects/{self.id}/appeal", body, **options)

    def thread(self) -> list[tuple[str, str, str]]:
        items = self.owner.get(f"/api/projects/{self.id}/messages").json["items"]
        return [(item["from"], item["kind"], item["text"]) for item in items]

    def in_list(self, address: str) -> bool:
        answer = self.eve.get(address).json
        assert answer["pagination"]["total"] == len(answer["items"])
        return self.id in [item["id"] for item in answer["items"]]

    def figures(self) -> Any:
        review = self.root.get("/api/admin/analytics").json["review"]
        return review["waiting_for_owner"], review["queue_length"], *review["appeals"].values()

    def actions(self) -> list[str]:
        items = self.root.get(f"/api/admin/projects/{self.id}/history").json["items"]
        return [item["action"] for item in items if item["action"].startswith("project.appeal")]

    def ends(self) -> list[str]:
        """The entries of the service that an appeal has ended."""
        return [text for sender, kind, text in self.thread() if sender == "service" and kind == "message"]
