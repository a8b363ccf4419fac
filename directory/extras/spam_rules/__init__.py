"""Rules of the administrators against spam: they judge what members submit, edit and register."""

from flask import Flask

from directory.extras import Extra
from directory.extras.spam_rules import judging, routes


def _init_app(app: Flask) -> None:
    """Count failures of rules, if metrics are enabled."""
    if "metrics" in app.extensions:
        from prometheus_client import Counter  # not before it is needed

        registry = app.extensions["metrics"].registry
        text = "Rules that failed on something and were passed over."
        judging.on_failure.append(Counter("directory_rule_failures", text, registry=registry).inc)


extra = Extra(
    blueprints=(routes.bp,),
    pages=(routes.pages,),
    commands={"": {"rules": "rules"}},
    on_submit=judging.on_submit,
    init_app=_init_app,
)
