"""A scrape of a service that has done something of everything."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families as parse

from tests.support.factories import Api, World
from tests.support.receiver import SECRET


def scrape(make_app: Any) -> dict[str, list[dict[str, str]]]:
    """The labels of each sample, by the names of the metrics."""
    endpoint = {"WEBHOOK_URL": "https://example.org/hook", "WEBHOOK_SECRET": SECRET, "WEBHOOK_WORKER": "false"}
    app = make_app(METRICS_ENABLED="true", **endpoint)
    world = World(app)
    member, project = world.caller(world.user()), world.project()
    world.rule()
    for _ in range(2):
        member.post(f"/api/projects/{project}/upvote")
    member.get("/api/projects")
    found: dict[str, list[dict[str, str]]] = {}
    for family in parse(Api(app).get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found
