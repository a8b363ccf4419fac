"""The search index and the keys of addresses by the rules of today, which take more words and addresses for equal.

More parameters of an address track visitors, and escapes count as what they stand for also beside bytes that are not
UTF-8. Equal are also more spellings of letters in scripts of Asia, small capitals, and more signs for hyphens and
apostrophes; emoji are words although Python does not know them yet. All these words are not ASCII.

Entries and keys stay as they are when the migration is undone; `flask recount` of the previous version replaces them.
"""

from directory.services.data.rewriting import rewrite_keys, rewrite_words
from directory.services.catalog import search_index

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rewrite_keys()
    rewrite_words(search_index.columns, search_index.vector, concerns=is_international)


def is_international(project) -> bool:
    texts = (project.title, project.tagline, project.description, *project.tags, project.url)
    return not all(map(str.isascii, texts)) or "xn--" in project.url.lower()


def downgrade() -> None:
    pass
