"""Traces by OpenTelemetry, where OTEL_EXPORTER_OTLP_ENDPOINT is set; otherwise nothing of it is imported.

Each request that a thread answers is a span with its method, route, status and request id. It holds nothing else of the
request: no path, query, header, address, caller or body. Requests that the event loop answers itself have no span.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask

from directory.http.exchange import ROUTE
from directory.http.metrics import METHODS

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

SERVICE = "project-directory"  # unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES names it
Environ = dict[str, Any]


def init_app(app: Flask) -> None:
    """Trace the requests from now on, if the settings name a receiver."""
    endpoint: str = app.config["OTEL_EXPORTER_OTLP_ENDPOINT"]
    if endpoint:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter  # before the processes are forked, which share it
        import opentelemetry.sdk.trace.export  # noqa: F401

        trusts = app.config["TRUSTED_PROXIES"] > 0
        tracing = Tracing(app.wsgi_app, lambda: exporting_tracer(endpoint), trusts_callers=trusts)
        app.wsgi_app = app.extensions["tracing"] = tracing  # type: ignore[method-assign]
        app.extensions["observers"] = [tracing.note]


def exporting_tracer(endpoint: str) -> "Tracer":
    """A tracer that sends its spans from a thread, in batches; the OTEL_ variables of the SDK hold for it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: SERVICE}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
    return provider.get_tracer("directory")


class Tracing:
    """A middleware that makes a span of each request.

    `make_tracer` is called with the first request: its thread belongs into the process that answers, after the fork.
    With `trusts_callers` a span continues the trace of the `traceparent` header, which a proxy in front has checked;
    otherwise anybody could decide which requests are recorded.
    """

    def __init__(
        self, app: Callable[..., Iterable[bytes]], make_tracer: Callable[[], "Tracer"], *, trusts_callers: bool
    ) -> None:
        self._app, self._make_tracer, self._trusts_callers = app, make_tracer, trusts_callers
        self._lock = threading.Lock()
        self._tracer: Tracer | None = None

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        from opentelemetry.trace import SpanKind

        method = environ["REQUEST_METHOD"] if environ["REQUEST_METHOD"] in METHODS else "_OTHER"
        attributes = {"http.request.method": method}
        span = self.tracer.start_span(
            method, self._parent(environ), SpanKind.SERVER, attributes, record_exception=False
        )

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            _note(span, int(status[:3]), headers)
            return start_response(status, headers, *exc_info)

        try:
            return self._app(environ, start)
        finally:
            if route := environ.get(ROUTE):
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
            span.end()

    def note(self, environ: Environ, route: str, seconds: float, status: str, headers: list[tuple[str, str]]) -> None:
        """Make the span of a request that was answered just now, without this middleware, and took so many seconds."""
        from opentelemetry.trace import SpanKind

        ended, method = time.time_ns(), environ["REQUEST_METHOD"]
        span = self.tracer.start_span(
            f"{method} {route}", self._parent(environ), SpanKind.SERVER,
            {"http.request.method": method, "http.route": route}, start_time=ended - int(seconds * 1e9),
        )  # fmt: skip
        _note(span, int(status[:3]), headers)
        span.end(ended)

    @property
    def tracer(self) -> "Tracer":
        """The tracer of this process."""
        with self._lock:
            self._tracer = self._tracer or self._make_tracer()
            return self._tracer

    def _parent(self, environ: Environ) -> "Context":
        from opentelemetry.context import Context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if not self._trusts_callers:
            return Context()
        carrier = {"traceparent": environ.get("HTTP_TRACEPARENT", "")}
        return TraceContextTextMapPropagator().extract(carrier, Context())


def _note(span: "Span", status: int, headers: list[tuple[str, str]]) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("http.response.status_code", status)
    for name, value in headers:
        if name == "X-Request-ID":
            span.set_attribute("request_id", value)
    if status >= 500:
        span.set_status(StatusCode.ERROR)
