"""The service as it is deployed: two hosts with a PostgreSQL and a Redis between them, and nginx before both."""

import json
import signal
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

from directory.extensions import db
from tests.conftest import build, migrate
from tests.support import servers
from tests.support.caching import close_snapshots
from tests.support.factories import World
from tests.support.processes import free_port
from tests.support.proxy import Answer, Nginx, call
from tests.support.serving import Serving


class Site:
    """Both hosts and nginx, for as long as the block runs, over a database on the server of `url`."""

    def __init__(self, folder: Path, url: str, **settings: str) -> None:
        self._folder, self._server, self._settings, self._running = folder, url, settings, ExitStack()

    def __enter__(self) -> "Site":
        with ExitStack() as starting:
            redis = starting.enter_context(servers.redis())
            name = f"site_{uuid4().hex[:8]}"
            url = servers.create_database(self._server, name)
            starting.callback(servers.drop_database, self._server, name)
            migrate(url)
            self.environment = {
                "APP_ENV": "production",
                "SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e",
                "DATABASE_URL": url,
                "REDIS_URL": redis.url,
                "TRUSTED_PROXIES": "1",
                "METRICS_ENABLED": "true",
                "LOG_LEVEL": "INFO",
                "WEB_CONCURRENCY": "2",
                "THREADS": "4",
                **self._settings,
            }
            self.world = World(build(url))
            starting.callback(self._let_go)
            self.hosts: list[Serving] = []
            starting.callback(self._stop)
            for _ in range(2):
                self.hosts.append(self._host(free_port()))
            for host in self.hosts:
                host.wait_until_ready()
            self.nginx = starting.enter_context(closing(Nginx([host.port for host in self.hosts])))
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """One request through nginx."""
        return call(self.nginx.port, method, path, body, **options)

    def start_again(self, number: int) -> None:
        """Start a host that was stopped, and wait until it serves."""
        self.hosts[number] = self._host(self.hosts[number].port)
        self.hosts[number].wait_until_ready()

    def stop(self, number: int) -> None:
        """Stop a host as systemd does, and wait until it is gone."""
        self.hosts[number].stop(signal.SIGTERM)

    def served(self, number: int) -> Counter[str]:
        """How often a port's processes have answered each request, by its id."""
        lines = [json.loads(line) for log in self._logs(number) for line in log.read_text().splitlines()]
        return Counter(line["request_id"] for line in lines if line["message"] == "request")

    def _host(self, port: int) -> Serving:
        log = self._folder / f"{port}.{uuid4().hex}.log"
        return Serving({**self.environment, "PORT": str(port)}, log)

    def _logs(self, number: int) -> list[Path]:
        return sorted(self._folder.glob(f"{self.hosts[number].port}.*.log"))

    def _let_go(self) -> None:
        with self.world.app.app_context():
            db.session.remove()
            db.engine.dispose()
        close_snapshots(self.world.app)

    def _stop(self) -> None:
        for host in self.hosts:
            if host.process.poll() is None:
                host.stop()
