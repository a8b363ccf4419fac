"""Databases that hold a directory of some size at the beginning of each test: seeded once, then copied."""

import os
from pathlib import Path

from directory.extensions import db
from tests.conftest import Database, build, migrate
from tests.support import servers
from tests.support.caching import close_snapshots


def seed(url: str, projects: int) -> None:
    """Fill a migrated database with projects, a tenth as many users and twice as many votes; gather statistics."""
    app = build(url)
    sizes = ["--projects", str(projects), "--users", str(projects // 10), "--votes", str(2 * projects)]
    assert app.test_cli_runner().invoke(args=["seed", *sizes]).exit_code == 0
    with app.app_context():
        if url.startswith("postgresql"):
            with db.engine.connect() as connection:
                # As autovacuum does in time: until then the words just written wait outside of their index.
                connection.exec_driver_sql("VACUUM ANALYZE")
        db.session.remove()
        db.engine.dispose()
    close_snapshots(app)


class SizedSqlite(Database):
    def __init__(self, folder: Path, projects: int) -> None:
        self.path = folder / "sized.db"
        super().__init__(f"sqlite:///{self.path}")
        migrate(self.url)
        seed(self.url, projects)
        self.content = self.path.read_bytes()

    def reset(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        self.path.write_bytes(self.content)

    def drop(self) -> None:
        """Nothing: pytest removes the folder."""


class SizedPostgresql(Database):
    def __init__(self, projects: int) -> None:
        self.server = servers.url_of(servers.DATABASE)
        self.template, self.name = f"sized_template_{os.getpid()}", f"sized_{os.getpid()}"
        url = servers.create_database(self.server, self.template)
        migrate(url)
        seed(url, projects)
        super().__init__(servers.create_database(self.server, self.name, template=self.template))

    def reset(self) -> None:
        servers.create_database(self.server, self.name, template=self.template)

    def drop(self) -> None:
        for name in (self.name, self.template):
            servers.drop_database(self.server, name)
