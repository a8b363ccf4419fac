"""Traces and reports of errors: what is sent, what never is, and that nothing is imported where they are off."""

import gzip
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import pairwise
from typing import Any

import pytest
import sentry_sdk
from flask import Flask
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import text

import config
from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.observability import error_reports, tracing
from tests.conftest import ENVIRONMENT
from tests.support.burst import ask, bearer
from tests.support.factories import PASSWORD, Api, World
from tests.support.receiver import Receiver
from tests.support.serving import ROOT, serving
from tests.support.waiting import until

EMAIL = "planted@example.org"
PLANTED = {"Cookie": "x=planted-cookie", "User-Agent": "planted-agent", "X-Request-ID": "the-request"}
SECRETS = (EMAIL, PASSWORD, "planted", "Bearer", "pds_")


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with Receiver(path="") as receiver:
        yield receiver


@pytest.fixture
def sentry() -> Iterator[Receiver]:
    with Receiver(path="/1") as receiver:
        yield receiver
    client = sentry_sdk.get_client()
    if client.is_active():
        client.close(timeout=0)
        sentry_sdk.get_global_scope().set_client(None)
    for name in error_reports.LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [each for each in logger.handlers if not isinstance(each, error_reports.Reports)]


def dsn(receiver: Receiver) -> str:
    return receiver.url.replace("://", "://key@")


def sent(receiver: Receiver) -> bytes:
    """All that was sent, headers included, without what the sender's own address and key make of them."""
    return b"\n".join(json.dumps(each.headers).encode() + unpacked(each) for each in receiver.received)


def unpacked(received: Any) -> bytes:
    packed = received.headers.get("content-encoding") == "gzip"
    return gzip.decompress(received.body) if packed else received.body


def spans(receiver: Receiver) -> list[tuple[str, dict[str, Any]]]:
    """The name and the attributes of each span."""
    found = []
    for each in receiver.received:
        for resource in ExportTraceServiceRequest.FromString(unpacked(each)).resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert names["service.name"] == "project-directory"
            found += [(span.name, attributes(span)) for scope in resource.scope_spans for span in scope.spans]
    return found


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def events(receiver: Receiver) -> list[dict[str, Any]]:
    """The events of the envelopes: lines of JSON, of which those after an item's head are its content."""
    found = []
    for each in receiver.received:
        lines = [json.loads(line) for line in unpacked(each).splitlines() if line]
        found += [after for line, after in pairwise(lines[1:]) if line.get("type") == "event"]
    return found


def breaks(app: Flask) -> None:
    """Have the sign-in fail by a fault: the table of the sessions is gone."""
    transaction(lambda: db.session.execute(text("ALTER TABLE sessions RENAME TO elsewhere")))


def mends(app: Flask) -> None:
    transaction(lambda: db.session.execute(text("ALTER TABLE elsewhere RENAME TO sessions")))


def fail_to_sign_in(app: Flask, world: World) -> None:
    """A sign-in with everything that must not be sent, which ends in 500."""
    world.user(EMAIL.partition("@")[0])
    body = {"login": EMAIL, "password": PASSWORD}
    with app.app_context():
        breaks(app)
    try:
        answer = Api(app).post("/api/auth/login", body, headers=PLANTED)
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (500, "the-request")
    finally:
        with app.app_context():
            mends(app)


def test_nothing_is_imported_where_neither_is_set(tmp_path: Any) -> None:
    program = (
        "from tests.conftest import build; import sys; build(sys.argv[1]); "
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'sentry_sdk'))])"
    )
    command = [sys.executable, "-c", program, f"sqlite:///{tmp_path}/x.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "value", "package"), [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318", "opentelemetry-sdk"),
    ("SENTRY_DSN", "https://key@sentry.example/1", "sentry-sdk"),
])  # fmt: skip
def test_a_missing_package_stops_the_start_with_a_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, package: str
) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(config.ConfigError) as caught:
        config.load({**ENVIRONMENT, name: value})
    how = "pip install -r requirements-extras.txt, or the package's extra"
    expected = f"{name}: needs {package}, which is not installed: {how}"
    assert str(caught.value.code) == expected


def test_an_error_is_reported_with_its_request_and_nothing_of_the_caller(make_app: Any, sentry: Receiver) -> None:
    app = make_app(SENTRY_DSN=dsn(sentry))
    fail_to_sign_in(app, World(app))
    sentry_sdk.flush()
    [event] = events(sentry)
    assert event["tags"] == {"logger": "directory.http.problem_details", "request_id": "the-request"}
    assert event["environment"] == "testing"
    *_, outermost = event["exception"]["values"]
    assert (outermost["type"], outermost["value"]) == (raised(app), "")
    assert "login" in {frame["function"] for frame in outermost["stacktrace"]["frames"]}
    assert not any("vars" in frame for one in event["exception"]["values"] for frame in one["stacktrace"]["frames"])
    assert event.keys().isdisjoint({"request", "user", "modules", "extra"})
    assert event["breadcrumbs"] == {"values": []}
    assert [secret for secret in SECRETS if secret.encode() in sent(sentry)] == []


def raised(app: Flask) -> str:
    return "ProgrammingError" if "postgresql" in app.config["SQLALCHEMY_DATABASE_URI"] else "OperationalError"


def test_a_log_line_without_an_exception_is_no_report(
    make_app: Any, sentry: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("gunicorn.error"), "propagate", False)  # as gunicorn has it
    make_app(SENTRY_DSN=dsn(sentry))
    logging.getLogger("directory").error("webhook %s", "dead")
    logging.getLogger("directory").warning("tried", exc_info=ValueError("planted"))
    logging.getLogger("gunicorn.error").error("given up", exc_info=ValueError("planted"))
    sentry_sdk.flush()
    assert [event["tags"] for event in events(sentry)] == [{"logger": "gunicorn.error"}]
    assert b"planted" not in sent(sentry)


def test_a_report_that_cannot_be_made_fails_no_request(
    make_app: Any, sentry: Receiver, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    make_app(SENTRY_DSN=dsn(sentry))

    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr(sentry_sdk, "new_scope", fail)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logging.getLogger("directory").error("given up", exc_info=ValueError())
    assert sentry.received == []


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def traced(app: Any, exporter: InMemorySpanExporter, *, trusts_callers: bool = False) -> Any:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return tracing.Tracing(app, lambda: provider.get_tracer("x"), trusts_callers=trusts_callers)


def call(app: Any, method: str = "GET", **environ: str) -> None:
    list(app({"REQUEST_METHOD": method, **environ}, lambda *_: None))


def answering(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("204 NO CONTENT", [])
    return []


def test_a_span_continues_a_trace_only_where_a_proxy_in_front_is_trusted(exported: InMemorySpanExporter) -> None:
    given = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    for trusts in (True, False):
        call(traced(answering, exported, trusts_callers=trusts), HTTP_TRACEPARENT=given)
    continued, own = (f"{span.context.trace_id:032x}" for span in exported.get_finished_spans())
    assert continued == "a" * 32
    assert own != continued


def test_a_method_of_the_callers_own_names_no_span(exported: InMemorySpanExporter) -> None:
    call(traced(answering, exported), "planted")
    [span] = exported.get_finished_spans()
    assert (span.name, dict(span.attributes or {})["http.request.method"]) == ("_OTHER", "_OTHER")


def test_what_escapes_the_application_ends_the_span_and_is_not_in_it(exported: InMemorySpanExporter) -> None:
    def failing(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        call(traced(failing, exported))
    [span] = exported.get_finished_spans()
    assert "planted" not in span.to_json()


def test_a_request_is_a_span_with_its_route_and_id_and_nothing_of_the_caller(
    make_app: Any, collector: Receiver
) -> None:
    app = make_app(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    world = World(app)
    fail_to_sign_in(app, world)
    for _ in range(2):  # made, and given from the response cache where there is one
        Api(app).get("/api/users/ada?planted=query", headers=PLANTED)
        Api(app).get("/api/categories", headers={"X-Request-ID": "a-list"})
    app.extensions["tracing"].tracer.span_processor.force_flush()
    found = spans(collector)
    failed = {"http.request.method": "POST", "http.route": "/api/auth/login", "http.response.status_code": 500}
    assert ("POST /api/auth/login", failed | {"request_id": "the-request"}) in found
    read = {"http.request.method": "GET", "http.route": "/api/categories", "http.response.status_code": 200}
    assert found.count(("GET /api/categories", read | {"request_id": "a-list"})) == 2
    assert [secret for secret in (*SECRETS, "users/ada") if secret.encode() in sent(collector)] == []
    app.extensions["tracing"].tracer.span_processor.shutdown()


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.postgresql
def test_the_processes_of_a_server_send_spans_and_errors(
    database: Any, make_app: Any, collector: Receiver, sentry: Receiver, tmp_path: Any
) -> None:
    app = make_app()
    world = World(app)
    project, token = world.project(), world.caller(world.user()).token or ""
    settings = {
        **ENVIRONMENT, "DATABASE_URL": database.url, "WEB_CONCURRENCY": "2", "SENTRY_DSN": dsn(sentry),
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100",
    }  # fmt: skip
    with serving({**os.environ, **settings}, tmp_path / "log") as server:
        vote = ask(server.port, "PUT", f"/api/projects/{project}/upvote", headers=bearer(token))
        assert vote.status == 200
        with app.app_context():
            breaks(app)
        try:
            body = {"login": "ada", "password": PASSWORD}
            assert ask(server.port, "POST", "/api/auth/login", json=body).status in {401, 500}
            session = ask(server.port, "GET", "/api/auth/me", headers={"Cookie": "directory=planted"})
            assert session.status in {401, 500}
        finally:
            with app.app_context():
                mends(app)
        until(lambda: "PUT /api/projects/<id:project_id>/upvote" in dict(spans(collector)))
        until(lambda: "POST /api/auth/login" in dict(spans(collector)))
    assert token.encode() not in sent(collector) + sent(sentry)
