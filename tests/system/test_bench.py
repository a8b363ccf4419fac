"""The requests of bench/changes.py are answered as it says, and leave a directory as it was."""

from types import SimpleNamespace
from typing import Any

from sqlalchemy import func, select

from bench.changes import CHANGES, answer, prepared
from bench.filling import prepare
from bench.load import WARM_UP
from directory.extensions import db
from directory.models import Project, Report, Session
from tests.conftest import Database
from tests.support.factories import World
from tests.support.variants import ENVIRONMENT


def test_each_request_succeeds_once_and_what_it_leaves_is_deleted(make_app: Any, database: Database) -> None:
    app = make_app(REPORTS="members")
    world = World(app)
    for _ in range(4):
        world.user()
    for _ in range(2):
        world.project()
    environment = {**ENVIRONMENT, "DATABASE_URL": database.url}
    directory: Any = SimpleNamespace(environment=environment, subjects=prepare(database.url, environment))

    def rows() -> list[int | None]:
        with app.app_context():
            return [db.session.scalar(select(func.count()).select_from(each)) for each in (Project, Report, Session)]

    before = rows()
    for name, change in CHANGES.items():
        with prepared(name, directory, seconds=6 / change.rate - WARM_UP) as lines:
            assert [answer(app, line).status_code for line in lines] == [change.status] * 6, name
        assert rows() == before, name
    counted = app.test_cli_runner().invoke(args=["recount", "--check"])
    assert counted.exit_code == 0, counted.output
