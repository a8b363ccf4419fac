"""Another process with the application, which sends itself the requests that it is given, several at once."""

import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from threading import Lock, Thread
from typing import Any, Self

from tests.conftest import build
from tests.support.factories import Api


class OtherProcess:
    """The process, for as long as the block runs."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "tests.support.other_process", url]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answers: dict[int, Future[Any]] = {}
        self._numbers, self._lock = count(), Lock()
        self._listening = Thread(target=self._listen)
        self._listening.start()

    def call(self, headers: dict[str, str], method: str, path: str, body: Any = None) -> int:
        """The status of a request that was answered there."""
        answer: Future[int] = Future()
        with self._lock:
            number = next(self._numbers)
            self._answers[number] = answer
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps([number, headers, method, path, body]) + "\n")
            self._process.stdin.flush()
        return answer.result(60)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, status = json.loads(line)
            self._answers.pop(number).set_result(status)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._listening.join()
        assert self._process.wait(60) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


def main() -> None:
    app, lock = build(sys.argv[1]), Lock()

    def answer(number: int, headers: dict[str, str], method: str, path: str, body: Any) -> None:
        status = Api(app).call(method, path, body, headers=headers).status_code
        with lock:
            print(json.dumps([number, status]), flush=True)

    with ThreadPoolExecutor(8) as pool:
        for line in sys.stdin:
            pool.submit(answer, *json.loads(line))


if __name__ == "__main__":
    main()
