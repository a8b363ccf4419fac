"""Somebody guesses who has an account, by how long a refusal takes."""

import http.client
import json
import time
from contextlib import closing
from typing import Any

from tests.system.chaos import Outcome, scenario
from tests.system.chaos.processes import serving
from tests.system.chaos.stage import Stage, stage

KNOWN, UNKNOWN = "somebody", "nobodyyy"


@scenario(
    "Logins with a wrong password, for an account that exists and for one that does not",
    "the same answer, and on average in the same time: the means differ by less than 5 %",
    short={"samples": 30, "apart": 0.5},
    long={"samples": 200, "apart": 0.05},
)
def guessed(samples: int, apart: float) -> Outcome:
    took: dict[str, list[float]] = {KNOWN: [], UNKNOWN: []}
    said: dict[str, list[Any]] = {KNOWN: [], UNKNOWN: []}
    with stage("sqlite") as at, closing(http.client.HTTPConnection("127.0.0.1", serving(at).port, timeout=30)) as line:
        _register(at)
        for number in range(samples + 1):
            for name in sorted(took, reverse=bool(number % 2)):  # neither is always the first
                began = time.monotonic()
                said[name].append(_refusal(line, name))
                took[name].append(time.monotonic() - began)
    assert said[KNOWN] == said[UNKNOWN]
    means = {name: trimmed(waits[1:]) for name, waits in took.items()}  # the first has opened the connection
    differ = abs(means[KNOWN] - means[UNKNOWN]) / min(means.values())
    known, unknown = (f"{means[name] * 1000:.1f} ms" for name in (KNOWN, UNKNOWN))
    assert differ < apart, f"{known} for who exists, {unknown} for who does not: {differ:.1%} apart"
    return Outcome(f"{samples} of each, one after the other", f"{known} and {unknown}: {differ:.1%} apart")


def _register(at: Stage) -> None:
    """An account whose password the service has hashed: the stage's own have cheaper ones."""
    given = {"username": KNOWN, "email": "somebody@example.org", "password": "a good long password"}
    answer = at.ask("POST", "/api/auth/register", None, given)
    assert answer.status == 201, answer


def _refusal(line: http.client.HTTPConnection, name: str) -> Any:
    """What a wrong password is answered: all of it but what is of the request."""
    body = json.dumps({"login": name, "password": "a wrong long password"})
    line.request("POST", "/api/auth/login", body, {"Content-Type": "application/json"})
    answer = line.getresponse()
    told = json.loads(answer.read())
    assert answer.status == 401, told
    told.pop("request_id", None)
    headers = {name: value for name, value in answer.getheaders() if name.lower() not in {"date", "x-request-id"}}
    return told, headers


def trimmed(waits: list[float]) -> float:
    """The mean without the upper and the lower tenth, which are the machine's rather than the service's."""
    tenth = len(waits) // 10
    middle = sorted(waits)[tenth : len(waits) - tenth]
    return sum(middle) / len(middle)
