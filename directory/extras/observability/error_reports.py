"""Reports of errors to Sentry, where SENTRY_DSN is set; otherwise nothing of it is imported.

Each log record of level error or above that has an exception is a report: the types of the exception and of its causes,
the stack with lines of our code, the logger and the id of the request. It holds no message of an exception and no value
of a variable, because both may repeat what a caller has sent.
"""

import logging
from typing import TYPE_CHECKING, Any

from flask import Flask

from directory import logs

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

LOGGERS = (None, "gunicorn.error")  # the root, and one whose records gunicorn hands to no other


def init_app(app: Flask) -> None:
    """Report errors from now on, if the settings name a receiver."""
    dsn: str = app.config["SENTRY_DSN"]
    if not dsn:
        return
    import sentry_sdk
    from sentry_sdk.integrations.atexit import AtexitIntegration

    sentry_sdk.init(
        dsn,
        environment=app.config["APP_ENV"],
        # No integration that reads requests, variables or the command line; only the one that flushes at exit.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[AtexitIntegration(callback=lambda _pending, _timeout: None)],
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        before_send=without_values,
    )
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, Reports)]
        if name is None or not logger.propagate:
            logger.addHandler(Reports(logging.ERROR))


class Reports(logging.Handler):
    """Sends the records that have an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hand the exception to the SDK, which sends it from a thread of its own."""
        if not (record.exc_info and record.exc_info[1]):
            return
        import sentry_sdk

        try:
            with sentry_sdk.new_scope() as scope:
                scope.set_tag("logger", record.name)
                if identity := logs.request_id():
                    scope.set_tag("request_id", identity)
                scope.capture_exception(record.exc_info[1])
        except Exception:
            self.handleError(record)


def without_values(event: "Event", _hint: "Hint") -> "Event":
    """The event without the messages of its exceptions."""
    exceptions: Any = event.get("exception", {})
    for exception in exceptions.get("values", ()):
        exception["value"] = ""
    return event
