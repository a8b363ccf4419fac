"""Words that mean the same in a directory, from the text of a file: a line for each group, with commas between words.

Each word of a line finds what the others find. A word may be in several lines; it finds the words of all of them, and
these find no more by that.
"""

from collections.abc import Iterator

from directory.services.catalog.search_language import Synonyms
from directory.services.catalog.search_words import Unit, units

MOST_LINES, MOST_WORDS = 1_000, 20
COMMENT = "#"  # of a line that begins with it; c# may stand in a line


class WrongLine(Exception):
    """A line that is no group of words: its number, and why."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


def parse(text: str) -> Synonyms:
    """The synonyms of each word. Raises WrongLine."""
    synonyms: dict[str, dict[Unit, None]] = {}
    for count, (number, line) in enumerate(_lines(text), 1):
        if count > MOST_LINES:
            raise WrongLine(number, f"there are more than {MOST_LINES:,} lines of words")
        group = _group(number, line)
        for unit in group:
            synonyms.setdefault(unit.joined, {}).update((other, None) for other in group if other.joined != unit.joined)
    return {word: tuple(others) for word, others in synonyms.items()}


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that have words, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith(COMMENT):
            yield number, line


def _group(number: int, line: str) -> list[Unit]:
    """The words of a line. Raises WrongLine."""
    places = line.split(",")
    if len(places) > MOST_WORDS:
        raise WrongLine(number, f"has more than {MOST_WORDS} words")
    group = [_word(number, place.strip()) for place in places]
    if len({unit.joined for unit in group}) < 2:
        raise WrongLine(number, "has one word alone")
    return group


def _word(number: int, written: str) -> Unit:
    if not written:
        raise WrongLine(number, "has nothing between two commas, or before or behind one")
    words = units(written)
    if not words or not any(map(str.isalpha, written)):
        raise WrongLine(number, f'"{written}" has no letters')
    if len(words) > 1:
        raise WrongLine(number, f'"{written}" is more than one word')
    return words[0]
