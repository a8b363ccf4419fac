"""Traces by OpenTelemetry and reports of errors to Sentry, each where a setting names a receiver."""

from flask import Flask

from directory.extras import Extra
from directory.extras.observability import error_reports, tracing


def _init_app(app: Flask) -> None:
    error_reports.init_app(app)
    tracing.init_app(app)


extra = Extra(init_app=_init_app)
