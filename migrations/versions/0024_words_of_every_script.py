"""The search index with the words of every script, of domains, and of words that are also spelled as one.

Which words a text has is defined by the service, as in 0009; those of the release before are here, for the way back.
"""

import re
import unicodedata
from hashlib import blake2b

from directory.services.data.rewriting import rewrite_words
from directory.services.catalog import search_index

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

WORD = r"(?:(?<![^\W_])[^\W_](?:\+\+|\#)|[^\W_]+)"
PART = re.compile(WORD)
UNIT = re.compile(rf"(?<![\w.])\.net(?![^\W_])|{WORD}(?:[-.\u2010]{WORD})*")
UNSPACED = re.compile(r"[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def upgrade() -> None:
    rewrite_words(search_index.columns, search_index.vector)


def downgrade() -> None:
    rewrite_words(columns_before, vector_before)


def units_before(text):
    """The words of a text as the release before indexed them, each with its parts."""
    if not text.isascii():
        spread = UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFKD", text.casefold()))
        text = unicodedata.normalize("NFC", "".join(c for c in spread if not unicodedata.combining(c)))
    return [
        (found,) if found == ".net" else tuple(part[:64] for part in PART.findall(found))
        for found in UNIT.findall(text.lower())
    ]


def words_before(text):
    words = []
    for parts in units_before(text):
        joined = "".join(parts)[:64]
        words += [*parts, *([joined] if len(parts) > 1 and not joined.isdecimal() else ())]
    return [word if word.isascii() else "x" + word.encode().hex() for word in words]


def parts_before(project):
    joined = "".join(part for parts in units_before(project.title) for part in parts)
    whole = ["=" + blake2b(joined.encode(), digest_size=16).hexdigest()] if joined else []
    brief = f"{project.tagline} {' '.join(project.tags)}"
    return [*words_before(project.title), *whole], words_before(brief), words_before(project.description)


def columns_before(project):
    return dict(zip(("title", "brief", "description"), map(" ".join, parts_before(project)), strict=True))


def vector_before(project):
    weights = {}
    for weight, part in zip(("1A", "2B", "3"), parts_before(project), strict=True):
        for word in dict.fromkeys(part):
            weights.setdefault(word, []).append(weight)
    return {"document": " ".join(f"'{word}':{','.join(found)}" for word, found in weights.items())}
