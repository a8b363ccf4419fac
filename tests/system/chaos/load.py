"""Callers of a real server, over HTTP, in threads; what each call was answered, and when."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import Any, NamedTuple, Self

REFUSED = "refused"
LATE = 1.0  # seconds that a busy machine may add to what is promised; `make chaos` sets 0
ALIVE_WITHIN = 5.0  # seconds for 99 of 100 answers to /healthz; `make chaos`, alone on its machine, sets 0.1
CLIENT_TIMEOUT = 15.0  # seconds; a later answer counts as none


class Answer(NamedTuple):
    """What came of a call; `status` is None where nothing did, and `type` "refused" where it was not even taken.

    `began` is of time.monotonic().
    """

    began: float
    seconds: float
    status: int | None
    json: Any
    type: str

    @property
    def good(self) -> bool:
        """Whether the service did its work: whatever is not its own failure."""
        return self.status is not None and self.status < 500


def call(
    port: int,
    method: str,
    path: str,
    token: str | None = None,
    body: Any = None,
    more: dict[str, str] | None = None,
) -> Answer:
    """One request, over a connection of its own; a body of bytes is a picture; `more` are headers."""
    is_picture = isinstance(body, bytes)
    headers = {"Content-Type": "image/png" if is_picture else "application/json"} if body is not None else {}
    headers |= more or {}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CLIENT_TIMEOUT)
    try:
        connection.request(method, path, body if body is None or is_picture else json.dumps(body), headers)
        response = connection.getresponse()
        text, kind = response.read(), response.headers.get("Content-Type", "")
        given = json.loads(text) if text and "json" in kind else None
        return Answer(began, time.monotonic() - began, response.status, given, kind)
    except ConnectionRefusedError:
        return Answer(began, time.monotonic() - began, None, None, REFUSED)
    except (OSError, http.client.HTTPException):
        return Answer(began, time.monotonic() - began, None, None, "")
    finally:
        connection.close()


Step = Callable[[], Answer]


class Load:
    """Each step is made over and over by a thread of its own, for as long as the block runs."""

    def __init__(self, steps: Iterable[Step], *, pause: float = 0.01) -> None:
        self.answers: list[Answer] = []
        self._pause, self._over = pause, Event()
        self._faults: list[BaseException] = []
        self._threads = [Thread(target=self._run, args=(step,), daemon=True) for step in steps]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._faults:
            raise self._faults[0]

    def since(self, start: float) -> list[Answer]:
        """The answers to requests sent at or after a value of time.monotonic()."""
        return [answer for answer in self.answers if answer.began >= start]

    def until_good_for(self, seconds: float, within: float = 30.0) -> float:
        """Wait until no caller has been failed for that long; after how many seconds the last failure came.

        One good answer proves one process of the service, and a request under way can still fail: so `seconds` is
        what an answer may take, at least. AssertionError where there is no such time.
        """
        began = time.monotonic()
        while (now := time.monotonic()) < began + within:
            failed = [answer.began + answer.seconds for answer in self.answers if not answer.good]
            last = max(failed, default=began)
            if now - max(last, began) > seconds:
                expect_good(self.since(now - seconds))
                return max(last - began, 0.0)
            time.sleep(0.05)
        raise AssertionError(f"failures for {within:.0f} s: {failures(self.since(now - seconds))}")

    def _run(self, step: Step) -> None:
        try:
            while not self._over.is_set():
                answer = step()
                self.answers.append(answer)
                self._over.wait(self._pause if answer.status else 0.05)  # a closed port is not asked at full speed
        except BaseException as fault:
            self._faults.append(fault)


def statuses(answers: Iterable[Answer]) -> str:
    """How many of each status, in words."""
    counted = Counter(str(answer.status or "none") for answer in answers)
    return ", ".join(f"{count:,} x {status}" for status, count in sorted(counted.items())) or "no request"


def failures(answers: Iterable[Answer]) -> str:
    """How many of each failure, with the reason that the service gave."""
    failed = (answer for answer in answers if not answer.good)
    counted = Counter(f"{answer.status or 'none'} {(answer.json or {}).get('detail', '')}" for answer in failed)
    return ", ".join(f"{count:,} x {failure}" for failure, count in sorted(counted.items())) or "none"


def slowest(answers: Iterable[Answer]) -> float:
    """The longest wait for an answer, in seconds."""
    return max((answer.seconds for answer in answers), default=0.0)


def waited(answers: Iterable[Answer], share: float) -> float:
    """Within how many seconds that share of the callers had an answer."""
    found = sorted(answer.seconds for answer in answers)
    return found[int(len(found) * share)]


def told(waits: list[float], within: float) -> str:
    """The waits in words. AssertionError where more than one in a hundred took longer than `within`."""
    waits = sorted(waits)
    half, most = (waits[int(len(waits) * share)] for share in (0.5, 0.99))
    assert most < within, f"p99 {most * 1000:.0f} ms of {len(waits)} asked"
    return f"{len(waits)} asked: p50 {half * 1000:.0f} ms, p99 {most * 1000:.0f} ms, longest {waits[-1] * 1000:.0f} ms"


def expect_within(answers: list[Answer], seconds: float, share: float = 1.0) -> None:
    """AssertionError where the slowest answer (or the slowest of that share of them) took as long as that."""
    took = slowest(answers) if share == 1 else waited(answers, share)
    assert took < seconds, f"{took:.3f} s for an answer, of {len(answers):,} ({share:.0%}); {seconds} s are allowed"


def expect(answers: list[Answer], *allowed: int) -> None:
    """AssertionError where there was no answer at all, or one of another status."""
    assert answers, "no request"
    assert {answer.status for answer in answers} <= set(allowed), statuses(answers)


def expect_good(answers: list[Answer]) -> None:
    """AssertionError where there was no answer at all, or the service failed."""
    assert answers, "no request"
    assert all(answer.good for answer in answers), statuses(answers)


def until_good(step: Step, within: float = 30.0) -> float:
    """Ask until there is a good answer; after how many seconds it was there. AssertionError where none comes."""
    began = time.monotonic()
    while time.monotonic() < began + within:
        if step().good:
            return time.monotonic() - began
        time.sleep(0.02)
    raise AssertionError(f"no good answer within {within:.0f} s")
