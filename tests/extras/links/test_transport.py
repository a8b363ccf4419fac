"""What a look sees of each answer, and what the service does not connect to."""

import ipaddress
import socket
import time
from typing import Any

import pytest
import requests

from directory.extras.links import transport
from directory.extras.links.looking import seen_at
from directory.extras.links.states import Seen
from directory.extras.links.transport import MOST_BYTES, Answer, Asking, NotPublic, Unreached
from directory.models import LinkState
from directory.services.text.links import is_public
from tests.extras.links.site import PAGES, RAW, Names, Site, Turns, asking, free_port

OK, MOVED, GONE, UNREACHABLE, UNKNOWN = LinkState

STATES: dict[str, tuple[LinkState, int | None]] = {
    "/": (OK, 200), "/404": (GONE, 404), "/410": (GONE, 410), "/403": (UNKNOWN, 403), "/401": (UNKNOWN, 401),
    "/405": (UNKNOWN, 405), "/429": (UNKNOWN, 429), "/503": (UNKNOWN, 503), "/limited": (UNKNOWN, 403),
    "/permanent": (MOVED, 200), "/twice": (MOVED, 200), "/temporary": (OK, 200), "/mixed": (MOVED, 200),
    "/slash": (OK, 200), "/to-gone": (GONE, 404), "/loop": (UNKNOWN, 301), "/nowhere": (UNKNOWN, 301),
    "/mail": (UNKNOWN, 301), "/user": (UNKNOWN, 301), "/broken": (UNKNOWN, 301), "/garbage": (UNKNOWN, None),
    "/headers": (UNKNOWN, None), "/long-header": (UNKNOWN, None), "/silent": (UNREACHABLE, None), "/bomb": (OK, 200),
    "/not-gzip": (OK, 200), "/endless": (OK, 200),
}  # fmt: skip
ENDS = {"/permanent": "/new", "/twice": "/new", "/mixed": "/temporary"}


def test_each_answer_has_its_state(site: Site) -> None:
    assert {*PAGES} | {*RAW} <= {*STATES, "/private", "/rebound", "/other"}
    found = {path: seen_at(site.url(path), asking()) for path in STATES}
    expected = {
        path: Seen(state, status, site.url(ENDS[path]) if path in ENDS else None)
        for path, (state, status) in STATES.items()
    }
    assert found == expected


def test_a_request_has_a_range_the_name_of_the_site_and_no_cookie(site: Site) -> None:
    site.asked.clear()
    asking().get(site.url("/permanent"))
    for _, headers in site.asked:
        assert headers["user-agent"] == "Tests (+http://localhost)"
        assert headers["range"] == f"bytes=0-{MOST_BYTES - 1}"
        assert headers["accept-encoding"] == "identity"
        assert "cookie" not in headers
    assert [path for path, _ in site.asked] == ["/permanent", "/new"]


def test_by_default_a_look_takes_ten_seconds_and_five_redirects_at_most(site: Site) -> None:
    assert Asking("Tests", Turns()).seconds == 10
    for left in range(1, 7):
        site.pages[f"/hops/{left}"] = b"HTTP/1.1 302 Found\r\nLocation: /hops/%d\r\n\r\n" % (left - 1)
    assert seen_at(site.url("/hops/5"), asking()) == Seen(OK, 200)
    assert seen_at(site.url("/hops/6"), asking()) == Seen(UNKNOWN, 302)


def test_what_does_not_answer_is_unreachable(site: Site) -> None:
    names = Names()
    assert seen_at(f"http://127.0.0.1:{free_port()}/", asking()) == Seen(UNREACHABLE)
    assert seen_at("http://nobody.example/", asking(resolve=names)) == Seen(UNREACHABLE)
    assert seen_at(f"https://127.0.0.1:{site.port}/", asking()) == Seen(UNREACHABLE)  # no TLS
    began = time.monotonic()
    assert seen_at(site.url("/drip"), asking(seconds=0.5)) == Seen(UNREACHABLE)
    assert time.monotonic() - began < 2
    with pytest.raises(Unreached):
        asking(seconds=0).get(site.url())


def test_http_that_moved_to_https_has_moved() -> None:
    from directory.extras.links.looking import judged

    answer = Answer("https://a.example/", 200, moved_to="https://a.example/")
    assert judged("http://a.example/", answer) == Seen(MOVED, 200, "https://a.example/")
    assert judged("https://www.a.example", answer) == Seen(OK, 200)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Names of a public internet in which the site of the tests is the one public address."""
    ours = ipaddress.ip_address("127.0.0.1")
    monkeypatch.setattr(transport, "is_public", lambda address: address == ours or is_public(address))
    return Names(site_example=["127.0.0.1"], both_example=["127.0.0.1", "10.0.0.5"], inside_example=["127.0.0.2"])


def test_only_public_addresses_are_connected_to_at_each_hop(site: Site, outside: Names) -> None:
    way = asking(internal=False, resolve=outside)
    assert seen_at(site.url(host="site.example"), way).state is OK
    assert seen_at(site.url(host="both.example"), way) == Seen(UNREACHABLE)  # one of its addresses is private
    for path in ("/private", "/rebound", "/other"):
        assert seen_at(site.url(path, "site.example"), way).state is UNREACHABLE
    assert seen_at(site.url("/private", "site.example"), way).status == 301


def test_a_name_is_resolved_once_for_a_request(site: Site, outside: Names) -> None:
    outside.answers["turns.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    way = asking(internal=False, resolve=outside)
    assert seen_at(site.url(host="turns.example"), way).state is OK
    assert outside.asked == ["turns.example"]
    assert seen_at(site.url(host="turns.example"), way).state is UNREACHABLE


INTERNAL = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1%2", "fc00::1", "::ffff:10.0.0.1", "::127.0.0.1",
    "2002:7f00:1::", "64:ff9b::7f00:1", "fec0::1", "ff02::1", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INTERNAL)
def test_no_spelling_of_an_internal_address_is_connected_to(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("it connects")

    names = Names(name_example=[address])
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(NotPublic):
        asking(internal=False, resolve=names).get("http://name.example/")
    assert names.asked == ["name.example"]


@pytest.mark.parametrize(
    "url", ["http://127.1/", "http://[::1]/", "http://0x7f000001/", "http://localhost/", "http://a@b.example/"]
)
def test_an_address_of_a_private_network_is_not_even_resolved(url: str) -> None:
    names, turns = Names(), Turns()
    with pytest.raises(NotPublic):
        asking(internal=False, resolve=names, turn=turns).get(url)
    assert not names.asked
    assert not turns.hosts


def test_if_one_address_does_not_connect_the_next_one_is_tried(site: Site) -> None:
    names = Names(site_example=["127.0.0.9", "127.0.0.1"])
    assert seen_at(site.url(host="site.example"), asking(resolve=names)).state is OK


def test_each_hop_has_the_turn_at_its_host_and_what_it_asks_for_is_kept(site: Site) -> None:
    turns = Turns()
    asking(turn=turns).get(site.url("/permanent"))
    asking(turn=turns).get(site.url("/429"))
    asking(turn=turns).get(site.url("/limited"))
    assert turns.hosts == [f"127.0.0.1:{site.port}"] * 4
    assert turns.waits[:3] == [0.0, 0.0, 120.0]
    assert turns.waits[3] > 1_000_000
    assert transport.host_of("https://a.example/") == "a.example:443"
    assert transport.waiting_time({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}) == 0


def test_headers_that_the_end_of_the_time_cut_off_are_no_answer() -> None:
    exchange = transport._Exchange("http://a.example/", asking(), False, {})
    exchange.wire.cut()
    exchange._read(requests.Response())
    with pytest.raises(Unreached):
        exchange.done(0)


def test_a_body_is_bounded_also_where_it_unfolds(site: Site) -> None:
    for path in ("/bomb", "/endless"):
        assert len(asking().get(site.url(path), reads=True).body) == MOST_BYTES
    assert asking().get(site.url("/not-gzip"), reads=True).body == b""
    assert asking().get(site.url("/"), reads=True).body == b"ok"


def test_headers_of_a_request_do_not_follow_a_redirect(site: Site) -> None:
    site.asked.clear()
    asking().get(site.url("/permanent"), headers={"Authorization": "Bearer secret"})
    assert [headers.get("authorization") for _, headers in site.asked] == ["Bearer secret", None]
