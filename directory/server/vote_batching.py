"""gunicorn's worker with threads, which has the votes that come at once served by one of them (ADR 13)."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn

from directory.cache.validator import SLOW
from directory.server import greenlets
from directory.server.crowd import Crowd
from directory.server.fast_path import Asked, ExpressWorker, Served

Ended = list[tuple[TConn, Any]]  # connections, each with the answer to its request or the error that came of it


class GatheringWorker(ExpressWorker):
    """Gathers bare requests of which several are best served at once, by one thread, each as any other would be.

    The thread does what takes an application; the loop sends the answers, so that nobody of them waits for a client
    that does not take his.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._crowd: Crowd[TConn] = Crowd()

    def take(self, asked: Asked) -> None:
        """Take a bare request."""
        if not self._wire.gathers(asked.request):
            super().take(asked)
            return
        self.poller.unregister(asked.conn.sock)
        self.keepalived_conns.remove(asked.conn)
        asked.conn.asked = asked
        self._crowd.add(asked.conn)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Do one turn of the loop, and have those served who have gathered."""
        super().wait_for_and_dispatch_events(min(timeout, self._crowd.left(time.monotonic())))
        now = time.monotonic()
        if now > self._began + SLOW:  # looks enough for one turn
            return
        conns = self._crowd.go(now, hold=self._wire is not None and self._wire.is_near)
        if not conns:
            return
        # Where it is not known who asks, each may have to wait for that: in a thread of his own.
        if self._wire.look_ahead([conn.asked.request for conn in conns]) and self.alive:
            self.tpool.put(partial(self._serve_together, conns))
            return
        self._crowd.disperse()
        for conn in conns:
            self.enqueue_req(conn)

    def _serve_together(self, conns: list[TConn]) -> None:
        """Answer their requests, in a thread."""
        unanswered, ended = dict.fromkeys(conns), Ended()
        works = self._works(unanswered, ended)
        try:
            for over in greenlets.run(works) if len(conns) > 1 else map(_do, works):
                self.method_queue.defer(self._send_all, conns, ended.copy(), over)
                ended.clear()
        except BaseException as error:  # the system has no room for another thread, say
            self.log.exception("requests were given up")
            self.method_queue.defer(self._send_all, conns, [(conn, error) for conn in unanswered], True)
        self._wire.prepare()

    def _works(self, unanswered: dict[TConn, None], ended: Ended) -> Iterator[Callable[[], None]]:
        """What answers each of them. Those for whom it takes too long until they are begun get threads of their own."""
        late = time.monotonic() + SLOW
        for conn in [*unanswered]:
            if self.alive and time.monotonic() < late:
                yield partial(self._end, conn, unanswered, ended)
            else:
                del unanswered[conn]
                self.enqueue_req(conn)

    def _end(self, conn: TConn, unanswered: dict[TConn, None], ended: Ended) -> None:
        try:
            answer = self.answer(vars(conn).pop("asked"))
        except BaseException as error:  # gunicorn catches all but what ends a thread, of which there is a number
            answer = error
        del unanswered[conn]
        ended.append((conn, answer))

    def _send_all(self, conns: list[TConn], ended: Ended, over: bool) -> None:
        """Send answers, in the loop; `over` when those who gathered as `conns` wait for nothing in common any more."""
        for conn, answer in ended:
            if isinstance(answer, BaseException):
                conn.failed = answer
                self.enqueue_req(conn)
                continue
            try:
                complete = self.has_sent(conn, answer)
            except OSError:
                self.nr_conns -= 1
                conn.close()
                continue
            if complete:
                self.finish_request(conn, Served(True))
            else:
                self.enqueue_req(conn)
        if over:
            self._crowd.have_served(conns, time.monotonic())


def _do(work: Callable[[], None]) -> bool:
    """Do what nobody else waits with."""
    work()
    return True
