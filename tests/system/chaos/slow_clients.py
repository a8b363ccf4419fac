"""Clients that send half a request, or do not take their answer; how long the answers to others take meanwhile."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from directory.http.docs import current_version
from tests.support.factories import PASSWORD
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.load import Answer, call, expect_within, slowest, told, waited
from tests.system.chaos.paced import reader
from tests.system.chaos.stage import Stage, stage
from tests.system.chaos.waiting import UNFINISHED

ASSET = f"GET /api/docs/{current_version()}/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
ACCOUNT = {"username": "patient", "email": "patient@example.org", "password": PASSWORD}
SIGN_IN = {"login": ACCOUNT["username"], "password": PASSWORD}


@contextmanager
def slow_clients(port: int, each: int) -> Iterator[None]:
    """So many clients each that stop in a head, that stop in a body, and that ask for a large file and read nothing."""
    with ExitStack() as stack:
        for sent in [*UNFINISHED, ASSET * 3] * each:
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(30)
            client.connect(("127.0.0.1", port))
            client.sendall(sent)
        yield


@scenario(
    "Clients that stop in a head, in a body, or do not take their answer, without a proxy",
    "99 of 100 answers to /healthz, votes and sign-ins within 100 ms",
    short={"each": 64, "rounds": 10, "within": 5.0, "processes": (1,)},
    long={"each": 64, "rounds": 100, "within": 0.1, "processes": (1, 2)},
)
def slow(each: int, rounds: int, within: float, processes: tuple[int, ...]) -> Outcome:
    seen = []
    for count in processes:
        with stage("postgresql", WEB_CONCURRENCY=count) as at, ExitStack() as stack:
            assert at.service is not None
            assert at.ask("POST", "/api/auth/register", body=ACCOUNT).status == 201
            living = stack.enter_context(reader(at.service.port, "/healthz"))
            stack.enter_context(slow_clients(at.service.port, each))
            time.sleep(2)  # until the answers that are not taken are made
            stack.enter_context(living.beside())
            votes, logins = _busy(at, rounds)
            for answers in (votes, logins):
                assert {answer.status for answer in answers} == {200}
                expect_within(answers, within, 0.99)
            stack.pop_all().close()
            parts = [f"{name} {_figures(answers)}" for name, answers in (("votes", votes), ("sign-ins", logins))]
            seen.append(f"{count} of 8 threads: /healthz {told(living.waits, within)}; {'; '.join(parts)}")
    return Outcome(f"3 x {each} clients, {rounds} votes and sign-ins", ". ".join(seen))


def _busy(at: Stage, rounds: int) -> tuple[list[Answer], list[Answer]]:
    """What others are answered, one after the other."""
    assert at.service is not None
    port, votes, logins = at.service.port, [], []
    for turn in range(rounds):
        person, project = at.members[turn % len(at.members)], at.projects[turn % len(at.projects)]
        votes.append(call(port, "POST", f"/api/projects/{project}/upvote", person.token))
        at.ledger.note("toggle", votes[-1].status, user=person.id, project=project)
        logins.append(call(port, "POST", "/api/auth/login", body=SIGN_IN))
        time.sleep(0.02)
    at.settle()
    return votes, logins


def _figures(answers: list[Answer]) -> str:
    half, most = waited(answers, 0.5), waited(answers, 0.99)
    return f"p50 {half * 1000:.0f} ms, p99 {most * 1000:.0f} ms, longest {slowest(answers) * 1000:.0f} ms"
