"""The search index with the words of today: c++ and .net, e-mail as email, and the title as a whole.

Which words a text has is the service's to say, so they come from it, and what they are written to stands here.
"""

import re
import unicodedata

from alembic import op

from directory.services.catalog import search_index
from directory.services.data.rewriting import rewrite_words

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CREATE = "CREATE VIRTUAL TABLE project_search USING fts5(title, brief, description, tokenize={}, detail='column')"
SQLITE = "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, :description)"
POSTGRESQL = (
    "INSERT INTO project_search (project_id, document) VALUES (:id, CAST(:document AS tsvector)) "
    "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
)

WORD_BEFORE = re.compile(r"[^\W_]+")
UNSPACED_BEFORE = re.compile(r"[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def upgrade() -> None:
    # What is part of a word beside letters and digits: c++, c#, .net, and the = before a title as a whole.
    index_all("\"ascii tokenchars '+#.='\"", search_index.columns, search_index.vector)


def downgrade() -> None:
    index_all("'ascii'", columns_before, vector_before)


def index_all(tokenize, columns, vector) -> None:
    """Write the entry of every project anew."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE project_search")
        op.execute(CREATE.format(tokenize))
        rewrite_words(columns, vector, statements=(SQLITE,))
        return
    rewrite_words(columns, vector, statements=(POSTGRESQL,))


def words_before(value):
    """The words as the release before indexed them."""
    if not value.isascii():
        spread = UNSPACED_BEFORE.sub(r" \g<0> ", unicodedata.normalize("NFKD", value.casefold()))
        value = "".join(c for c in spread if not unicodedata.combining(c))
    found = (word[:64] for word in WORD_BEFORE.findall(value.lower()))
    return [word if word.isascii() else "x" + word.encode().hex() for word in found]


def parts_before(project):
    brief = f"{project.tagline} {' '.join(project.tags)}"
    return words_before(project.title), words_before(brief), words_before(project.description)


def columns_before(project):
    return dict(zip(("title", "brief", "description"), map(" ".join, parts_before(project)), strict=True))


def vector_before(project):
    weights = {}
    for weight, part in zip(("1A", "2B", "3"), parts_before(project), strict=True):
        for word in dict.fromkeys(part):
            weights.setdefault(word, []).append(weight)
    return {"document": " ".join(f"'{word}':{','.join(found)}" for word, found in weights.items())}
