"""PgBouncer in transaction mode between the tests' applications and their PostgreSQL, and what it needs there.

`TEST_POOLER=pgbouncer make test` has each application reach its database through one, which starts when a test first
needs it; `pgbouncer(url)` starts one of a test's own.
"""

import os
import shutil
from pathlib import Path

import psycopg
from psycopg.pq import ExecStatus
from sqlalchemy.engine import make_url

from directory.db.pooler import role_settings
from tests.support import servers
from tests.support.processes import Folder, Server, ServerMissing, free_port

VARIABLE, URL = "TEST_POOLER", "TEST_POOLER_URL"  # the kind that a run asks for, and its address
# As docs/operations.md shows it, with the addresses of here and without passwords.
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 60
server_login_retry = 1
query_wait_timeout = 5
"""


def pgbouncer(url: str, **settings: object) -> Server:
    """A PgBouncer of its own before the server of this URL, with more settings. Raises ServerMissing, ServerFailed."""
    program, port = _program(), free_port()
    folder = Folder("pgbouncer", unprivileged=True)
    configuration = folder.path / "pgbouncer.ini"
    more = "".join(f"{name} = {value}\n" for name, value in settings.items())  # of two values the last one counts
    configuration.write_text(CONFIGURATION.format(server=make_url(url).port, port=port) + more)
    configuration.chmod(0o644)
    address = make_url(url).set(port=port).render_as_string(hide_password=False)
    return servers.started(Server(address, [program, configuration], folder, lambda: servers.log_in(address)))


def through_pooler(url: str) -> str:
    """The address of a database by the way of the run, through a pooler if it asks for one. Raises ServerMissing."""
    if not os.environ.get(VARIABLE):
        return url
    if not os.environ.get(URL):
        servers.share(URL, pgbouncer(servers.url_of(servers.DATABASE)))
    provide_settings(url)
    return make_url(url).set(port=make_url(os.environ[URL]).port).render_as_string(hide_password=False)


def provide_settings(url: str) -> None:
    """Have each session of the tests' role in this database begin with our settings. `url` leads to the server."""
    with servers.connect(url) as connection:
        connection.execute(role_settings("postgres", f'"{make_url(url).database}"').encode())


def reconnect(server: Server) -> None:
    """Have a PgBouncer open new connections to its server."""
    url = make_url(server.url).set(drivername="postgresql", database="pgbouncer")
    with psycopg.connect(url.render_as_string(), autocommit=True, prepare_threshold=None) as console:
        said = console.pgconn.exec_(b"RECONNECT")
        assert said.status == ExecStatus.COMMAND_OK, said.error_message


def _program() -> Path:
    """Debian's PgBouncer, or the one on PATH. Raises ServerMissing."""
    if found := shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return Path(found)
    raise ServerMissing("no PgBouncer here: install Debian's pgbouncer, as `make servers` does")
