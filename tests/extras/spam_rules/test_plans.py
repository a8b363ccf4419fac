"""What the database reads for the facts of a submission."""

import re

from flask import Flask
from sqlalchemy import event

from directory.extensions import db
from directory.extras.spam_rules import facts
from directory.models import Judged, Project, now
from directory.services.drafts import Draft
from tests.db.test_plans import Plans, app, many, migrated  # noqa: F401 (fixtures)
from tests.support.factories import World


def test_judging_reads_of_the_log_the_entries_of_projects_and_once_those_of_the_hour(
    many: Flask,  # noqa: F811
    world: World,
) -> None:
    """The entries of the hour are counted to 1,000; those of a project are found by the project."""
    ada, noted = world.user(), Plans()
    project = world.project(ada, "pending")
    with many.app_context():
        draft = Draft(Judged.EDIT, db.session.get_one(Project, project), now())
        event.listen(db.engine, "before_cursor_execute", noted.note)
        facts.of_project(draft)  # asks for the median, too
        noted.clear()
        facts.of_project(draft)
        event.remove(db.engine, "before_cursor_execute", noted.note)
        [plan] = noted.explained()
        number = 2 if db.engine.name == "postgresql" else 1  # on PostgreSQL there is the generic plan, too
    used = re.findall(r"ix_audit_entries_(\w+)", plan)
    by_hour = [each for each in used if each != "project_id_id"]
    assert len(by_hour) == number, plan
    assert not re.search(r"Seq Scan on audit_entries|SCAN audit_entries", plan), plan
