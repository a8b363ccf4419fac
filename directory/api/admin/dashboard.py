"""The dashboard."""

import time
from typing import Any

import orjson
from flask import Response, current_app

from directory.api.blueprints import admin as bp
from directory.api.schemas.dashboard import Analytics, AnalyticsQuery
from directory.http.access import admin_required
from directory.http.endpoint import operation
from directory.http.serialization import dump_of
from directory.services import analytics

DASHBOARD = Analytics()
DASHBOARD_SECONDS = 60  # how old the figures may be, though nothing was written: the day may have ended


@bp.get("/analytics")
@admin_required
@operation(query=AnalyticsQuery(), answer=DASHBOARD, tier="read")
def dashboard(query: dict[str, Any]) -> Any:
    """Show the dashboard's figures."""
    days, minute = query["days"], int(time.time() / DASHBOARD_SECONDS)
    memo: Any = current_app.extensions.get("memo")  # of the response cache: keeps the figures until the next write

    def figures() -> bytes:
        return orjson.dumps(dump_of(DASHBOARD)(analytics.dashboard(days)))

    body = figures() if memo is None else memo.get((days, minute), figures)
    return Response(body, content_type="application/json")
