"""Requests of every kind, as bytes, and what a server does with them: to compare two servers.

Some requests are votes of a signed-in caller, which succeed and so change the server's database.
"""

import re
import select
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from random import Random
from typing import NamedTuple

from directory.server.protocol import HEAD_MAX

# A server need not send 100 Continue where the body has come already (RFC 9110 section 10.1.1), and ours does not.
CHANGING = re.compile(
    rb"^HTTP/1\.1 100 Continue\r\n\r\n|^(Date|X-Request-ID): [^\r]*\r\n|\"request_id\":\"[^\"]*\""
    rb"|>Request [0-9a-f]{32}<",
    re.MULTILINE,
)
# What either parser refuses: each in words of its own, gunicorn's as a page and ours as a problem.
REFUSAL = re.compile(
    rb"HTTP/1\.1 4[0-9]{2} (?:(?!\r\n\r\n).)*\r\n\r\n(?:<html>.*?</html>\n|{[^}]*\"code\":\"bad_request\"[^}]*})",
    re.DOTALL,
)
HEAD = re.compile(rb"^(HTTP/1\.[01] [^\r\n]*\r\n)((?:[A-Za-z-]+: [^\r\n]*\r\n)+)", re.MULTILINE)
HOST, JSON = b"Host: directory.example\r\n", b"Content-Type: application/json\r\n"
BODY = b'{"login": "nobody", "password": "a long enough one"}'
SOON = 0.1  # seconds for an answer; an unfinished request gets none
LAST = b"GET /api/the-end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
TARGETS = (
    b"/healthz", b"/healthz?a=1", b"/readyz?a=1", b"/api/projects", b"/api/projects?page=1&limit=2", b"/api/projects/1",
    b"/api/projects/1/upvote", b"/api/projects/2/upvote", b"/api/projects/99", b"/api/categories", b"/api/auth/login",
    b"/api/auth/me", b"/api/nothing", b"//api/projects", b"/api//projects", b"/api/%70rojects", b"/api/../healthz",
    b"http://evil.example/api/projects", b"http://evil.example",
    b"http://evil.example?a=1", b"*", b"/api/projects?page=0", b"/api/projects#x", b"/",
)  # fmt: skip
METHODS = (b"GET", b"GET", b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"HEAD", b"OPTIONS", b"get", b"TRACE", b"Q")
HEADERS = (
    b"Accept: */*\r\n", b"Connection: keep-alive\r\n", b"Connection: close\r\n", b"X-Forwarded-Proto: https\r\n",
    b"X-Forwarded-For: 192.0.2.7\r\n", b"If-None-Match: *\r\n", b'If-None-Match: "a", W/"b"\r\n', b"If-Match: *\r\n",
    b"Cookie: directory=x; a=b\r\n", b"Cookie: c=d\r\n", b"Authorization: Bearer wrong\r\n", b"Origin: https://evil.example\r\n",
    b"Sec-Fetch-Site: cross-site\r\n", b"Range: bytes=0-1\r\n", b"TE: trailers\r\n", b"Expect: 100-continue\r\n",
    b"Expect: x\r\n", b"Upgrade: h2c\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"Host: other.example\r\n", b"Content-Length: 0\r\n",
    b"A_B: c\r\n",
    b"Transfer-Encoding: identity\r\n", b"SCRIPT_NAME: /api\r\n", b"X-Empty:\r\n", b"X-Long: " + b"l" * 3000 + b"\r\n",
    b" folded\r\n", b"No colon\r\n", b"X\x00: a\r\n", b"X-High: \xe9\r\n", b"X-Tab:\ta\t\r\n", b"Keep-Alive: 5\r\n",
)  # fmt: skip
HARMLESS = (
    b"Accept: */*\r\n", b"Connection: keep-alive\r\n", b"Connection: close\r\n", b"User-Agent: a/1\r\n",
    b"X-Forwarded-Proto: https\r\n", b"X-Request-ID: mine\r\n", b"Accept-Encoding: gzip\r\n",
)  # fmt: skip
VOTES = 0.15  # the share of requests that are votes
SNIPPETS = (b"\r\n", b"\n", b"\r", b" ", b"\t", b"\x00", b":", b"0", b"A", b"\xff", b",", b"\r\n\r\n", b"chunked")


class Credentials(NamedTuple):
    """The headers by which one caller signs in, each with its line end."""

    token: bytes
    cookie: bytes


def requests(seed: int, credentials: Credentials) -> Iterator[bytes]:
    """An endless sequence of requests: mostly well formed, some of them then damaged at a place or two.

    Damage that makes a body part of the head makes the head longer than our worker takes, and gunicorn takes more.
    Both refuse such a request, each for its own reason, so it is left out.
    """
    chance = Random(seed)
    while True:
        request = _vote(chance, credentials) if chance.random() < VOTES else _request(chance, credentials)
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
            request = _damaged(chance, request)
        if len(request.partition(b"\r\n\r\n")[0]) <= HEAD_MAX:
            yield request


def _vote(chance: Random, credentials: Credentials) -> bytes:
    """A vote of the signed-in caller, in one of the forms that clients send."""
    headers = [HOST, chance.choice(credentials), *chance.choices(HARMLESS, k=chance.choice((0, 1, 2)))]
    body = chance.choice((b"", b"", b"{}"))
    if body or chance.random() < 0.5:
        headers.append(b"Content-Length: %d\r\n" % len(body))
    if body:
        headers.append(JSON)
    chance.shuffle(headers)
    method, project = chance.choice((b"POST", b"POST", b"PUT", b"DELETE")), chance.randint(1, 3)
    return b"%s /api/projects/%d/upvote HTTP/1.1\r\n" % (method, project) + b"".join(headers) + b"\r\n" + body


def _request(chance: Random, credentials: Credentials) -> bytes:
    headers = [HOST] if chance.random() < 0.95 else []
    headers += chance.choices(HEADERS, k=chance.choice((0, 0, 1, 1, 2, 3)))
    if chance.random() < 0.3:
        headers.append(chance.choice(credentials))
    body = b""
    if chance.random() < 0.3:
        body, framing = chance.choice(list(_bodies(chance)))
        headers += [JSON, framing]
    chance.shuffle(headers)
    version = chance.choice((b"HTTP/1.1",) * 8 + (b"HTTP/1.0", b"HTTP/2.0"))
    line = b"%s %s %s\r\n" % (chance.choice(METHODS), chance.choice(TARGETS), version)
    return line + b"".join(headers) + b"\r\n" + body


def _bodies(chance: Random) -> Iterator[tuple[bytes, bytes]]:
    """Bodies with the header that frames them."""
    yield BODY, b"Content-Length: %d\r\n" % len(BODY)
    yield BODY, b"Content-Length: %d\r\n" % (len(BODY) - chance.randint(1, 9))
    cut = chance.randrange(1, len(BODY))
    chunks = b"%x\r\n%s\r\n%x;a=b\r\n%s\r\n" % (cut, BODY[:cut], len(BODY) - cut, BODY[cut:])
    yield chunks + b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n"
    yield chunks + b"0\r\nA: b\r\n\r\n", b"Transfer-Encoding: chunked\r\n"
    yield chunks + b"zz\r\n\r\n", b"Transfer-Encoding: chunked\r\n"
    yield b"x" * 70_000, b"Content-Length: 70000\r\n"


def _damaged(chance: Random, request: bytes) -> bytes:
    place = chance.randrange(len(request))
    what = chance.random()
    if what < 0.3:
        return request[:place] + request[place + 1 :]
    if what < 0.6:
        return request[:place] + chance.choice(SNIPPETS) + request[place:]
    if what < 0.8:
        return request[:place] + bytes([chance.randrange(256)]) + request[place + 1 :]
    lines = request.split(b"\r\n")
    line = chance.choice(lines)
    lines.insert(chance.randrange(len(lines)), line)
    return b"\r\n".join(lines)


def answers(port: int, request: bytes) -> bytes:
    """All that a server answers to a request, and to another behind it, until it closes the connection.

    The second shows the state of the connection: it gets its own answer only where the connection stays open and the
    server takes its first byte for the beginning of a request. The header lines are sorted, for their order means
    nothing (RFC 9110 section 5.3) and the cache and the application have different ones.
    """
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
        with suppress(OSError):
            connection.sendall(request)
            select.select([connection], [], [], SOON)  # so that it has come alone, as our reader wants it
            connection.sendall(LAST)
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while received := connection.recv(65_536):
                answer += received
    return HEAD.sub(_with_sorted_lines, REFUSAL.sub(b"refused", CHANGING.sub(b"", answer)))


# Where the two workers differ on purpose: whether the first answers, that of gunicorn's own worker and ours, are such a
# pair, and why. Anything else is a fault.
INTENDED = {
    "llhttp refuses what gunicorn takes: methods it does not know, bytes that an address, a name or a value may not "
    "have, whitespace in a line, a second Host":
        lambda _asked, _theirs, ours: ours[0] == 0,
    "a request of an older version is answered in version 1.1, as RFC 9110 section 6.2 has it": lambda asked, *_: (
        b"HTTP/1.0" in asked
    ),
    "blank lines before a request are skipped by llhttp, as RFC 9112 section 2.2 has it": lambda asked, *_: (
        re.search(rb"(^|\r\n\r\n)[\r\n]", asked) is not None
    ),
    "llhttp takes a second Content-Type; the application refuses a body with two": lambda asked, theirs, _ours: (
        asked.lower().count(b"\r\ncontent-type:") > 1 and theirs[0] == 0
    ),
    "llhttp takes several spaces in the request line, as RFC 9112 section 3 allows": lambda asked, *_: (
        re.match(rb"[^\r\n]+ {2,}", asked) is not None
    ),
    "of two Connection headers ours obeys the one that closes, as RFC 9112 section 9.6 has it": lambda asked, *_: (
        len(re.findall(rb"\r\nconnection:", asked.lower())) > 1 and b"close" in asked.lower()
    ),
    "llhttp takes an extension of a chunk without a name; a recipient ignores it by RFC 9112 section 7.1.1":
        lambda asked, *_: re.search(rb"\r\n[0-9a-f]+;=", asked) is not None,
    "gunicorn takes the second trailer of a body for the next request": lambda asked, *_: (
        re.search(rb"\r\n0\r\n([^\r\n]+\r\n){2}", asked) is not None
    ),
    "ours takes an address without a path as /, as RFC 3986 section 6.2.3 has it": lambda asked, *_: (
        re.match(rb"[^\r\n]+ [a-z][a-z0-9+.-]*://[^\r\n/]*[ ?]", asked, re.IGNORECASE) is not None
    ),
    "ours joins several Cookie headers with a semicolon, as RFC 9113 section 8.2.3 has it": lambda asked, *_: (
        asked.lower().count(b"\r\ncookie:") > 1
    ),
    "a body over the limit, or one that breaks off, ends the connection at once": lambda asked, theirs, ours: (
        theirs[0] == ours[0] and (len(ours) < len(theirs) or asked.count(b"x") > 60_000)
    ),
}  # fmt: skip


def intended(asked: bytes, theirs: bytes, ours: bytes) -> str | None:
    """Why the answers may differ; None where they may not."""
    closed = theirs.replace(b"Connection: keep-alive", b"Connection: close", 1)
    if _breaks_off(asked) and closed.startswith(ours):
        return "a body that breaks off ends the connection, which gunicorn ends as well but does not say"
    statuses = [
        [int(each) for each in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", answer)] or [0] for answer in (theirs, ours)
    ]
    return next((why for why, holds in INTENDED.items() if holds(asked, *statuses)), None)


def _breaks_off(asked: bytes) -> bool:
    """Whether a body may be shorter than its request declares."""
    head, _, rest = asked.partition(b"\r\n\r\n")
    declared = re.findall(rb"\r\ncontent-length:[ \t]*([0-9]+)", head.lower())
    return b"chunked" in asked or any(int(length) > len(rest) for length in declared)


def _with_sorted_lines(head: re.Match[bytes]) -> bytes:
    return head[1] + b"".join(sorted(head[2].splitlines(keepends=True)))
