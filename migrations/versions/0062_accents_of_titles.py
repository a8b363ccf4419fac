"""Search entries that distinguish titles by their accents."""

from typing import Any

from directory.db.rewriting import rewrite_words
from directory.services.catalog import search_index
from directory.services.text.characters import accents

revision = "0062"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rewrite_words(search_index.columns, search_index.vector, has_accents)


def has_accents(project: Any) -> bool:
    return accents(project.title) != ""


def downgrade() -> None:
    """Go back: nothing was added."""
