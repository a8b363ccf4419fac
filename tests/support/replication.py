"""Two PostgreSQL servers of a test's own: a primary, and a standby that follows it by streaming replication."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import make_url

from tests.support import servers
from tests.support.chaosproxy import ChaosProxy
from tests.support.processes import Folder, Server, free_port
from tests.support.waiting import until

SETTINGS = {"synchronous_commit": "on"}  # a crash loses nothing, as with PostgreSQL's defaults


class Pair:
    """A primary and its standby, whose ports stay the same over failovers. `url` names both of them."""

    def __init__(self, primary: Server, *, synchronous: bool) -> None:
        self.primary, self._synchronous = primary, synchronous
        self._ports = [_port(primary), free_port()]
        hosts = "&".join(f"host=127.0.0.1:{port}" for port in self._ports)
        self.url = f"postgresql+psycopg://postgres@/postgres?{hosts}&target_session_attrs=read-write"
        self.standby: Server | None = None
        self.link: ChaosProxy | None = None  # what the standby hears of the primary

    def follow(self) -> None:
        """Make the standby from a copy of the primary, in place of one that is there, and wait until it follows."""
        self._close_standby()
        self.link = ChaosProxy(_port(self.primary))
        folder = Folder("standby", unprivileged=True)
        try:
            programs = servers.postgres_programs(folder)
            source = ("-h", "127.0.0.1", "-p", self.link.port, "-U", "postgres")
            folder.run(
                programs / "pg_basebackup", *source, "-D", folder.path / "data", "-R", "-X", "stream", "-c", "fast"
            )
            port = next(port for port in self._ports if port != _port(self.primary))
            self.standby = servers.started(servers.postgres_server(programs, folder, SETTINGS, port))
        except BaseException:
            folder.remove()
            raise
        _require_standby(self.primary, "*" if self._synchronous else "")
        state = "sync" if self._synchronous else "async"
        with servers.connect(self.primary.url) as connection:
            query = "SELECT state || ' ' || sync_state FROM pg_stat_replication"
            until(lambda: connection.execute(query).fetchall() == [(f"streaming {state}",)], 30)

    def wait_for_standby(self) -> None:
        """Return once the standby has received what is committed by now."""
        with servers.connect(self.primary.url) as connection:
            (now,) = connection.execute("SELECT pg_current_wal_lsn()").fetchone() or ("",)
            query = "SELECT count(*) FROM pg_stat_replication WHERE write_lsn >= %s"
            until(lambda: connection.execute(query, (now,)).fetchone() == (1,), 30)

    def promote(self) -> None:
        """Have the standby take the primary's place; return when it takes writes. No standby follows it yet."""
        assert self.standby is not None
        _require_standby(self.standby, "")
        with servers.connect(self.standby.url) as connection:
            connection.execute("SELECT pg_promote(true, 30)")
        self.primary, self.standby = self.standby, self.primary

    def close(self) -> None:
        """Stop both and remove their folders."""
        self._close_standby()
        self.primary.kill()
        self.primary.close()

    def _close_standby(self) -> None:
        if self.link is not None:
            self.link.set("refuse")
        if self.standby is not None:
            self.standby.kill()  # it may be a primary that is frozen
            self.standby.close()
            self.standby = None


@contextmanager
def pair(*, synchronous: bool = True) -> Iterator[Pair]:
    """A primary with a standby that follows it. Raises ServerMissing, ServerFailed."""
    primary = servers.postgresql(**SETTINGS)
    assert isinstance(primary, Server)
    made = Pair(primary, synchronous=synchronous)
    try:
        made.follow()
        yield made
    finally:
        made.close()


def _require_standby(server: Server, names: str) -> None:
    """Say which standbys a commit waits for."""
    with servers.connect(server.url) as connection:
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
        connection.execute("SELECT pg_reload_conf()")


def _port(server: Server) -> int:
    return make_url(server.url).port or 0
