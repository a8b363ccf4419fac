"""An adversary who wants a request into the service's own network, or its time: no way leads there."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import pytest

from directory.extras.links import transport
from directory.extras.links.looking import seen_at
from directory.extras.links.states import Seen
from directory.extras.links.transport import Answer, Asking, NoAnswer
from directory.models import LinkState
from tests.extras.links.site import Site, asking
from tests.support import cpu

PUBLIC = "93.184.215.14"
V4 = [
    "127.0.0.1", "127.255.255.254", "10.0.0.5", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "192.0.0.8", "192.0.2.1", "198.19.0.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255",
]  # fmt: skip
V6 = [
    "::1", "::", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::FFFF:0A00:0005", "::ffff:0:127.0.0.1",
    "::127.0.0.1", "64:ff9b::10.0.0.5", "64:ff9b:1::a00:5", "2002:a00:5::1", "2001:0:a00:5::1",
    "2001:0:5db8:d70e::f5ff:fffa", "2001:db8::1", "2001:10::1", "3fff::1", "fc00::1", "fd12:3456:789a::1", "fe80::1",
    "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1",
]  # fmt: skip
HOSTS = [
    "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "127.0.0.01",
    "１２７.0.0.1", "127。0。0。1", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1", "localhost", "LOCALHOST.", "ⓛocalhost",
    "local\u00adhost", "a.localhost", "router.lan", "db.internal", "printer.local", "1.0.0.127.in-addr.arpa",
    "intranet", "[::1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[fe80::1%25eth0]", "[::1", "::1",
    "a@127.0.0.1", "127.0.0.1@b.example", "a:b@[::1]", f"{PUBLIC}@127.0.0.1", f"127.0.0.1\\@{PUBLIC}",
    f"127.0.0.1#@{PUBLIC}", f"127.0.0.1?@{PUBLIC}", f"127.0.0.1/@{PUBLIC}", "127.0.0.1\t",
    "127.0.0.1\r\nHost: b.example", "127.0.0.1:22", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:080",
    "xn--127-0-0-1.localhost",
]  # fmt: skip

# Ways to write where a redirect leads, which programs read differently.
BEFORE = [
    "//", "///", "http:", "http:/", "http:///", "http:\\\\", "\\\\", "/\\", "\\/", "HTTP://", "ht\ttp://", "\thttp://",
    "http://\t", "http://@", "http://:@", "http://%00", "http://\u200b", "http://\ufeff", "https://", "ftp://", "file://",
    "gopher://", "unix://", "http+unix://", "jar:http://", "javascript:http://", "data:text/html,http://", "./http://",
]  # fmt: skip


class Network:
    """A resolver that helps the adversary, and what was connected to. The one public address is that of the site."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers, self.connected = dict[str, list[list[str]]](), list[str]()
        network = self

        class Recorded(socket.socket):
            def connect(self, address: Any) -> None:
                network.connected.append(address[0])
                if address[0] != PUBLIC:
                    raise ConnectionRefusedError
                super().connect(("127.0.0.1", site.port))

        monkeypatch.setattr(transport.socket, "socket", Recorded)

    def __call__(self, host: str, port: int, **_options: Any) -> list[Any]:
        """Each answer for a name once, the last one for ever; an address for each way to write it; else loopback."""
        given = self.answers.get(host)
        found = [_read(host)] if given is None else given.pop(0) if len(given) > 1 else given[0]
        families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in found]
        return [(family, socket.SOCK_STREAM, 6, "", (each, port)) for family, each in zip(families, found, strict=True)]


def _read(host: str) -> str:
    with suppress(ValueError):
        return str(ip_address(host))
    with suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return "127.0.0.1"


def attempts(network: Network, site: Site) -> Iterator[str]:
    """The addresses that the adversary names: directly, behind a name of theirs, or at the end of a redirect."""
    hosts = [*HOSTS, *V4, *(f"[{each}]" for each in V6)]
    for number, host in enumerate(hosts):
        yield f"http://{host}/"
        site.pages[f"/to/{number}"] = b"HTTP/1.1 302 Found\r\nLocation: http://%s/\r\n\r\n" % host.encode()
        yield f"http://{PUBLIC}/to/{number}"
    for number, before in enumerate(BEFORE):
        target = f"{before}127.0.0.1/".encode()
        site.pages[f"/as/{number}"] = b"HTTP/1.1 301 M\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % target
        yield f"http://{PUBLIC}/as/{number}"
    site.pages["/again"] = b"HTTP/1.1 307 Again\r\nLocation: /\r\nConnection: close\r\n\r\n"
    for number, address in enumerate([*V4, *V6]):
        ways = {"alone": [[address]], "first": [[address, PUBLIC]], "last": [[PUBLIC, address]]}
        for name, given in {**ways, "rebound": [[PUBLIC], [address]]}.items():
            network.answers[f"{name}{number}.example"] = given
            yield f"http://{name}{number}.example/{'again' if name == 'rebound' else ''}"


def test_no_attempt_reaches_an_address_that_is_not_public(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(site, monkeypatch)
    way = asking(internal=False, resolve=network)
    asked = 0
    for url in attempts(network, site):
        asked += 1
        with suppress(NoAnswer):
            # Where the parts before "@" or "#" deceive, the host that is meant is public: that may answer.
            assert way.get(url).url.startswith(f"http://{PUBLIC}"), url
        assert {*network.connected} <= {PUBLIC}, url
    assert asked >= 200
    assert way.get(f"http://{PUBLIC}/").status == 200


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED, GZIP = HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HEAD + b"Content-Encoding: gzip\r\n\r\n"
BEGIN = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"  # of gzip
MANY = 4_000_000  # bytes
COSTLY = {
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * (MANY // 25),
    "headers": HEAD + b"".join(b"X-%d: %s\r\n" % (number, b"a;" * 30_000) for number in range(60)) + b"\r\n",
    "folded": HEAD + b"X: a\r\n" + b"".join(b" %s\r\n" % (b"a;" * 30_000) for _ in range(60)) + b"\r\n",
    "cookies": HEAD + b"Set-Cookie: %s\r\n\r\n" % (b"a;" * 30_000),
    "other cookies": HEAD + b"Set-Cookie: a=b\r\nSet-Cookie2: %s\r\n\r\n" % (b"a;" * 30_000),
    "dates": HEAD + b"Retry-After: %s\r\n\r\n" % (b"Mon, " * 12_000),
    "small chunks": CHUNKED + b"1\r\nx\r\n" * (MANY // 6),
    "chunks of little": CHUNKED + (b"1;" + b"a" * 60_000 + b"\r\nx\r\n") * (MANY // 60_000),
    "unfolds to nothing": GZIP + BEGIN + b"\x00\x00\x00\xff\xff" * (MANY // 5),
    "goes on after its end": GZIP + BEGIN + b"\x03" + bytes(9) + b"x" * MANY,
    "a long address": b"HTTP/1.1 301 M\r\nLocation: http://" + "ü".encode() * 30_000 + b"/\r\n\r\n",
}
MOST_SECONDS = 0.5  # of a core


def test_no_answer_costs_much_time(site: Site) -> None:
    for name, answer in COSTLY.items():
        site.pages["/costly"] = answer
        with cpu.at_most(MOST_SECONDS, name), suppress(NoAnswer):
            found: Answer = asking().get(site.url("/costly"), reads=True)
            assert len(found.body) <= transport.MOST_BYTES


def test_more_than_a_head_may_have_is_unknown_and_more_of_a_body_is_left(site: Site) -> None:
    for name in ("interim answers", "headers", "folded"):
        site.pages["/costly"] = COSTLY[name]
        assert seen_at(site.url("/costly"), asking()) == Seen(LinkState.UNKNOWN), name
    site.pages["/cookie"] = HEAD + b"Set-Cookie: a=b\r\n\r\nok"
    answer = asking().get(site.url("/cookie"), reads=True)
    assert (answer.body, "set-cookie" in answer.headers) == (b"ok", False)


def test_after_the_end_of_the_time_no_further_address_is_tried(site: Site) -> None:
    way: Asking = asking(resolve=lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", site.server_address)])
    exchange = transport._Exchange(site.url(), way, False, {})
    exchange.wire.cut()
    with pytest.raises(TimeoutError):
        exchange._connected("a.example", 80, None)


@pytest.mark.parametrize("target", ["/" + "a" * 3000, "/?a=\\"])
def test_a_site_whose_redirect_no_project_can_have_as_its_address_is_not_called_dead(site: Site, target: str) -> None:
    site.pages["/sign-in"] = b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n" % target.encode()
    assert seen_at(site.url("/sign-in"), asking()) == Seen(LinkState.UNKNOWN, 302)
