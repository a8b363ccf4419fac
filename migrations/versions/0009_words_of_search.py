"""The search index with the words of today: c++ and .net, e-mail as email, and the title as a whole.

Which words a text has is the service's to say, so they come from it, and what they are written to stands here.
"""

import re
import unicodedata

import sqlalchemy as sa
from alembic import op

from directory.services.catalog import search_index

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

AT_ONCE = 500
PROJECTS = sa.table(
    "projects",
    *(sa.column(name) for name in ("id", "title", "tagline", "description", "url")),
    sa.column("tags", sa.JSON),
)
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
        write_all(lambda last: write(last, SQLITE, columns))
        return
    # In transactions of their own, so that an edit waits for one batch and not for the whole migration. A batch holds
    # its projects, so that no entry is written of a text that is being changed.
    with op.get_context().autocommit_block():
        write_all(lambda last: in_transaction(write, last, POSTGRESQL, vector))


def write_all(write_after) -> None:
    last = 0
    while last is not None:
        last = write_after(last)


def in_transaction(work, *arguments):
    """Do it within a transaction, over a connection that commits each statement otherwise."""
    op.execute("BEGIN")
    try:
        done = work(*arguments)
    except BaseException:
        op.execute("ROLLBACK")
        raise
    op.execute("COMMIT")
    return done


def write(last, statement, entry):
    """Index the projects that follow the id `last`; return the last id, None where there are no more."""
    bind = op.get_bind()
    query = sa.select(PROJECTS).where(PROJECTS.c.id > last).order_by(PROJECTS.c.id).limit(AT_ONCE)
    found = bind.execute(query.with_for_update(key_share=True)).all()
    if found:
        bind.execute(sa.text(statement), [{"id": project.id, **entry(project)} for project in found])
    return found[-1].id if found else None


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
