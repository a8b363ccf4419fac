"""The database is migrated while the service works on it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.support.serving import ROOT
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody
from tests.system.chaos.load import Load, expect_good, slowest, statuses
from tests.system.chaos.stage import Stage, stage

# As the next version might expand: a table, a column with a default, an index. This version knows nothing of them.
NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9999", "{head}"


def upgrade():
    op.create_table("flags", sa.Column("id", sa.Integer, primary_key=True), sa.Column("note", sa.String(100)))
    op.add_column("projects", sa.Column("flagged", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("ix_projects_flagged", "projects", ["flagged"])


def downgrade():
    op.drop_index("ix_projects_flagged", "projects")
    op.drop_column("projects", "flagged")
    op.drop_table("flags")
"""


def next_version(at: Stage) -> Path:
    """A copy of the migrations with one more."""
    folder = at.folder / "migrations"
    shutil.copytree(ROOT / "migrations", folder)
    head = sorted(path.name[:4] for path in (folder / "versions").glob("0*.py"))[-1]
    (folder / "versions" / "9999_next.py").write_text(NEXT.format(head=head))
    return folder


def flask(at: Stage, *arguments: str, root: Path = ROOT) -> None:
    """Run a command of the service's on the stage's database, with the code in `root`. AssertionError if it fails."""
    command = [sys.executable, "-m", "flask", "--app", "wsgi", *arguments]
    run = subprocess.run(command, cwd=root, env={**os.environ, **at.settings}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


@scenario(
    "The database is migrated under load, up and down, and from the first tables to the last with data in it",
    "0 failed requests, /readyz 200 while it is ahead; nothing lost on the way down and up",
    short={"rounds": 1},
    long={"rounds": 3},
)
def migrated(rounds: int) -> Outcome:
    seen = []
    for kind in ("sqlite", "postgresql"):
        with stage(kind) as at:
            folder = str(next_version(at))
            with Load(everybody(at)) as load:
                for _ in range(rounds):
                    flask(at, "db", "upgrade", "-d", folder)
                    assert at.ask("GET", "/readyz").status == 200
                    time.sleep(0.5)
                    flask(at, "db", "downgrade", "-d", folder)
            expect_good(load.answers)
            at.stop()
            for step in (("downgrade", "0001"), ("upgrade",)):
                flask(at, "db", *step)
            flask(at, "recount", "--check")
            at.settle()
            seen.append(f"{kind}: {statuses(load.answers)}, slowest {slowest(load.answers):.1f} s")
    return Outcome(f"{rounds} x up and down on each database, then to 0001 and back", "; ".join(seen))
