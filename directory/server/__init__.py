"""gunicorn's threaded worker, with simple requests read and answered in its event loop.

It imports the cache, http, services and db; nothing but gunicorn's configuration imports it. Without it, by gunicorn's
own worker, the service answers the same. It uses gunicorn's private interfaces, so it serves only under the versions
with which `make check-worker` has passed.
"""

import gunicorn

TESTED = ("27.0.1",)
WORKERS = {"loop": "directory.server.worker.Worker", "gthread": "gthread"}


def is_tested() -> bool:
    """Whether the worker was tested with this gunicorn."""
    return gunicorn.__version__ in TESTED


def worker_class(wanted: str) -> str:
    """The worker class that SERVER_WORKER names; gunicorn's gthread where this version is not tested."""
    return WORKERS[wanted if is_tested() else "gthread"]
