"""A new password of the database, as docs/operations.md changes it: both work for a while, then the new one alone."""

import re
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, make_url

from tests.api.test_system import over
from tests.conftest import migrate
from tests.support import servers
from tests.support.factories import World
from tests.support.serving import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()
OLD, NEW = "the-old-password", "the-new-password"

pytestmark = pytest.mark.postgresql


def accepts(url: URL) -> bool:
    try:
        with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)):
            return True
    except psycopg.OperationalError as error:
        if "authentication failed" not in str(error):
            raise
        return False


def test_a_second_role_does_what_the_first_did_until_the_first_has_no_password() -> None:
    section = PAGE.partition("\n### The password of the database\n")[2].partition("\n### ")[0]
    [block] = re.findall(r"```sql\n(.*?)```", section, re.S)
    [last] = re.findall(r"At last `([^`]+)`", section)
    typed = re.sub(r"\\password (\w+)", rf"ALTER ROLE \1 PASSWORD '{NEW}'", block)
    with servers.or_skip():
        server = servers.postgresql()
    with server, servers.connect(server.url) as root:
        root.execute(f"CREATE ROLE directory LOGIN PASSWORD '{OLD}'")
        root.execute("CREATE DATABASE directory OWNER directory")
        rules = Path(root.execute("SHOW hba_file").fetchone()[0])
        rules.write_text(f"host directory +directory all scram-sha-256\n{rules.read_text()}")
        root.execute("SELECT pg_reload_conf()")
        there = make_url(server.url).set(database="directory")
        first, second = (
            there.set(username=name, password=password)
            for name, password in (("directory", OLD), ("directory_next", NEW))
        )
        migrate(first.render_as_string(hide_password=False))
        assert (accepts(first), accepts(first.set(password=NEW))) == (True, False)
        for line in typed.splitlines():
            root.execute(line)
        assert (accepts(first), accepts(second)) == (True, True)
        with over(second.render_as_string(hide_password=False)) as app:
            world = World(app)
            world.vote(project := world.project(votes=2), world.user())
            assert world.stored(project)["upvotes"] == 3
        with psycopg.connect(second.set(drivername="postgresql").render_as_string(hide_password=False)) as made:
            made.execute("CREATE TABLE later (id int)")
            owner = "SELECT tableowner FROM pg_tables WHERE tablename = 'later'"
            assert made.execute(owner).fetchone() == ("directory",), "the next role may alter it as well"
        root.execute(last)
        assert (accepts(first), accepts(second)) == (False, True)
