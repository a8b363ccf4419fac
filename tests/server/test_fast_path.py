"""Kept answers given out of the loop, and requests that the worker reads itself: the same answers, never late ones."""

import json
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Barrier, Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.workers.gthread import ThreadWorker

from directory.db import deadline
from directory.extensions import db
from directory.server.crowd import Crowd
from directory.server.fast_path import ExpressWorker
from directory.server.request_reader import Bare, Plain
from directory.server.wire import Sent
from tests.conftest import ENVIRONMENT, Database, build
from tests.support.factories import World
from tests.support.serving import Serving, serving
from tests.support.voter import race

GET = b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n"
OTHER = b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
VOTE = b"POST /api/vote HTTP/1.1\r\nHost: x\r\n\r\n"
DELETE = b"DELETE /api/x HTTP/1.1\r\nHost: x\r\n\r\n"
PLAIN = Plain("http", "/api/x", "", "id", None)
ANSWER = Sent(b"200 OK", b"A: b\r\n", b"body")


class Wire:
    """Recognises GET, has at once and makes what it is told to, and says what it was asked for."""

    def __init__(self) -> None:
        self.had: Sent | None = None
        self.made: Sent | None = None
        self.quick = self.knows = self.is_near = True
        self.forgotten = self.looks = self.prepared = 0
        self.ahead: list[list[Bare]] = []
        self.fails: list[BaseException] = []

    def asked(self, head: bytes) -> Plain | Bare | None:
        found = {GET: PLAIN, DELETE: Bare({"what": "DELETE"}), VOTE: Bare({"what": "VOTE"})}
        return found.get(head)

    def gathers(self, bare: Bare) -> bool:
        return bool(bare.environ["what"] == "VOTE")

    def whole(self, bare: Bare, server: dict[str, Any], _waited: float) -> Sent:
        if self.fails:
            raise self.fails.pop()
        self.environ = {**server, **bare.environ}
        return ANSWER

    def is_quick(self, _plain: Plain) -> bool:
        return self.quick

    def at_once(self, asked: list[tuple[Plain, float]]) -> list[Sent | None]:
        self.looks += 1
        return [self.had] * len(asked)

    def look_ahead(self, bares: list[Bare]) -> bool:
        self.ahead.append(bares)
        return self.knows

    def found(self, _plain: Plain, _began: float) -> Sent | None:
        return self.made

    def forget(self) -> None:
        self.forgotten += 1

    def prepare(self) -> None:
        self.prepared += 1


class Loop:
    """The worker's loop without its processes and threads: what would go to a thread is in `handed`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[ExpressWorker] = ExpressWorker) -> None:
        self.worker: Any = kind.__new__(kind)
        self.wire, self.handed = Wire(), []
        vars(self.worker).update(
            alive=True, age=1, nr=0, _owed=False, _accepting=True, _base={"base": True},
            max_requests=1000, nr_conns=0, keepalived_conns=deque(), pending_conns=deque(), _asked=[], _others=[],
            _crowd=Crowd(), _wire=self.wire, _resume=0.0, _looked=0.0, _began=0.0,
            poller=selectors.DefaultSelector(), cfg=SimpleNamespace(keepalive=5), max_keepalived=50,
        )  # fmt: skip
        monkeypatch.setattr(ExpressWorker, "enqueue_req", lambda _self, conn: self.handed.append(conn))
        monkeypatch.setattr(ThreadWorker, "handle", lambda _self, conn: ("whole", conn.unread))

    def client(self) -> tuple[socket.socket, Any]:
        """A client, and its connection as it is kept alive."""
        theirs, conn = self._connected()
        conn.init()
        conn.sock.setblocking(False)
        self.worker.keepalived_conns.append(conn)
        read = lambda sock: self.worker.on_client_socket_readable(conn, sock)  # noqa: E731
        self.worker.poller.register(conn.sock, selectors.EVENT_READ, read)
        return theirs, conn

    def newcomer(self) -> tuple[socket.socket, Any]:
        """A client, and its connection as it has been taken."""
        theirs, conn = self._connected()
        self.worker.await_first(conn)
        return theirs, conn

    def _connected(self) -> tuple[socket.socket, Any]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.worker.nr_conns += 1
        return theirs, Conn(ours)

    def turn(self) -> None:
        self.worker.wait_for_and_dispatch_events(1)


class Conn(SimpleNamespace):
    """A connection, which is itself alone."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(
            sock=sock, unread=b"", closed=False, client=("192.0.2.1", 5), server=("x", 80),
            initialized=False, data_ready=False, parser=None, timeout=8.0,
        )  # fmt: skip

    def init(self) -> None:
        unreader = SimpleNamespace(unread=lambda head: setattr(self, "unread", head))
        self.initialized, self.parser = True, SimpleNamespace(unreader=unreader)
        self.sock.setblocking(True)

    def set_timeout(self) -> None:
        self.timeout = 8.0

    def close(self) -> None:
        self.closed = True

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    loop = Loop(monkeypatch)
    yield loop
    for conn in [*loop.worker.keepalived_conns, *loop.worker.pending_conns, *loop.handed]:
        conn.sock.close()
    loop.worker.poller.close()


def test_one_look_is_good_for_a_whole_turn_and_no_thread_is_needed(loop: Loop) -> None:
    loop.wire.had = ANSWER
    clients = [loop.client()[0] for _ in range(3)]
    for client in clients:
        client.sendall(GET)
    loop.turn()
    for client in clients:
        with closing(client):
            head, _, body = client.recv(9000).partition(b"\r\n\r\n")
            lines = head.split(b"\r\n")
            assert lines[0] == b"HTTP/1.1 200 OK"
            assert [line.partition(b":")[0] for line in lines[1:]] == [b"Server", b"Date", b"Connection", b"A"]
            assert body == b"body"
    assert (loop.handed, loop.wire.looks, loop.worker.nr) == ([], 1, 3)
    assert len(loop.worker.keepalived_conns) == 3


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("made", [None, ANSWER])
def test_what_cannot_be_given_at_once_goes_to_a_thread(loop: Loop, quick: bool, made: Sent | None) -> None:
    client, conn = loop.client()
    loop.wire.quick, loop.wire.made = quick, made
    loop.wire.had = None if quick else ANSWER
    with closing(client):
        client.sendall(GET)
        loop.turn()
        assert loop.handed == [conn]
        assert not loop.worker.keepalived_conns
        kept = loop.worker.handle(conn)
        if loop.wire.made is None:
            assert kept == ("whole", GET)
            assert loop.wire.forgotten == 1
        else:
            assert kept is True
            assert client.recv(9000).endswith(b"A: b\r\n\r\nbody")
    assert loop.wire.prepared == (made is not None)
    assert "asked" not in vars(conn)


def test_the_application_answers_in_a_thread_what_has_no_body(loop: Loop) -> None:
    loop.wire.had = ANSWER
    client, conn = loop.client()
    with closing(client):
        client.sendall(DELETE)
        loop.turn()
        assert loop.handed == [conn]
        assert loop.worker.handle(conn) is True
        assert client.recv(9000).endswith(b"A: b\r\n\r\nbody")
    assert loop.worker.nr == 1
    assert loop.wire.environ == {
        "base": True, "what": "DELETE", "gunicorn.socket": conn.sock, "REMOTE_ADDR": "192.0.2.1", "REMOTE_PORT": "5",
        "SERVER_NAME": "x", "SERVER_PORT": "80",
    }  # fmt: skip


def test_who_asks_is_looked_up_once_for_a_turn(loop: Loop) -> None:
    clients = [loop.client() for _ in range(3)]
    for client, _ in clients:
        client.sendall(DELETE)
    loop.turn()
    assert [len(bares) for bares in loop.wire.ahead] == [3]
    assert loop.handed == [conn for _, conn in clients]
    loop.turn()
    assert len(loop.wire.ahead) == 1
    for client, _ in clients:
        client.close()


def test_a_thread_that_gets_to_it_when_the_worker_ends_goes_gunicorns_way(loop: Loop) -> None:
    client, conn = loop.client()
    with closing(client):
        client.sendall(DELETE)
        loop.turn()
        loop.worker.alive = False
        assert loop.worker.handle(conn) == ("whole", DELETE)


def test_a_socket_in_the_file_system_is_left_to_gunicorn(loop: Loop) -> None:
    loop.wire.had = ANSWER
    for sent in (GET, DELETE):
        client, conn = loop.client()
        conn.server = "/run/socket"
        with closing(client):
            client.sendall(sent)
            loop.turn()
            assert conn.unread == sent
            assert "asked" not in vars(conn)


def test_what_a_thread_has_tried_in_vain_is_taken_from_the_time_that_the_application_has(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, conn = loop.client()
    with closing(client):
        client.sendall(GET)
        loop.turn()
    conn.asked = conn.asked._replace(began=time.perf_counter() - 3)
    left: list[float] = []

    def handle(_self: Any, _conn: Any) -> None:
        with deadline.bounded():
            left.append(deadline.left(60))

    monkeypatch.setattr(ThreadWorker, "handle", handle)
    loop.worker.handle(conn)
    assert left[0] <= deadline.SECONDS - 3


@pytest.mark.parametrize("sent", [OTHER, GET[:20], GET + GET, b"nonsense\r\n\r\n"])
def test_what_is_not_plain_is_as_if_it_had_not_been_read(loop: Loop, sent: bytes) -> None:
    loop.wire.had = ANSWER
    client, conn = loop.client()
    with closing(client):
        client.sendall(sent)
        loop.turn()
    assert (loop.handed, conn.unread) == ([conn], sent)
    assert loop.worker.handle(conn) == ("whole", sent)


@pytest.mark.parametrize("why", ["it ends", "it has served its number", "there is no lane"])
def test_a_worker_that_ends_leaves_all_to_the_threads(loop: Loop, why: str) -> None:
    loop.wire.had = ANSWER
    client, conn = loop.client()
    loop.worker.alive = why != "it ends"
    loop.worker.nr = 999 if why == "it has served its number" else 0
    loop.worker._wire = None if why == "there is no lane" else loop.wire
    with closing(client):
        client.sendall(GET)
        loop.turn()
        assert loop.handed == [conn]
        assert conn.sock.recv(9000) == GET


def test_a_new_connection_waits_in_the_loop_and_needs_no_thread_for_what_the_loop_answers(loop: Loop) -> None:
    loop.wire.had = ANSWER
    client, conn = loop.newcomer()
    with closing(client):
        loop.turn()
        assert (loop.handed, list(loop.worker.pending_conns)) == ([], [conn])
        for _ in range(2):
            client.sendall(GET)
            loop.turn()
            assert client.recv(9000).startswith(b"HTTP/1.1 200 OK")
        assert (loop.handed, list(loop.worker.pending_conns)) == ([], [])
        assert list(loop.worker.keepalived_conns) == [conn]


@pytest.mark.parametrize("sent", [OTHER, GET[:9], b""])
def test_what_else_comes_over_a_new_connection_goes_to_a_thread_unchanged(loop: Loop, sent: bytes) -> None:
    client, conn = loop.newcomer()
    with closing(client):
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        loop.turn()
        assert (loop.handed, conn.initialized) == ([conn], True)
        assert loop.worker.handle(conn) == ("whole", sent)


@pytest.mark.parametrize("why", ["it ends", "there is no lane"])
def test_a_new_connection_is_a_threads_to_begin_where_the_loop_answers_nothing(loop: Loop, why: str) -> None:
    client, conn = loop.newcomer()
    loop.worker.alive = why != "it ends"
    loop.worker._wire = None if why == "there is no lane" else loop.wire
    with closing(client):
        client.sendall(GET)
        loop.turn()
        assert (loop.handed, conn.initialized, conn.data_ready) == ([conn], False, True)
        assert conn.sock.recv(9000) == GET


def test_a_silent_newcomer_is_let_go_once_a_look_after_its_time_has_found_nothing(loop: Loop) -> None:
    loop.wire.had = ANSWER
    (late, kept), (silent, lost) = loop.newcomer(), loop.newcomer()
    with closing(late), closing(silent):
        kept.timeout = lost.timeout = time.monotonic() + 0.01
        loop.turn()
        loop.worker.murder_pending()
        assert list(loop.worker.pending_conns) == [kept, lost]
        late.sendall(GET)
        loop.turn()
        loop.worker.murder_pending()
        assert late.recv(9000).startswith(b"HTTP/1.1 200 OK")
        assert (lost.closed, kept.closed, loop.worker.nr_conns) == (True, False, 1)
        assert (list(loop.worker.pending_conns), list(loop.worker.keepalived_conns)) == ([], [kept])
        loop.handed.append(lost)


def test_a_connection_that_cannot_be_waited_for_is_given_up_alone(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr(loop.worker, "poller", SimpleNamespace(register=full, close=loop.worker.poller.close))
    client, conn = loop.newcomer()
    with closing(client):
        assert (conn.closed, loop.worker.nr_conns, list(loop.worker.pending_conns)) == (True, 0, [])
        loop.handed.append(conn)


def test_a_worker_that_ends_waits_no_longer_for_a_silent_newcomer_than_for_who_is_kept(loop: Loop) -> None:
    client, conn = loop.newcomer()
    with closing(client):
        loop.worker._cap_keepalive(7.0)
        assert conn.timeout == 7
        loop.worker._cap_keepalive(9.0)
        assert conn.timeout == 7
        loop.handed.append(conn)


def test_a_client_that_takes_an_answer_slowly_is_waited_for_by_a_thread(loop: Loop) -> None:
    body = b"x" * 5_000_000
    loop.wire.had = Sent(b"200 OK", b"", body)
    client, conn = loop.client()
    with closing(client):
        client.sendall(GET)
        loop.turn()
        assert loop.handed == [conn]
        sending = Thread(target=loop.worker.handle, args=[conn])
        sending.start()
        taken = b""
        while not taken.endswith(body):
            taken += client.recv(100_000)
        sending.join()
        assert taken.startswith(b"HTTP/1.1 200 OK\r\n")
        client.close()
        conn.rest = body
        assert loop.worker.handle(conn) is False


def test_a_client_that_is_gone_is_let_go(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    loop.wire.had = ANSWER
    client, conn = loop.client()
    client.sendall(GET)
    at_once = loop.wire.at_once

    def hang_up(*given: Any) -> Any:
        client.close()
        return at_once(*given)

    monkeypatch.setattr(loop.wire, "at_once", hang_up)
    loop.turn()
    assert conn.closed
    assert (loop.worker.nr_conns, len(loop.worker.keepalived_conns)) == (0, 0)
    loop.handed.append(conn)


class Line:
    """A connection to the server that is kept alive."""

    def __init__(self, server: Serving) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self.file = self.socket.makefile("rb")

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[bytes, dict[str, str], bytes]:
        """The status line, the headers and the body of an answer."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
        status, told = self.file.readline(), {}
        while line := self.file.readline().decode().strip():
            name, _, value = line.partition(": ")
            assert name not in told
            told[name] = value
        return status, told, self.file.read(int(told.get("Content-Length", 0)))

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    app = build(database.url)
    yield World(app)
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@pytest.fixture
def server(database: Database, tmp_path: Path) -> Iterator[Serving]:
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "TRUSTED_PROXIES": "1", "METRICS_ENABLED": "true"}
    with serving(settings, tmp_path / "log") as served:
        yield served


def test_it_says_what_the_application_says(world: World, server: Serving) -> None:
    project = world.project(tags=["a"])
    with closing(Line(server)) as line:
        line.ask("/healthz")
        for path in ("/api/projects?limit=3", f"/api/projects/{project}", "/api/categories", "/api/projects.atom"):
            answers = [line.ask(path, X_Request_ID="mine", X_Forwarded_Proto="https") for _ in range(3)]
            answers.append(line.ask(path, X_Request_ID="mine", X_Forwarded_Proto="https", Cookie="no=lane"))
            for _, headers, _ in answers:
                del headers["Date"]
                assert headers.pop("X-Request-ID") == "mine"
            assert answers.count(answers[0]) == 4, path
            assert "Strict-Transport-Security" in answers[0][1]
            etag = answers[0][1]["ETag"]
            assert line.ask(path, If_None_Match=etag)[0] == b"HTTP/1.1 304 NOT MODIFIED\r\n"
        for path, status in (("/api/projects/999", b"404"), ("/api/projects?page=0", b"422"), ("/api/none", b"404")):
            for _ in range(2):
                told, headers, body = line.ask(path)
                assert told.split()[1] == status
                assert json.loads(body)["request_id"] == headers["X-Request-ID"]
        counted = line.ask("/metrics")[2].decode()
    assert 'route="/api/projects",status="200"} 4' in counted.replace('method="GET",', "")


def test_who_is_signed_in_is_told_what_gunicorn_would_have_said(world: World, server: Serving) -> None:
    """Each request twice: as it is, and with a header that the worker leaves to gunicorn."""
    owner, other = world.user(), world.caller(world.user())
    mine, project = world.caller(owner).token or "", world.project(owner)
    token = f"Bearer {other.token}"
    asked: list[tuple[str, str, dict[str, str]]] = [
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": token, "Content-Length": "0"}),
        ("DELETE", f"/api/projects/{project}/upvote", {"Authorization": token}),
        ("PUT", "/api/projects/999/upvote", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": "Bearer wrong"}),
        ("PUT", f"/api/projects/{project}/upvote", {}),
        ("PUT", f"/api/projects/{project}/upvote", {"Cookie": "directory=x", "Sec-Fetch-Site": "cross-site"}),
        ("PUT", f"/api/projects/{project}/upvote", {"Cookie": "directory=x", "Origin": "https://evil.example"}),
        ("DELETE", f"/api/projects/{project}", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}", {"Authorization": token}),
        ("POST", "/api/projects", {"Authorization": token, "Content-Type": "application/json"}),
        ("POST", "/api/none", {"Authorization": token}),
        ("PATCH", "/api/projects", {"Authorization": token}),
        ("GET", "/api/auth/me", {"Authorization": token}),
        ("GET", "/api/auth/me", {"Authorization": token, "X-Forwarded-Proto": "https"}),
        ("GET", f"/api/projects/{project}", {"Authorization": token, "If-None-Match": "*"}),
        ("GET", "/api/projects?page=0", {"Authorization": token}),
    ]
    with closing(Line(server)) as line:
        line.ask("/healthz")
        for method, path, headers in asked:
            answers = [line.ask(path, method, X_Request_ID="mine", **headers, **more) for more in ({}, {"TE": ""})]
            for _, told, _ in answers:
                told.pop("Date")
                assert told["X-Request-ID"] == "mine"
            assert answers[0] == answers[1], (method, path, headers)
        for _ in range(2):  # nothing is left of a bodiless answer that the next one could be taken for
            gone = line.ask(f"/api/projects/{project}", "DELETE", Authorization=f"Bearer {mine}")
            assert gone[0].split()[1] in {b"204", b"404"}
            assert line.ask("/api/auth/me", Authorization=token)[0].split()[1] == b"200"


def test_in_a_crowd_everybody_is_told_what_is_his(world: World, server: Serving) -> None:
    """Votes that come at once, by some who may and some who may not; refused ones keep none of the others."""
    projects, pending = [world.project() for _ in range(2)], world.project(status="pending")
    tokens = [world.caller(world.user()).token for _ in range(16)]
    meet, wrong = Barrier(16, timeout=60), []
    stands: dict[tuple[int, int], bool] = {}

    def vote(n: int) -> None:
        dice = Random(n)
        with closing(Line(server)) as line:
            line.ask("/healthz")
            for turn in range(30):
                project, proof = dice.choice([*projects, pending, 10**9]), f"Bearer {tokens[n]}"
                refused = dice.random() < 0.1
                headers = {"X_Request_ID": f"{n}.{turn}", "Authorization": "Bearer none" if refused else proof}
                if turn % 10 == 0:
                    meet.wait()
                status, told, body = line.ask(f"/api/projects/{project}/upvote", "POST", **headers)
                expected = b"401" if refused else b"200" if project in projects else b"404"
                answer = json.loads(body)
                if status.split()[1] != expected or told["X-Request-ID"] != f"{n}.{turn}":
                    wrong.append((n, turn, status, told, body))
                elif expected == b"200":
                    stands[n, project] = not stands.get((n, project), False)
                    if (answer["project_id"], answer["upvoted"]) != (project, stands[n, project]):
                        wrong.append((n, turn, answer, stands[n, project]))

    with ThreadPoolExecutor(16) as pool:
        for voted in [pool.submit(vote, n) for n in range(16)]:
            voted.result(120)
    assert wrong == []
    counts = [sum(there for (_, each), there in stands.items() if each == project) for project in projects]
    assert [world.stored(project)["upvotes"] for project in projects] == counts
    assert counts != [0, 0]


def test_what_another_process_was_acknowledged_is_in_the_next_answer(
    world: World, server: Serving, database: Database
) -> None:
    project = world.project()
    tokens = [world.caller(world.user()).token for _ in range(30)]
    wrong, reads = [], [0]

    def read(acknowledged: list[int], ended: Event) -> None:
        with closing(Line(server)) as line:
            while not ended.is_set():
                before = acknowledged[-1]
                for path in (f"/api/projects/{project}", "/api/projects?sort=upvotes"):
                    body = json.loads(line.ask(path)[2])
                    shown = body["upvotes"] if "upvotes" in body else body["items"][0]["upvotes"]
                    reads[0] += 1
                    if shown < before:
                        wrong.append((path, before, shown))

    acknowledged = race(database.url, project, tokens, read)
    assert acknowledged[-1] == 30
    assert wrong == []
    assert reads[0] > 30


def test_connections_that_are_idle_are_closed_and_those_in_use_are_not(world: World, server: Serving) -> None:
    world.project()
    with closing(Line(server)) as busy, closing(Line(server)) as idle:
        for line in (busy, idle):
            for _ in range(2):
                assert line.ask("/api/projects")[0].split()[1] == b"200"
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up:
            assert busy.ask("/api/projects")[0].split()[1] == b"200"
            idle.socket.settimeout(0.5)
            try:
                assert idle.socket.recv(1) == b""
                return
            except TimeoutError:
                continue
    raise AssertionError("an idle connection stays")
