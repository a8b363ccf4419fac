"""The one way by which the service asks addresses that are not the operator's. `docs/threats.md` says what it refuses.

Each hop is resolved once, all addresses of the answer are checked, and the connection goes to one of them. There
is no pool, no proxy of the environment, no cookie, and no redirect that is not a hop of its own with the same checks.
"""

import io
import math
import socket
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from typing import Any

import requests

from directory.services.delivery.http_session import WireAdapter, WireSession
from directory.services.delivery.schedule import DeliveryPolicy, retry_after
from directory.services.delivery.wire import Wire, until_deadline
from directory.services.text.links import check_url, is_public, parsed

HEAD_BYTES, MOST_BYTES, READ_BYTES = 64 * 1024, 256 * 1024, 16 * 1024
PIECES = 4096  # of a body: as chunks of a byte, the most bytes would keep a core busy
HOPS = 5
PERMANENT, REDIRECTS = {301, 308}, {301, 302, 303, 307, 308}
DEFAULT_PORTS = {"http": 80, "https": 443}

Resolve = Callable[..., list[Any]]


class HostBusy(Exception):
    """A host may not be asked now. It may in so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not before {seconds:.1f} s")
        self.seconds = seconds


class NoAnswer(Exception):
    """No answer at the end of the redirects. The status is that of the last redirect, None without one."""

    status: int | None = None


class NotPublic(NoAnswer):
    """An address that the service does not connect to."""


class Garbled(NoAnswer):
    """An answer that is not HTTP, or leads nowhere."""


class Unreached(NoAnswer):
    """No such name, no connection, no TLS, or nothing in time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer: its address, its headers, and as much of the body as was asked for.

    `moved_to` is where the permanent redirects from the start end, None without any.
    """

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    moved_to: str | None = None


# Takes a host for one request, within so many seconds. What it returns gives the host back, with the seconds for which
# that asked to be left alone.
Turn = Callable[[str, float], Callable[[float], None]]


@dataclass(frozen=True, slots=True)
class Asking:
    """How addresses are asked: in the name of whom, within how many seconds in all, and who has the turn at a host.

    `internal` opens private networks; `resolve` is `socket.getaddrinfo`. After `ends_at`, a time of time.monotonic(),
    nothing more is asked.
    """

    agent: str
    turn: Turn
    internal: bool = False
    seconds: float = 10.0
    resolve: Resolve = socket.getaddrinfo
    ends_at: float = math.inf

    def get(self, url: str, *, reads: bool = False, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to a GET, after at most HOPS redirects. The body is read only on request.

        Waiting for the turn at a host does not count. Raises Unreached, NotPublic, Garbled, HostBusy.
        """
        left, moved_to, is_permanent, last = self.seconds, None, True, None
        try:
            for _ in range(HOPS + 1):
                answer, took = self._hop(url, left, reads, headers or {})
                if answer.status not in REDIRECTS:
                    return replace(answer, url=url, moved_to=moved_to)
                left, last, is_permanent = left - took, answer.status, is_permanent and answer.status in PERMANENT
                target = redirected(url, answer.headers.get("location", ""))
                if target is None:
                    break
                url, moved_to, headers = target, target if is_permanent else moved_to, None
            raise Garbled
        except NoAnswer as error:
            error.status = last
            raise

    def _hop(self, url: str, left: float, reads: bool, headers: Mapping[str, str]) -> tuple[Answer, float]:
        """One request, which has the turn at its host, and the seconds that it took."""
        try:
            check_url(url, internal=self.internal)
        except ValueError:
            raise NotPublic from None
        release, began = self.turn(host_of(url), self.ends_at - time.monotonic()), time.monotonic()
        exchange = _Exchange(str(parsed(url).href), self, reads, {**self._headers(), **headers})
        try:
            return exchange.done(min(left, self.ends_at - began)), time.monotonic() - began
        finally:
            release(exchange.wait)

    def _headers(self) -> dict[str, str]:
        return {
            "User-Agent": self.agent, "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8",
            "Accept-Encoding": "identity", "Range": f"bytes=0-{MOST_BYTES - 1}", "Connection": "close",
        }  # fmt: skip


def host_of(url: str) -> str:
    """The name and the port of an address."""
    read = parsed(url)
    port = read.port or DEFAULT_PORTS[read.protocol.removesuffix(":")]
    return f"{read.hostname}:{port}"


def redirected(base: str, location: str) -> str | None:
    """The address to which a redirect leads, as browsers read it; None if no project could have it as its own."""
    from ada_url import join_url

    try:
        # http.client reads headers as Latin-1; servers send UTF-8.
        target = join_url(base, location.encode("latin-1", "replace").decode("utf-8", "replace")) if location else ""
        return check_url(target, internal=True)
    except ValueError:
        return None


class _Bounded(io.RawIOBase):
    """What a server sends, to so many bytes. More is not read, however it is encoded, and ends the answer."""

    def __init__(self, sent: io.RawIOBase) -> None:
        self._sent, self.left = sent, HEAD_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.left <= 0:
            raise HTTPException("too long")
        number = self._sent.readinto(memoryview(buffer)[: self.left])
        self.left -= number or 0
        return number

    def close(self) -> None:
        self._sent.close()
        super().close()


class _Response(HTTPResponse):
    """An answer whose head, with those of interim answers, and whose body are bounded each. Its cookies are not read.

    The heads of an endless row of 100 (Continue) would keep a core busy, and so would a body that unfolds to nothing.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._bounded = _Bounded(self.fp.detach())
        self.fp = io.BufferedReader(self._bounded)

    def begin(self) -> None:
        super().begin()
        self._bounded.left = MOST_BYTES
        for name in ("Set-Cookie", "Set-Cookie2"):  # the time to read them grows with the square of their length
            del self.headers[name]


class _Adapter(WireAdapter):
    """Connects to the address that was resolved and checked, and to no other one."""

    def __init__(self, wire: Wire, connect: Callable[[str, int, Any], socket.socket]) -> None:
        super().__init__(wire)
        self._connect = connect

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        connect, wire, parent = self._connect, self._wire, pool.ConnectionCls

        class Connection(parent):  # type: ignore[misc,valid-type]
            response_class = _Response

            def _new_conn(self) -> socket.socket:
                return wire.admit(connect(self._dns_host, self.port, self.timeout))

        pool.ConnectionCls = Connection
        return pool


class _Exchange:
    """One request with its answer. It runs in a thread of its own, which a name server may hold for long."""

    def __init__(self, url: str, asking: Asking, reads: bool, headers: Mapping[str, str]) -> None:
        self.wire, self.wait = Wire(), 0.0
        self._url, self._asking, self._reads, self._headers = url, asking, reads, headers
        self._answer: Answer | None = None
        self._error: Exception | None = None

    def done(self, seconds: float) -> Answer:
        """The answer. A body that is slow after a good head is cut off."""
        if seconds > 0:
            until_deadline(self._run, self.wire, "link", DeliveryPolicy(deadline=seconds))
        answer, error = self._answer, self._error  # the thread may go on
        if answer is not None:
            return answer
        if isinstance(error, (NotPublic, Garbled)):
            raise error
        raise Unreached

    def _run(self) -> None:
        try:
            with WireSession(self.wire) as session:
                for scheme in DEFAULT_PORTS:
                    session.mount(f"{scheme}://", _Adapter(self.wire, self._connected))
                request = session.prepare_request(requests.Request("GET", self._url, headers=dict(self._headers)))
                with session.send(request, timeout=60, allow_redirects=False, stream=True) as response:
                    self._read(response)
        except NotPublic as error:
            self._error = error
        except Exception as error:
            self._error = Garbled() if not self.wire.was_cut and _is_garbled(error) else error
        finally:
            self.wire.close()

    def _read(self, response: requests.Response) -> None:
        if self.wire.was_cut:  # http.client reads headers that the cut broke off as if they were whole
            return
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.wait = waiting_time(headers)
        self._answer = Answer(self._url, response.status_code, headers)
        if self._reads and response.status_code not in REDIRECTS:
            for body in _bodies(response, headers.get("content-encoding", "")):
                self._answer = Answer(self._url, response.status_code, headers, body)

    def _connected(self, host: str, port: int, _timeout: Any) -> socket.socket:
        """A connection to the host, all of whose addresses may be connected to."""
        infos = self._asking.resolve(host.strip("[]"), port, type=socket.SOCK_STREAM)
        addresses = [info[4][0] for info in infos]
        if not self._asking.internal and not all(
            is_public(ip_address(address.partition("%")[0])) for address in addresses
        ):
            raise NotPublic
        for family, kind, protocol, _, address in infos:
            if self.wire.was_cut:
                raise TimeoutError
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(self._asking.seconds)
                connection.connect(address)
            except OSError as error:
                connection.close()
                failure = error
            else:
                return connection
        raise failure


def waiting_time(headers: Mapping[str, str]) -> float:
    """The seconds for which a host asks not to be asked: by Retry-After, or because its limit is used up."""
    wait = retry_after(headers.get("retry-after")) or 0.0
    if headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0":
        reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
        if reset.isascii() and reset.isdigit():
            wait = max(wait, int(reset[:12]) - time.time())
    return wait


def _bodies(response: requests.Response, encoding: str) -> Iterator[bytes]:
    """What there is of the body after each of PIECES, to MOST_BYTES also of what unfolds."""
    body = b""
    unfold = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in {"gzip", "deflate"} else None
    for _ in range(PIECES):
        piece = response.raw.read1(READ_BYTES, decode_content=False) if len(body) < MOST_BYTES else b""
        if not piece:
            return
        try:
            body += piece if unfold is None else unfold.decompress(piece, MOST_BYTES - len(body))
        except zlib.error:
            return
        yield body[:MOST_BYTES]


def _is_garbled(error: BaseException | None) -> bool:
    """Whether something answered, that was not HTTP. A connection that closes without an answer is unreachable."""
    while error is not None:
        if isinstance(error, (ConnectionError, TimeoutError)):
            return False
        if isinstance(error, HTTPException):
            return True
        error = error.__cause__ or error.__context__
    return False
