"""The live projects that share most with one: tags, of which a rare one weighs more, then words, then the category.

Of the words of title and tagline those count that say something. One word alone does not make a project related.

Each tag leads to its newest projects, each word to those that have it, if these are few, and the category to its newest
ones. All tags of these candidates are weighed, whichever led to them. Equal candidates are ordered newest first. Votes
change none of it, so a stored answer stays valid when somebody votes for another project.
"""

from functools import cache
from typing import Any

from sqlalchemy import ARRAY, JSON, BigInteger, Double, Integer, String, bindparam, text

from directory.db.statements import Prepared
from directory.extensions import db
from directory.services.catalog import catalog, search_frequency
from directory.services.catalog.columns import P, shown
from directory.services.catalog.little_words import listed, without
from directory.services.catalog.search_words import ascii_form, units
from directory.services.identity import Caller

MOST = 6
NEWEST = 50  # live projects of a tag that are candidates
PASSED = 1_000  # projects of a tag, of any state, among which these are looked for
FEW = 50  # projects; a word that more of them have leads to none
MOST_WORDS = 6  # the longest words of title and tagline
# PostgreSQL's index reads all projects with a word before it gives the first. So it is not asked for a word that has
# far more of them than FEW, by its statistics.
SURELY_MANY = 1_000

# `asked` are the tags with their weights: 1,000 for a tag that all live projects have, and 693 more for each half.
_SQL = {
    "postgresql": f"""
WITH asked AS MATERIALIZED (
    SELECT given.tag, 1000 + round(1000 * ln(
        greatest(number.live, counted.live_projects)::float8 / counted.live_projects
    ))::bigint AS weight
    FROM unnest(:tags) AS given (tag)
    CROSS JOIN (SELECT sum(live_projects) AS live FROM categories) AS number
    JOIN tag_counts AS counted ON counted.tag = given.tag COLLATE "C" AND counted.live_projects > 0
), candidates AS (
    SELECT tagged.project_id AS id, 0 AS words FROM asked CROSS JOIN LATERAL (
        SELECT newest.project_id FROM (
            SELECT project_id FROM project_tags WHERE tag = asked.tag ORDER BY project_id DESC LIMIT {PASSED}
        ) AS newest JOIN standings USING (project_id)
        WHERE standings.status = 'live' ORDER BY newest.project_id DESC LIMIT {NEWEST}
    ) AS tagged
    UNION ALL
    SELECT found.id, 1 FROM unnest(:words, :shares) AS given (word, share) CROSS JOIN LATERAL (
        SELECT array_agg(search_leading) AS ids FROM search_leading('brief', given.word::tsquery, {FEW + 1})
    ) AS worded CROSS JOIN LATERAL unnest(worded.ids) AS found (id)
    WHERE given.share * (SELECT sum(live_projects) FROM categories) <= {SURELY_MANY} AND cardinality(ids) <= {FEW}
    UNION ALL
    (SELECT id, 0 FROM projects WHERE status = 'live' AND category_id = :category_id
    ORDER BY listed_at DESC, id DESC LIMIT {MOST + 1})
), gathered AS (
    SELECT id, sum(words) AS words FROM candidates WHERE id <> :project_id GROUP BY id
), scored AS MATERIALIZED (
    SELECT gathered.id, words, standings.category_id = :category_id AS is_near, coalesce((
        SELECT sum(asked.weight) FROM asked JOIN project_tags ON project_tags.tag = asked.tag
        WHERE project_tags.project_id = gathered.id
    ), 0) AS weight
    FROM gathered JOIN standings ON standings.project_id = gathered.id WHERE standings.status = 'live'
)
SELECT id, row_number() OVER (ORDER BY weight DESC, words DESC, is_near DESC, id DESC) AS place
FROM scored WHERE weight > 0 OR words > 1 OR is_near ORDER BY place LIMIT {MOST}
""",  # noqa: S608 (our own numbers)
    "sqlite": f"""
WITH asked AS MATERIALIZED (
    SELECT given.value AS tag, 1000 + CAST(round(1000 * ln(
        1.0 * max(number.live, counted.live_projects) / counted.live_projects
    )) AS INTEGER) AS weight, coalesce((
        SELECT project_id FROM project_tags WHERE tag = given.value ORDER BY project_id DESC LIMIT 1 OFFSET {PASSED}
    ), 0) AS passed
    FROM json_each(:tags) AS given
    CROSS JOIN (SELECT sum(live_projects) AS live FROM categories) AS number
    JOIN tag_counts AS counted ON counted.tag = given.value AND counted.live_projects > 0
), worded AS MATERIALIZED (
    SELECT (
        SELECT json_group_array(rowid) FROM (
            SELECT rowid FROM project_search_brief WHERE project_search_brief MATCH given.value LIMIT {FEW + 1}
        )
    ) AS ids FROM json_each(:words) AS given
), candidates AS (
    SELECT tagged.value AS id, 0 AS words FROM asked, json_each((
        SELECT json_group_array(project_id) FROM (
            SELECT project_id FROM project_tags WHERE tag = asked.tag AND project_id > asked.passed AND (
                SELECT status FROM standings WHERE standings.project_id = project_tags.project_id
            ) = 'live' ORDER BY project_id DESC LIMIT {NEWEST}
        )
    )) AS tagged
    UNION ALL
    SELECT found.value, 1 FROM worded, json_each(worded.ids) AS found WHERE json_array_length(worded.ids) <= {FEW}
    UNION ALL
    SELECT id, 0 FROM (
        SELECT id FROM projects WHERE status = 'live' AND category_id = :category_id
        ORDER BY listed_at DESC, id DESC LIMIT {MOST + 1}
    )
), gathered AS MATERIALIZED (
    SELECT id, sum(words) AS words FROM candidates WHERE id <> :project_id GROUP BY id
), scored AS MATERIALIZED (
    SELECT gathered.id, words, standings.category_id = :category_id AS is_near, coalesce((
        SELECT sum(asked.weight) FROM asked WHERE EXISTS (
            SELECT 1 FROM project_tags WHERE project_tags.tag = asked.tag AND project_tags.project_id = gathered.id
        )
    ), 0) AS weight
    FROM gathered CROSS JOIN standings ON standings.project_id = gathered.id WHERE +standings.status = 'live'
)
SELECT id, row_number() OVER (ORDER BY weight DESC, words DESC, is_near DESC, id DESC) AS place
FROM scored WHERE weight > 0 OR words > 1 OR is_near ORDER BY place LIMIT {MOST}
""",  # noqa: S608 (our own numbers)
}


def of(project: dict[str, Any], *, viewer: Caller | None) -> list[dict[str, Any]]:
    """Up to MOST live projects other than this one, as `viewer` sees them, those that share most with it first."""
    dialect = db.engine.dialect.name
    words = asked(f"{project['title']} {project['tagline']}")
    values = {"tags": project["tags"], "category_id": project["category_id"], "project_id": project["id"]}
    if dialect == "postgresql":
        values |= {"words": [f"'{word}'" for word in words], "shares": [*map(_share, words)]}
    else:
        values["words"] = [f'"{word}"' for word in words]
    viewed = {} if viewer is None else {"viewer_id": viewer.id}
    rows = _statement(viewer is not None, dialect).all({**values, **viewed})
    return catalog.views(rows, viewer)


def asked(text: str) -> list[str]:
    """The longest words of a text that say something, at most MOST_WORDS.

    What dots join is one word, and so is what has a part of one letter: of both the parts would be two words alike.
    """
    said = set[str]()
    for unit in units(" ".join(without(text.split()))):
        is_one = unit.dotted or (len(unit.parts) > 1 and min(map(len, unit.parts)) == 1)
        said.update(unit.asked if unit.unspaced or not is_one else [unit.joined])
    return sorted({ascii_form(word) for word in said - listed()}, key=lambda word: (-len(word), word))[:MOST_WORDS]


def _share(word: str) -> float:
    """The part of all projects that have a word, by PostgreSQL's statistics; 0 for a word that these do not list."""
    share = search_frequency.estimates()
    share_of_word, of_others = (0.0, 0.0) if share is None else (share(word, False), share("", False))
    return share_of_word if share_of_word > of_others else 0.0


@cache
def _statement(signed_in: bool, dialect: str) -> Prepared:
    of_texts = ARRAY(String) if dialect == "postgresql" else JSON()
    binds = [bindparam(name, type_=of_texts) for name in ("tags", "words")]
    binds += [bindparam(name, type_=BigInteger) for name in ("category_id", "project_id")]
    if dialect == "postgresql":
        binds.append(bindparam("shares", type_=ARRAY(Double)))
    places = text(_SQL[dialect]).bindparams(*binds).columns(id=BigInteger, place=Integer).subquery("found")
    return Prepared(shown(signed_in).join(places, places.c.id == P.id).order_by(places.c.place))
