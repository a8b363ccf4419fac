"""A request that is handled, without a view."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask, g, request

from directory.http.exchange import Exchange, received


@contextmanager
def handling(app: Flask, path: str = "/", **given: Any) -> Iterator[Exchange]:
    """Run the block in the context of a request, of which `given` are the parts that Werkzeug's client takes."""
    with app.test_request_context(path, **given):
        g.exchange = received(request.environ)
        yield g.exchange
