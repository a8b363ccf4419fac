"""The search index with the words of every script, of domains, and of words that are also spelled as one.

Which words a text has is defined by the service, as in 0009; those of the release before are here, for the way back. A
process of that release that still writes while this runs writes its own words. `flask recount`, run after the last
such process ended, finds and repairs these entries.
"""

import re
import unicodedata
from hashlib import blake2b

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import AT_ONCE, in_short_transaction
from directory.services.catalog import search_index

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

PROJECTS = sa.table(
    "projects",
    *(sa.column(name) for name in ("id", "title", "tagline", "description", "url")),
    sa.column("tags", sa.JSON),
)
POSTGRESQL = ("UPDATE project_search SET document = CAST(:document AS tsvector) WHERE project_id = :id",)
SQLITE = (
    "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, :description)",
    "INSERT OR REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)",
)
# Counts of matches that processes have stored are of the words before.
REMOVALS = sa.text("INSERT INTO project_search_removals VALUES (:number)")

WORD = r"(?:(?<![^\W_])[^\W_](?:\+\+|\#)|[^\W_]+)"
PART = re.compile(WORD)
UNIT = re.compile(rf"(?<![\w.])\.net(?![^\W_])|{WORD}(?:[-.\u2010]{WORD})*")
UNSPACED = re.compile(r"[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def upgrade() -> None:
    write_all(search_index.columns, search_index.vector)


def downgrade() -> None:
    write_all(columns_before, vector_before)


def write_all(columns, vector) -> None:
    """Write the entry of every project again, some at a time."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        follow(lambda last: write(bind, last, SQLITE, columns))
        return
    # In transactions of their own. Each holds its projects, so that no entry is written of a text that is changing.
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        follow(lambda last: in_short_transaction(bind, lambda: write(bind, last, POSTGRESQL, vector)))


def follow(write_after) -> None:
    last = 0
    while last is not None:
        last = write_after(last)


def write(bind, last, statements, entry):
    """Write the entries of the projects that follow the id `last`; return the last id, None after the last of them."""
    query = sa.select(PROJECTS).where(PROJECTS.c.id > last).order_by(PROJECTS.c.id).limit(AT_ONCE)
    projects = bind.execute(query.with_for_update(key_share=True)).all()
    if not projects:
        return None
    rows = [{"id": project.id, **entry(project)} for project in projects]
    for statement in statements:
        bind.execute(sa.text(statement), rows)
    bind.execute(REMOVALS, {"number": len(rows)})
    return projects[-1].id if len(projects) == AT_ONCE else None


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
