"""Operators of other search engines, which our search takes as words: `-word`, `AND`, `OR`, `NOT` and `name:value`.

Pages and answers name them, so that nobody takes such a search for a narrower or a wider one. Quotes are not among
them: they make a phrase.
"""

import re

from directory.services.catalog.search_words import is_beginning

MOST = 5  # that an answer names

_QUOTES = '"“”„«»'
# A phrase, also behind a minus or a name, or what stands between two spaces. The quotes of 12" and 15" are inches.
_PART = re.compile(rf"(?:-|[a-z]+:)*[{_QUOTES}][^{_QUOTES}]+[{_QUOTES}]|\S+", re.IGNORECASE)
# Fields of a project, and what GitHub, GitLab and web search engines call similar ones.
_NAMES = (
    "author|categor(?:y|ies)|description|in|intitle|is|label|lang|language|license|name|owner|repo|site|sort|status|"
    "tag|tagline|tags|title|topic|topics|url|user|username"
)
_FILTER = re.compile(rf"(?:{_NAMES}):(?=[\w@#*{_QUOTES}]).+", re.IGNORECASE)


def as_words(query: str) -> list[str]:
    """The parts of a query that look like operators and are searched for as words: the first MOST, as typed."""
    parts = [part.strip("(),;") for part in _PART.findall(query)]
    parts = [part for part in parts if any(map(str.isalnum, part))]
    found = [part for at, part in enumerate(parts) if _is_operator(part, at > 0, at < len(parts) - 1)]
    return list(dict.fromkeys(found))[:MOST]


def _is_operator(part: str, follows: bool, leads: bool) -> bool:
    """Whether a part looks like an operator: some do only between others."""
    if part in ("AND", "OR"):
        return follows and leads
    return leads if part == "NOT" else _excludes(part) or _FILTER.fullmatch(part) is not None


def _excludes(part: str) -> bool:
    """Whether a part is a minus before a word or phrase: a number may be negative, one letter is a program's option."""
    word = part[1:].lstrip(_QUOTES)
    return part[0] == "-" and word[:1].isalpha() and is_beginning(word)
