"""Composing made-up names and texts out of lists of words."""

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

OPENINGS = (
    "{title} is a small program {purpose}.",
    "{title} was made {purpose}, and does little else.",
    "{title} began as a weekend's work {purpose}.",
    "We wrote {title} {purpose}, because nothing that we tried was simple enough.",
)
MIDDLES = (
    "It can also be used {purpose}.",
    "It runs on Linux, macOS and Windows and keeps its settings in one file.",
    "Others use it {purpose}, which we did not foresee.",
    "It stores everything in plain files, so that you can leave with your data at any time.",
    "There is a command line for scripts and a page for everybody else.",
    "An extension {purpose} comes with it.",
)
ENDINGS = (
    "Reports of faults are welcome, patches even more.",
    "The documentation has a tour of ten minutes.",
    "It is free software and looks for people who help.",
    "A new version comes out every few weeks.",
)


class Composer:
    """Makes names and texts from a seed: the same ones for the same seed."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        words = _words()
        self.adjectives, self.nouns = words["adjectives"], words["nouns"]
        self.purposes, self.topics = words["purposes"], words["topics"]

    def username(self, number: int) -> str:
        """A name that `number` makes unique; at most 32 characters up to 9 digits."""
        return f"{self.one(self.adjectives)}-{self.one(self.nouns)}{number}"

    def title(self) -> str:
        """Two words, or one."""
        noun: str = self.one(self.nouns).capitalize()
        return noun if self.rng.random() < 0.2 else f"{self.one(self.adjectives).capitalize()} {noun}"

    def tagline(self) -> str:
        """The tagline: its purpose, in a line."""
        return f"{self.one(self.adjectives).capitalize()} software {self.one(self.purposes)}"

    def description(self, title: str) -> str:
        """A paragraph of two to five sentences."""
        middles = self.rng.sample(MIDDLES, self.rng.randrange(4))
        sentences = (self.one(OPENINGS), *middles, self.one(ENDINGS))
        return " ".join(s.format(title=title, purpose=self.one(self.purposes)) for s in sentences)

    def tags(self) -> list[str]:
        """None to five topics."""
        return self.rng.sample(self.topics, self.rng.randrange(6))

    def one(self, words: Sequence[str]) -> str:
        """One of the words; many times as fast as `choice`."""
        return words[int(self.rng.random() * len(words))]


@cache
def _words() -> dict[str, list[str]]:
    words: dict[str, list[str]] = json.loads((Path(__file__).parent / "words.json").read_text(encoding="utf-8"))
    return words
