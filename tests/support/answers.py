"""Records every answer that the suite gets, and compares two records: to show that a change keeps all answers.

`RECORD_ANSWERS=FILE make test` adds one line of JSON for each test. What differs from run to run is replaced: times,
random ids, tokens and digests. `python -m tests.support.answers BEFORE AFTER` prints what differs.
"""

import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.server.protocol import Connection

VARIABLE = "RECORD_ANSWERS"
_CLOCK = r"\d\d(?::|%3A)\d\d(?:(?::|%3A)\d\d(?:\.\d+)?)?"
CHANGING = [
    (re.compile(rf"\d{{4}}-\d\d-\d\d(?:T|%20| ){_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]{8} (?:GMT|[+-]0000)"), "<time>"),
    (re.compile(r"\d{1,2} [A-Z][a-z]+ 20\d\d(?:,? (?:at )?\d\d:\d\d)?|20\d\d-\d\d-\d\d"), "<date>"),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\bpds_[\w-]+|[\w-]{43,}"), "<token>"),
    (re.compile(r"[0-9a-f]{16,}"), "<hex>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
    (re.compile(r"(?<=;t=)\d+|(?<=^Retry-After: )\d+", re.MULTILINE), "<seconds>"),
]  # fmt: skip


class Answer:
    """One answer: how the test asked, the status, the headers, and the parts of the body that were read."""

    def __init__(self, asked: str, status: str = "", headers: Iterable[str] = (), body: Iterable[bytes] = ()) -> None:
        self.asked, self.status, self.headers, self.body = asked, status, [*headers], [*body]

    def __str__(self) -> str:
        """The answer as text without what differs from run to run. The order of headers means nothing."""
        body = b"".join(self.body)
        headers = [self._without_length(each, len(body)) for each in self.headers]
        text = "\n".join(
            [f"{self.asked} -> {self.status}", *sorted(headers), "", body.decode("utf-8", "backslashreplace")]
        )
        for pattern, replacement in CHANGING:
            text = pattern.sub(replacement, text)
        return text

    def _without_length(self, header: str, length: int) -> str:
        """A header without the length of the body, which times change, unless it is wrong."""
        if header == f"Content-Length: {length}" or (
            self.asked.startswith("HEAD ") and header.startswith("Content-Length:")
        ):
            return "Content-Length: <right>"
        return header


class Body:
    """The body of an answer of the application, which notes what is read of it."""

    def __init__(self, parts: Iterable[bytes], answer: Answer) -> None:
        self._parts, self._answer = parts, answer

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._answer.body.append(part)
            yield part

    def close(self) -> None:
        if close := getattr(self._parts, "close", None):
            close()


class Recorder:
    """Notes the answers of each test: those of applications, and those that our server sends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.answers: list[Answer] = []
        Flask.__call__ = self._applications(Flask.__call__)  # type: ignore[method-assign]
        Connection.respond = self._servers(Connection.respond)  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Add a test's line to the file."""
        from tests.support import factories

        self.answers.clear()
        factories._numbers = count(1)  # so that the names in the answers do not depend on the tests before
        result = yield
        line = json.dumps({"test": item.nodeid, "answers": [str(answer) for answer in self.answers]})
        with self._file.open("a") as file:
            file.write(f"{line}\n")
        return result

    def _applications(self, call: Callable[..., Any]) -> Any:
        def recorded(app: Flask, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            query = environ.get("QUERY_STRING", "")
            answer = Answer(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}{'?' if query else ''}{query}")

            def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
                answer.status, answer.headers = status, [f"{name}: {value}" for name, value in headers]
                return start_response(status, headers, *exc_info)

            self.answers.append(answer)
            return Body(call(app, environ, start), answer)

        return recorded

    def _servers(self, respond: Callable[..., Any]) -> Any:
        def recorded(connection: Connection, status: bytes, headers: bytes, body: bytes, *, keep: bool) -> None:
            lines = headers.decode("latin-1").splitlines()
            self.answers.append(Answer(f"server, keep={keep}", status.decode(), lines, [body]))
            respond(connection, status, headers, body, keep=keep)

        return recorded


def record(config: pytest.Config) -> None:
    """Record the answers of this run if the environment names a file for them."""
    if VARIABLE in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ[VARIABLE]).absolute()))


def recorded(file: Path) -> dict[str, list[str]]:
    """The answers of each test in a record."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {line["test"]: line["answers"] for line in lines}


def differences(before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[str]:
    """What differs, test by test. Answers to requests at the same time may come in another order."""
    for test in before.keys() & after.keys():
        if sorted(before[test]) != sorted(after[test]):
            one, other = ("\n".join(answers[test]).splitlines() for answers in (before, after))
            yield "\n".join([test, *difflib.unified_diff(one, other, "before", "after", lineterm="")])


def main(before: str, after: str) -> int:
    """Print what differs between two records, and return 1 if anything does."""
    one, other = recorded(Path(before)), recorded(Path(after))
    found = [*differences(one, other)]
    print(*found, sep="\n\n")
    for side, tests in ((before, one.keys() - other.keys()), (after, other.keys() - one.keys())):
        print(*(f"only in {side}: {test}" for test in sorted(tests)), sep="\n")
    same = one.keys() & other.keys()
    print(f"{len(same)} tests in both, {sum(len(one[test]) for test in same)} answers; {len(found)} tests differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
