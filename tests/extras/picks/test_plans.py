"""What the database reads for the picks."""

import pytest
from flask import Flask

from tests.db.test_plans import _reads_no_whole, app, many, migrated, plans  # noqa: F401 (fixtures)
from tests.support.factories import Api, World


@pytest.mark.parametrize("query", ["", "&sort=upvotes", "&sort=newest&tag=x", "&q=lamp"])
def test_picks_are_found_by_their_index_in_every_order(many: Flask, world: World, query: str) -> None:  # noqa: F811
    found = plans(many, Api(many), f"/api/projects?picked=true{query}")
    assert "q=" in query or "ix_projects_picked_at_id" in "".join(found)  # few have such a word
    for plan in found:
        _reads_no_whole(plan, query)
