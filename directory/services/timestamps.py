"""The text form of times in answers, events, feeds and files."""

from datetime import datetime

import orjson


def timestamp(instant: datetime) -> str:
    """A time in RFC 3339 with Z and microseconds. It must be in UTC, as all our times are."""
    written = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return written if instant.microsecond else f"{written[:-1]}.000000Z"
