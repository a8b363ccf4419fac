"""Pagination: cursors, which are opaque, signed positions in one list, and page numbers."""

import hashlib
import hmac
import json
import re
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from flask import current_app
from itsdangerous import base64_decode, base64_encode

from directory.db.paging import Position, Slice, Window
from directory.errors import Invalid
from directory.http.exchange import current
from directory.language.messages import _

DEPTH = 10_000  # items that page numbers can reach
SIGNATURE_BYTES = 12
FORM = re.compile(r"(?:[A-Za-z0-9_-]{4})*[A-Za-z0-9_-]{2,4}")  # 4n + 1 characters are not base64


def window(query: dict[str, Any], listed: dict[str, Any] | None = None) -> Window:
    """The part of a list that `page`, `limit` and `cursor` ask for. Raises Invalid.

    `listed` are the filters and the order of the list, with defaults filled in, so that a cursor is valid whether or
    not a request states the defaults. By default they are the other parameters of the checked `query`.
    """
    if listed is None:
        listed = {name: value for name, value in query.items() if name not in {"page", "limit", "cursor"}}
    exchange = current()
    exchange.listed = json.dumps([exchange.path, listed], sort_keys=True, default=str)
    limit, page, cursor = query["limit"], query.get("page"), query.get("cursor")
    if cursor is not None:
        if page is not None:
            raise Invalid.parameter("page", _("page and cursor exclude each other."))
        return Window(limit, page=None, position=_decode(cursor))
    if (page or 1) * limit > DEPTH:
        raise Invalid.parameter(
            "page", _("Pages end after {number} items. Go on with the cursor.", number=f"{DEPTH:,}")
        )
    return Window(limit, page=page or 1)


def pagination(page: Slice, at: Window) -> dict[str, Any]:
    """The pagination members of every paged answer."""
    return {"limit": at.limit, "next_cursor": _encode(page.next), "prev_cursor": _encode(page.previous)}


def by_cursor(page: Slice, at: Window) -> dict[str, Any]:
    """The answer of a list that has only cursors."""
    return {"items": page.items, "pagination": pagination(page, at)}


def numbered(page: Slice, at: Window, total: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The answer of a list that also has page numbers, and its Link header."""
    numbers = {"page": at.page, "total": total, "total_capped": page.total_capped, "pages": -(-total // at.limit)}
    paging = {**numbers, **pagination(page, at)}
    return {"items": page.items, "pagination": paging}, {"Link": links(paging)}


def links(paging: dict[str, Any]) -> str:
    """The Link header (RFC 8288) of a list with page numbers, with all filters.

    There is no `last` for a request by cursor, or if the total is capped: the list then continues by cursor.
    """
    page, pages = paging["page"], paging["pages"]
    targets: dict[str, dict[str, Any]] = {"first": {"page": 1}}
    if page is None:
        targets |= {
            rel: {"cursor": paging[name]}
            for rel, name in (("prev", "prev_cursor"), ("next", "next_cursor"))
            if paging[name]
        }
    else:
        if page > 1:
            targets["prev"] = {"page": min(page - 1, max(1, pages))}
        if page < pages and (page + 1) * paging["limit"] <= DEPTH:
            targets["next"] = {"page": page + 1}
        elif paging["next_cursor"]:
            targets["next"] = {"cursor": paging["next_cursor"]}
        if pages and pages * paging["limit"] <= DEPTH and not paging["total_capped"]:
            targets["last"] = {"page": pages}
    here = _here()
    return ", ".join(f'<{here}{urlencode(target)}>; rel="{rel}"' for rel, target in targets.items())


def next_link(position: Position) -> str:
    """The Link header of a list that has only cursors, to the page after `position`."""
    return f'<{_here()}{urlencode({"cursor": _encode(position)})}>; rel="next"'


def _here() -> str:
    """The URL of the request up to its filters, which a page or a cursor follows."""
    exchange = current()
    filters = urlencode({name: value for name, value in exchange.parameters.items() if name not in {"page", "cursor"}})
    return f"{exchange.path}?{filters}&" if filters else f"{exchange.path}?"


def _signature(payload: bytes, key: str) -> bytes:
    return hmac.digest(key.encode(), payload + b"\0" + current().listed.encode(), hashlib.sha256)[:SIGNATURE_BYTES]


def _encode(position: Position | None) -> str | None:
    if position is None:
        return None
    keys = [key.isoformat() if isinstance(key, datetime) else key for key in position.keys]
    types = "".join("t" if isinstance(key, datetime) else "v" for key in position.keys)
    payload = json.dumps([int(position.forward), types, keys], separators=(",", ":")).encode()
    return base64_encode(_signature(payload, current_app.config["SECRET_KEYS"][0]) + payload).decode()


def _decode(cursor: str) -> Position:
    """The position, if the cursor is from this list. Raises Invalid."""
    # The library ignores characters outside its alphabet, and last bits that do not fill a byte.
    data = base64_decode(cursor) if FORM.fullmatch(cursor) else b""
    if base64_encode(data).decode() != cursor:
        data = b""
    signature, payload = data[:SIGNATURE_BYTES], data[SIGNATURE_BYTES:]
    known = (_signature(payload, key) for key in current_app.config["SECRET_KEYS"])
    if not payload or not any(hmac.compare_digest(signature, other) for other in known):
        raise Invalid.parameter(
            "cursor", _("This cursor belongs to another list, or to other filters or another sort.")
        )
    forward, types, keys = json.loads(payload)
    values = (datetime.fromisoformat(k) if t == "t" else k for t, k in zip(types, keys, strict=True))
    return Position(tuple(values), forward=bool(forward))
