"""The form of instants in answers, events, feeds and files."""

from datetime import datetime

import orjson


def timestamp(instant: datetime) -> str:
    """An instant, which must be in UTC as all of ours are, in RFC 3339 with Z and microseconds."""
    written = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return written if instant.microsecond else f"{written[:-1]}.000000Z"
