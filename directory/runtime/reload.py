"""Applies changed settings to a running server, on SIGHUP: all of them, or none."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask

log = logging.getLogger(__name__)
Settings = dict[str, Any]
# The sockets and the files of a running server depend on these. The name of each as operators set it.
NEED_RESTART = {"HOST": "HOST", "PORT": "PORT", "SQLALCHEMY_DATABASE_URI": "DATABASE_URL"}


class Reload:
    """The settings of a server from its start on.

    `application` is that of the last reload; None after one that was refused, and at the start.
    gunicorn reads its configuration file again in the same process, so the file keeps this object between its runs.
    """

    def __init__(self) -> None:
        self._running: Settings | None = None
        self.current: Settings = {}
        self.application: Flask | None = None

    def begin(self, settings: Settings | None) -> None:
        """Note the settings that the server starts with; from now on `settings` reloads. None forgets them."""
        self._running, self.application = settings, None

    def settings(self, load: Callable[[], Settings], create_app: Callable[[Mapping[str, Any]], Flask]) -> Settings:
        """Return the settings to serve with: at the start those of `load`, later also those that ran before.

        At the start a setting that makes no sense raises SystemExit. Later it is logged in one line, and so is one that
        the application refuses, and the server goes on with the settings that it has.
        """
        if self._running is None:
            self.current = load()
            return self.current
        try:
            values = load()
            kept = {key: self._running[key] for key in NEED_RESTART}
            application = create_app(values | kept)
        except (Exception, SystemExit) as error:
            log.error("the settings are not reloaded, and the running ones stay: %s", error)
            self.application = None
            return self._running
        waiting = [name for key, name in NEED_RESTART.items() if values[key] != kept[key]]
        if waiting:
            log.warning("%s changed: restart the server to apply it", ", ".join(waiting))
        self._running, self.application = values | kept, application
        self.current = self._running
        log.info("settings reloaded")
        return self.current


running = Reload()
