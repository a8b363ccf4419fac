"""gunicorn's configuration, and the webhook deliverer that runs with the server.

One process with threads is the default, because without Redis rate limits are counted in its memory.
"""

import gc

# Imported objects stay in memory: garbage collection takes a seventh of the import time. `pre_fork` enables it again.
gc.disable()

import mmap
import os
import resource
import sys
from contextlib import suppress
from ctypes import CDLL
from functools import partial
from threading import Thread

from gunicorn.glogging import Logger

from config import load, warnings
from directory import create_app
from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.http import readiness
from directory.http.metrics import FOLDER_VARIABLE
from directory.logs import formatter, is_text
from directory.runtime import bootstrap, housekeeping, metrics_dir
from directory.runtime.reload import running
from directory.runtime.supervisor import Supervisor
from directory.server import WORKER_CLASSES

# A value that makes no sense ends the start here, with one line. On SIGHUP gunicorn runs this file again.
settings = running.settings(load, create_app)

wsgi_app = "wsgi:app"
host = settings["HOST"]
bind = f"[{host}]:{settings['PORT']}" if ":" in host else f"{host}:{settings['PORT']}"
worker_class = WORKER_CLASSES[settings["SERVER_WORKER"]]
workers = settings["WEB_CONCURRENCY"]
threads = settings["THREADS"]
preload_app = True

timeout = graceful_timeout = 30
keepalive = 5
# A single worker is never replaced: its counts in memory would be lost, and no process would answer in the meantime.
# One of several is replaced so seldom that its cache pays off: with 10,000 requests, which a busy worker answers in a
# few seconds, restarts took half of the throughput.
max_requests = 1_000_000 if workers > 1 else 0
max_requests_jitter = max_requests // 10

# A thousand connections, those that are being closed, and the databases' need more files than many systems begin with.
_files, _most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(_files, 4096) if _most < 0 else min(max(_files, 4096), _most), _most))

# glibc would give each thread a heap that reuses its freed memory alone. This costs a busy process 2 MB, and gains
# nothing if only one thread runs at a time.
M_ARENA_MAX = -8
with suppress(AttributeError, OSError, TypeError):  # another C library
    CDLL(None).mallopt(M_ARENA_MAX, 1)

limit_request_line = 4094
limit_request_fields = 64
control_socket_disable = True
# The application trusts the headers of proxies by TRUSTED_PROXIES. gunicorn itself would trust every sender on this
# machine, and so every client of a local proxy that passes on SCRIPT_NAME or X-Forwarded-Proto.
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
if sys.platform == "linux" and os.access("/dev/shm", os.W_OK):  # noqa: S108 (gunicorn makes an unnamed file there)
    worker_tmp_dir = "/dev/shm"  # noqa: S108  a heartbeat on a slow disk would count as a worker that hangs
if settings["METRICS_ENABLED"] and workers > 1:
    metrics_dir.provide(globals().get("worker_tmp_dir"))


class OurLogger(Logger):
    """gunicorn's own log in the form of the application's, which also logs the requests."""

    def setup(self, cfg):
        """Keep gunicorn's handlers and change how they write."""
        super().setup(cfg)
        for handler in self.error_log.handlers:
            # gunicorn keeps the logger of the start, and calls this again after a reload.
            handler.setFormatter(formatter(running.current["LOG_FORMAT"], colours=running.current["LOG_COLOURS"]))


logger_class = OurLogger

DELIVERER = (*bootstrap.FLASK, "webhooks", "work", "--until-eof")


def on_starting(server):
    """Prepare the database. A reload reads this file again, so what outlives it is an attribute of the server."""
    server.welcome = bootstrap.prepare(server.app.wsgi()) if settings["PREPARE_DATABASE"] else ""
    if is_text(settings["LOG_FORMAT"]):
        server.welcome += bootstrap.addresses(settings)
    server.deliverer = None
    running.begin(settings)
    say_warnings(server)


def say_warnings(server):
    """Log what is off, and names that are nearly settings."""
    for line in warnings():
        server.log.warning("%s", line)


def when_ready(server):
    """Start the deliverer, where it has anything to do and does not run elsewhere."""
    if delivers():
        server.deliverer = Supervisor(DELIVERER, server.log.error_log, partial(count_crash, server, "deliverer"))
        server.deliverer.start()


def delivers():
    """Return whether a deliverer runs with this server."""
    has_work = settings["WEBHOOK_ENDPOINTS"] or settings["MAIL"] or settings.get("LINKS_ARE_CHECKED")
    return bool(has_work and settings["WEBHOOK_WORKER"])


def pre_fork(server, worker):
    """Enable garbage collection, except for existing objects: each worker would copy the memory that it scans.

    A configuration that replaces this hook has to do the same.
    """
    worker.is_done = mmap.mmap(-1, 1)  # shared with the worker, which writes 1 if it ends as it should
    gc.freeze()
    gc.enable()


def post_fork(server, worker):
    """Give a worker its own connections: one shared with the master or a sister mixes up their answers."""
    with server.app.wsgi().app_context():
        db.engine.dispose(close=False)
    if server.deliverer:
        server.deliverer.forget()
    worker.welcome = server.welcome if worker.age == workers else ""


def post_worker_init(worker):
    """Log problems of the database and Redis. The last worker prints the banner, after all log lines.

    Without a deliverer the workers do the housekeeping: a process for that alone would take half as much memory again.
    """
    if settings["WEBHOOK_WORKER"] and not delivers():
        housekeeping.start(worker.wsgi)
    if worker.age == 1:
        Thread(target=readiness.report, args=(worker.wsgi,), daemon=True).start()
    if worker.welcome:
        print(worker.welcome, flush=True)  # noqa: T201


def worker_exit(server, worker):
    """Close a worker's connections to SQLite: with the last of them its file takes in what its -wal holds.

    PostgreSQL needs no such thing, and one that is mute would hold up the end.
    """
    worker.is_done[0] = isinstance(ending := sys.exception(), SystemExit) and not ending.code
    app = server.app.wsgi()
    with app.app_context():
        if not on_postgresql():
            db.engine.dispose()
            if "snapshot_source" in app.extensions:
                app.extensions["snapshot_source"].close()


def child_exit(server, worker):
    """Delete the metrics of a worker that has ended, and count it if it crashed or was killed."""
    if not worker.is_done[0]:
        count_crash(server, "worker")
    worker.is_done.close()
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client import multiprocess  # once the folder has a name, for it looks for that when imported

        multiprocess.mark_process_dead(worker.pid)


def count_crash(server, kind):
    """Count a process that has ended by itself."""
    if metrics := server.app.wsgi().extensions.get("metrics"):
        metrics.crashes.count(kind)


def on_reload(server):
    """Serve with the settings that this file has just read, and restart the deliverer with the workers."""
    server.welcome = ""
    if running.application is not None:
        server.app.callable = running.application
        say_warnings(server)
    if metrics := server.app.wsgi().extensions.get("metrics"):
        # Here and not in a worker: each worker inherits it, or reads it in the folder that all share.
        metrics.reload_refused.set(running.application is None)
    if server.deliverer and delivers():
        server.deliverer.restart()
    elif server.deliverer:
        server.deliverer.stop()
        server.deliverer = None
    else:
        when_ready(server)


def on_exit(server):
    """Stop the deliverer, which first ends the exchange under way."""
    if server.deliverer:
        server.deliverer.stop()
