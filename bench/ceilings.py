"""The ceilings: the same routes answered with constant bytes, by a Flask view and by a bare WSGI callable."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flask import Flask, Response

BODIES = {name: (Path(os.environ["BENCH_BODIES"]) / name).read_bytes() for name in ("list", "one", "vote", "analytics")}

flask_app = Flask(__name__)


@flask_app.get("/api/projects")
def listed() -> Response:
    """A page of projects."""
    return Response(BODIES["list"], mimetype="application/json")


@flask_app.get("/api/projects/<int:_project_id>")
def shown(_project_id: int) -> Response:
    """A project."""
    return Response(BODIES["one"], mimetype="application/json")


@flask_app.post("/api/projects/<int:_project_id>/upvote")
def voted(_project_id: int) -> Response:
    """A vote."""
    return Response(BODIES["vote"], mimetype="application/json")


@flask_app.get("/api/admin/analytics")
def dashboard() -> Response:
    """The dashboard."""
    return Response(BODIES["analytics"], mimetype="application/json")


def wsgi_app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Any of them."""
    path = environ["PATH_INFO"]
    name = "vote" if path.endswith("/upvote") else "one"
    body = BODIES[{"/api/projects": "list", "/api/admin/analytics": "analytics"}.get(path, name)]
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
