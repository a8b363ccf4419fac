"""What the database reads for the queue by claims."""

from flask import Flask

from tests.db.test_plans import _reads_no_whole, app, many, migrated, plans  # noqa: F401 (fixtures)
from tests.support.factories import World


def test_the_queue_by_claims_reads_the_claims_and_no_whole_table(many: Flask, world: World) -> None:  # noqa: F811
    root = world.admin()
    claimed = world.project(status="pending")
    world.caller(root).put(f"/api/review/projects/{claimed}/claim")
    for query in ("me", "others", "none"):
        path = f"/api/review/projects?waiting=true&claimed={query}&limit=5"
        for plan in plans(many, world.caller(root), path):
            _reads_no_whole(plan, path)
    [mine] = [plan for plan in plans(many, world.caller(root), "/api/review/summary") if "review_claims" in plan]
    _reads_no_whole(mine, "one's own claims")
