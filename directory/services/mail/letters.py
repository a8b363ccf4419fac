"""What mail says: subjects and texts, plain, each with the name and the address of the site."""

import re
from dataclasses import dataclass

from directory.services.site import Site

SUBJECT_MAX = 200
# Line breaks and controls, and what turns the text around it. A subject is a header: no title may end it.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Letter:
    """A subject of one line, and a text."""

    subject: str
    text: str


def letter(site: Site, subject: str, *paragraphs: str) -> Letter:
    """A letter in the form of all: the paragraphs, and the name and address of the site below them."""
    signature = f"-- \n{site.name}\n{site.address('/')}\n"
    return Letter(one_line(subject)[:SUBJECT_MAX], "\n\n".join([*paragraphs, signature]))


def one_line(text: str) -> str:
    """Foreign text as a part of a line."""
    return UNSAFE.sub(" ", text)


def test(site: Site) -> Letter:
    """The letter that shows that mail arrives."""
    return letter(site, f"Test mail from {site.name}", f"This is a test. {site.name} can send mail to this address.")
