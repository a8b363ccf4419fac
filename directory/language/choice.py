"""The languages of a site, and the choice among them by what a client accepts."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.locales import from_longest, locale_of

# RFC 9110, sections 12.4.2 and 12.5.4.
RANGE = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?")
LONGEST = 500  # characters of an Accept-Language that are looked at
REMEMBERED = 512  # values of Accept-Language, each with its choice


class Languages:
    """The languages of a site: their tags, of which `default` is one, and their catalogues.

    A catalogue that is not `loaded` is made by `load` when it is first needed. With `several` languages the reader
    chooses. Problems and mails are `named` after their language, except where there is English alone.
    """

    def __init__(
        self, default: str = ENGLISH.tag, tags: Sequence[str] = (), load: Callable[[str], Catalogue] = Catalogue,
        loaded: Iterable[Catalogue] = (),
    ) -> None:  # fmt: skip
        self.default, self.tags, self._load = default, tuple(tags or (default,)), load
        self.several = len(self.tags) > 1
        self.named = self.tags != (ENGLISH.tag,)
        self._by_lower = {tag.lower(): tag for tag in self.tags}
        self._catalogues = {catalogue.tag: catalogue for catalogue in loaded}
        self.accepted = lru_cache(REMEMBERED)(self._accepted)

    @property
    def described(self) -> list[dict[str, str]]:
        """The languages: the tag of each, its own name of itself, and its direction."""
        locales = [(tag, locale_of(tag)) for tag in self.tags]
        return [{"tag": tag, "name": locale.name, "dir": locale.direction} for tag, locale in locales]

    def catalogue(self, tag: str = "") -> Catalogue:
        """The catalogue of a language; of the site's, without a tag."""
        tag = tag or self.default
        catalogue = self._catalogues.get(tag)
        if catalogue is None:  # two threads that come at once make the same one
            catalogue = self._catalogues[tag] = self._load(tag)
        return catalogue

    def known(self, tag: str | None) -> str:
        """The language of a tag, however it is written; empty if the site has none of that tag."""
        return self._by_lower.get(tag.lower(), "") if tag else ""

    def _accepted(self, header: str) -> str:
        """The language that an Accept-Language wants most; empty if the site has none of those that it names."""
        return next(filter(None, map(self._lookup, ranges(header[:LONGEST]))), "")

    def _lookup(self, wanted: str) -> str:
        """The language for a range: RFC 4647, section 3.4. The last range of all also finds one with a region."""
        for shorter in from_longest(wanted.lower()):
            if tag := self._by_lower.get(shorter):
                return tag
        return next((tag for lower, tag in self._by_lower.items() if lower.startswith(f"{shorter}-")), "")


def ranges(header: str) -> Iterator[str]:
    """The language ranges of an Accept-Language, the most wanted first, without those that are refused."""
    weighted = [(match[1], float(match[2] or 1)) for part in header.split(",") if (match := RANGE.fullmatch(part))]
    return (wanted for wanted, quality in sorted(weighted, key=lambda pair: -pair[1]) if quality)


PLAIN = Languages(load=lambda _tag: ENGLISH)  # English as it is written in the code
