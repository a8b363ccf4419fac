"""Redis with a replica and three Sentinels of a test's own, which promote the replica when the master fails."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import redis

from tests.support import servers
from tests.support.processes import Folder, Server, free_port
from tests.support.waiting import until

NAME = "directory"
# By default a master is taken for gone after 30 s, and a failover may take three minutes.
CONFIGURATION = """
port {port}
bind 127.0.0.1
sentinel monitor {name} 127.0.0.1 {master} 2
sentinel down-after-milliseconds {name} 4000
sentinel failover-timeout {name} 5000
"""


class Watched:
    """A master with its replica, and their Sentinels. `url` is that of all Sentinels."""

    def __init__(self, master: Server, replica: Server, sentinels: list[Server]) -> None:
        self.master, self.replica, self.sentinels = master, replica, sentinels
        hosts = ",".join(_address(one) for one in sentinels)
        self.url = f"redis+sentinel://{hosts}/{NAME}"

    def wait_for_replica(self) -> None:
        """Return once the replica has what the master has."""
        with redis.Redis.from_url(self.master.url) as client:
            assert client.wait(1, 10_000) == 1

    def wait_for_failover(self) -> None:
        """Return once the replica takes writes. AssertionError where it does not within 30 s."""
        until(lambda: _role(self.replica) == "master", 30)


@contextmanager
def watched() -> Iterator[Watched]:
    """All of them, once each Sentinel knows the replica and the others. Raises ServerMissing, ServerFailed."""
    with ExitStack() as stack:
        master, replica = (stack.enter_context(_own_redis()) for _ in range(2))
        with redis.Redis.from_url(replica.url) as client:
            client.replicaof(*_address(master).split(":"))
            until(lambda: client.info("replication")["master_link_status"] == "up", 30)
        found = Watched(master, replica, [stack.enter_context(_sentinel(master)) for _ in range(3)])
        for one in found.sentinels:
            with redis.Redis.from_url(one.url) as client:
                until(lambda client=client: _sees_all(client.sentinel_master(NAME)), 30)
        yield found


def _role(server: Server) -> str:
    """Its role in the replication; nothing where it closes connections, as it does when the role changes."""
    with suppress(redis.ConnectionError), redis.Redis.from_url(server.url) as client:
        return str(client.info("replication")["role"])
    return ""


def _sees_all(state: dict[str, object]) -> bool:
    return (state["num-slaves"], state["num-other-sentinels"]) == (1, 2)


def _own_redis() -> Server:
    server = servers.redis()
    assert isinstance(server, Server)
    return server


def _sentinel(master: Server) -> Server:
    port, folder = free_port(), Folder("sentinel")
    configuration = folder.path / "sentinel.conf"
    configuration.write_text(CONFIGURATION.format(port=port, name=NAME, master=_address(master).rpartition(":")[2]))
    command = [servers.redis_program(), configuration, "--sentinel"]
    return servers.started(Server(f"redis://127.0.0.1:{port}", command, folder, lambda: servers.ping(port)))


def _address(server: Server) -> str:
    """Host and port of a server."""
    return server.url.removeprefix("redis://").removesuffix("/0")
