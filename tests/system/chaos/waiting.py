"""Some callers are slow, or many send slow requests at once; how long other callers' reads take meanwhile."""

import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support import servers
from tests.support.burst import Ask, burst, tally
from tests.support.factories import PASSWORD
from tests.support.proxy import TLS
from tests.support.site import Site
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.load import told
from tests.system.chaos.paced import reader
from tests.system.chaos.processes import house, serving

PATH = "/api/projects"
UNFINISHED = (
    b"GET /api/projects HTTP/1.1\r\nHost: localhost\r\nX-Slow:",
    b"POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
)


@scenario(
    "50 logins at once while others read",
    "each is judged, within 5 s; 99 of 100 anonymous reads take less than 100 ms",
    short={"logins": 20, "rounds": 1, "within": 5.0},
    long={"logins": 50, "rounds": 20, "within": 0.1},
)
def beside_logins(logins: int, rounds: int, within: float) -> Outcome:
    slowest = 0.0
    with house() as at, reader(serving(at).port, PATH) as reads:
        for turn in range(rounds):
            names = [f"guess-{turn}-{number}" for number in range(logins)]
            asks = [Ask("POST", "/api/auth/login", {"login": name, "password": PASSWORD}) for name in names]
            with reads.beside():
                found = burst(serving(at).port, asks)
            assert tally(found) == {401: logins}, tally(found)
            slowest = max(slowest, *(answer.seconds for answer in found))
    assert slowest < 5, f"{slowest:.1f} s"
    return Outcome(f"{rounds} x {logins} logins", f"all judged within {slowest:.1f} s; {told(reads.waits, within)}")


@scenario(
    "200 callers who send half a request, to nginx as it is shipped",
    "99 of 100 anonymous reads take less than 100 ms",
    short={"callers": 60, "rounds": 1, "seconds": 1.0, "within": 5.0},
    long={"callers": 200, "rounds": 10, "seconds": 5.0, "within": 0.1},
)
def half_requests(callers: int, rounds: int, seconds: float, within: float) -> Outcome:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="directory-chaos-"))
        database = stack.enter_context(servers.postgresql())
        site = stack.enter_context(Site(Path(folder), database.url))
        reads = stack.enter_context(reader(site.nginx.port, PATH, tls=True))
        for _ in range(rounds):  # after ten seconds nginx gives them up
            with half_sent(site.nginx.port, callers), reads.beside():
                time.sleep(seconds)
    return Outcome(f"{rounds} x {callers} callers, half of them in a body", told(reads.waits, within))


@contextmanager
def half_sent(port: int, callers: int) -> Iterator[None]:
    """As many requests that have begun and do not go on."""
    with ExitStack() as stack:
        for number in range(callers):
            tcp = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            begun = stack.enter_context(TLS.wrap_socket(tcp, server_hostname="localhost"))
            begun.sendall(UNFINISHED[number % 2])
        yield
