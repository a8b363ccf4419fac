"""The lines that the server prints once it is ready: its address, and how to stop it."""

from collections.abc import Mapping
from typing import Any

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (a browser cannot open them)
PAGES = (("Site", "/"), ("Console", "/admin"), ("API", "/api/docs"), ("Feed", "/api/projects.atom"))


def addresses(settings: Mapping[str, Any]) -> str:
    """The addresses of a server with these settings, a line each, and how to stop it."""
    host = ANY_ADDRESS.get(settings["HOST"], settings["HOST"])
    origin = f"http://[{host}]:{settings['PORT']}" if ":" in host else f"http://{host}:{settings['PORT']}"
    shown = [(name, path) for name, path in PAGES if settings["WEB_ENABLED"] or name != "Console"]
    lines = [f"  {name:<8}{origin}{path}" for name, path in shown]
    return "\n".join(["", f"{settings['SITE_NAME']} is ready:", *lines, "Press Ctrl-C to stop.", ""])
