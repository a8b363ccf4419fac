"""The settings of traces and error reports. They need packages of requirements-extras.txt.

`settings.extras` runs this file alone, so it imports nothing of the directory.
"""

import re

from settings import Setting
from settings.values import web_address

FILE = "requirements-extras.txt"


def otlp_endpoint(value: str) -> str:
    """The address of an OpenTelemetry collector without a slash at its end, or nothing."""
    parts = web_address(value)
    if value and (parts is None or parts.query or parts.fragment):
        raise ValueError("is not an http or https address, such as http://localhost:4318")
    _require(value, "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")
    return value.rstrip("/")


def sentry_dsn(value: str) -> str:
    """The address of a Sentry project with its key, or nothing. The key is a secret that no reason repeats."""
    parts = web_address(value)
    if value and (parts is None or not parts.username or not re.search(r"/[0-9]+$", parts.path, re.ASCII)):
        raise ValueError("is not an address such as https://key@sentry.example.com/1")
    _require(value, "sentry-sdk")
    return value


def _require(value: str, *packages: str) -> None:
    """Raise ValueError if something is set and a package for it is missing. None is imported."""
    if not value:
        return
    from importlib.metadata import PackageNotFoundError, version

    for package in packages:
        try:
            version(package)
        except PackageNotFoundError:
            raise ValueError(
                f"needs {package}, which is not installed: pip install -r {FILE}, or the package's extra"
            ) from None


SETTINGS = (
    Setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT", otlp_endpoint, "",
        "An OpenTelemetry collector that receives [traces](observability.md#traces-and-errors), such as "
        "`http://localhost:4318`; needs `requirements-extras.txt`.",
    ),
    Setting(
        "SENTRY_DSN", sentry_dsn, "",
        "A Sentry project that receives [errors](observability.md#traces-and-errors), such as "
        "`https://key@sentry.example.com/1`; needs `requirements-extras.txt`.",
        is_secret=True,
    ),
)  # fmt: skip
