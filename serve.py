"""Serve the application with gunicorn: `python serve.py`.

gunicorn reads WEB_CONCURRENCY itself when it is imported, and meets a port that is taken with ten lines and five tries.
So the settings and the port are looked at first, and what is wrong with them is one line that names the setting.
"""

import errno
import os
import socket
import sys

import config
from settings import ROOT, ConfigError

# Set by systemd, or by a server that is replaced: sockets that are already bound.
INHERITED = ("GUNICORN_FD", "LISTEN_FDS")


def main() -> None:
    """Check what gunicorn would stumble over, then become gunicorn. Raises ConfigError."""
    settings = config.load()
    if not os.environ.get("WEB_CONCURRENCY", "").strip():
        os.environ.pop("WEB_CONCURRENCY", None)  # set to nothing it is as if unset, which gunicorn does not know
    if not any(name in os.environ for name in INHERITED):
        _require_free(settings["HOST"], settings["PORT"])
    if "-c" not in sys.argv:
        sys.argv[1:1] = ["-c", str(ROOT / "gunicorn.conf.py")]

    from gunicorn.app.wsgiapp import run
    from gunicorn.util import getcwd

    # gunicorn puts the current folder first unless it is on the path, and would then load a wsgi.py that lies there.
    sys.path.append(getcwd())
    run()


def _require_free(host: str, port: int) -> None:
    """Raise ConfigError if nothing can listen on the port of this host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        raise _refusal(host, port, error) from None


def _refusal(host: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError("PORT", f"{port} is taken on {host}: stop what listens there, or set another port")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return ConfigError("PORT", f"{port} may not be listened on by this user")
    return ConfigError("HOST", f"{host!r} cannot be listened on: {error.strerror}")


if __name__ == "__main__":
    main()
