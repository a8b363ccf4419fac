"""What the database reads for the votes of a project."""

import pytest
from flask import Flask
from sqlalchemy import event

from directory.extensions import db
from directory.extras.vote_review import decisions
from tests.db.test_plans import Plans, _reads_no_whole, app, many, migrated, plans  # noqa: F401 (fixtures)
from tests.support.factories import World


def test_the_votes_of_a_project_and_their_summary_scan_no_table(many: Flask, world: World) -> None:  # noqa: F811
    project, admin = world.project(votes=3), world.caller(world.admin())
    for query in ("", "?counted=true", "?counted=false"):
        for plan in plans(many, admin, f"/api/admin/projects/{project}/votes{query}"):
            _reads_no_whole(plan, query)
    assert len(plans(many, admin, f"/api/admin/projects/{project}/votes")) == 3  # the owner, the page, the summary


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_votes_are_discounted_by_one_reading_of_those_that_are(many: Flask, world: World) -> None:  # noqa: F811
    """Not by one for each vote, which would read what the statement itself has inserted until then."""
    project, admin = world.project(votes=3), world.user()
    noted = Plans()
    with many.app_context():
        event.listen(db.engine, "before_cursor_execute", noted.note)
        with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE vote_discounts")  # as long as it is empty
        decisions.decide(project, "discount", by=admin, match=decisions.RULES)
        event.remove(db.engine, "before_cursor_execute", noted.note)
        [plan] = [
            plan
            for plan, (sql, _) in zip(noted.explained(), noted, strict=True)
            if sql.startswith("INSERT INTO vote_d")
        ]
        assert "hashed SubPlan" in plan, plan
        assert "Anti Join" not in plan, plan
        db.session.rollback()
