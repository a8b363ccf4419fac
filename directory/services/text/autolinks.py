"""Addresses in a text that are links without any marks (GFM, extended autolinks): where they begin and end.

A search ends after LONGEST characters, so that a text of many addresses takes time in proportion to its length.
"""

import re
from collections.abc import Iterator

from directory.services.text.links import URL_MAX as LONGEST

# Marks of other scripts, which are written without a space behind them. An apostrophe within a word is none.
_FOREIGN = (
    "\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u17d4\u17d5\u1362\u2018\u201a-\u201e\u2026\u2039\u203a\u00ab\u00bb"
    "\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b-\uff65"
)
# The end of the text before "://". "git+https" is another scheme.
_SCHEME = re.compile(r"(?:^|[^a-z0-9+])(https?)\Z", re.IGNORECASE)
_USER = re.compile(r"[^\s<>@/\[\]()]{1,50}@")
_HOST_CHARACTER = rf"[^\0-,/:-@\[-^`{{-\u00a9\s\u2000-\u206f{_FOREIGN}]"
_HOST = re.compile(rf"{_HOST_CHARACTER}{{1,253}}+(?!{_HOST_CHARACTER})")
# What may follow a host: a port, and a path that ends before white space.
_REST = re.compile(
    rf"(?::\d{{1,5}}(?!\d))?(?:[/?#](?:[^\s<>\"`\\\u2019{_FOREIGN}]++|\u2019(?=[a-zA-Z\u00c0-\u024f]))*+)?"
)
_BRACKET = re.compile(r"[()\[\]{}]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_TRAILING = "?!.,:*_~'\""  # punctuation that is not part of an address at its end
# It is not a part of another host, path or address.
_WWW = re.compile(r"(?<![^\W_])(?<![./@-])www\.", re.IGNORECASE)


def scheme_before(text: str) -> str | None:
    """The scheme at the end of a text, `http` or `https`; None for another text."""
    scheme = _SCHEME.search(text[-len("+https") :])
    return scheme[1] if scheme else None


def end_behind_scheme(text: str, at: int) -> int:
    """Where the address ends whose "//" ends at a place; this place if it is none."""
    user = _USER.match(text, at)
    start = user.end() if user else at
    end = _end(text, start, least=1)
    return end if end > start else at


def without_scheme(text: str) -> Iterator[tuple[int, int]]:
    """The places of the addresses that begin with "www."."""
    end = 0
    for www in _WWW.finditer(text):
        if www.start() >= end and (ends := _end(text, www.end(), least=2)) > www.end():
            end = ends
            yield www.start(), end


def _end(text: str, at: int, *, least: int) -> int:
    """Where the address ends whose host, of so many labels at least, begins at a place; this place if it is none.

    An underscore may be in labels of the host, except in the last two.
    """
    host_name = _HOST.match(text, at)
    host = host_name[0].partition("..")[0].rstrip(".-_") if host_name else ""
    labels = host.split(".")
    if host_name is None or "" in labels or len(labels) < least or host[0] == "-" or "_" in "".join(labels[-2:]):
        return at
    end = at + len(host)
    if end < host_name.end():
        return end
    rest = _REST.match(text, end, end + LONGEST)
    if rest is None or rest.end() - end == LONGEST:
        return at
    return _without_trailing(text, end, _first_unpaired(text, end, rest.end()))


def _first_unpaired(text: str, start: int, end: int) -> int:
    """The place of the first bracket that closes none; the end if there is no such one."""
    opened = dict.fromkeys(_PAIRS.values(), 0)
    for bracket in _BRACKET.finditer(text, start, end):
        opener = _PAIRS.get(bracket[0], bracket[0])
        opened[opener] += 1 if opener == bracket[0] else -1
        if opened[opener] < 0:
            return bracket.start()
    return end


def _without_trailing(text: str, start: int, end: int) -> int:
    """The end of an address without the punctuation and the entities that follow it."""
    while end > start:
        if text[end - 1] == ";":
            begin = text.rfind("&", start, end)
            name = text[begin + 1 : end - 1]
            end = begin if begin >= 0 and name.isascii() and name.isalnum() else end - 1
        elif text[end - 1] in _TRAILING:
            end -= 1
        else:
            break
    return end
