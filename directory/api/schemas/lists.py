"""The schemas of the lists of projects: their filters, pages, facets and counts."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from directory.api.schemas.own_filters import Narrowed
from directory.api.schemas.paging import PageQuery, Pagination
from directory.api.schemas.projects import STATUSES, USERNAME, CategoryRef, ProjectDetail
from directory.http.fields import (
    Matching,
    Published,
    Search,
    Slug,
    Strict,
    Tags,
    Word,
)
from directory.language.messages import _
from directory.services.catalog import orders
from directory.services.catalog.facets import MOST as FACETS
from directory.services.catalog.nearest import MOST as NEAREST
from directory.services.catalog.nearest import MOST_WORDS
from directory.services.catalog.own_filters import MOST as VALUES
from directory.services.catalog.related import MOST as RELATED
from directory.services.catalog.search import MOST
from directory.services.catalog.search_words import MAX_WORD_LENGTH, MAX_WORDS
from directory.services.catalog.suggestions import MOST as SUGGESTIONS
from directory.services.catalog.suggestions import OPERATORS
from directory.services.text.rules import CATEGORY_SLUG_MAX

SEARCH = (
    "Full-text search in title, tagline, author, description and tags, for projects that have all of its words: "
    f"of the first {MAX_WORDS} words the first {MAX_WORD_LENGTH} letters. A word of two letters or more matches words "
    "that begin with it, an English plural its singular. Articles, pronouns, prepositions, conjunctions and the like "
    "are left out where there are other words. A word also finds what its synonyms find, which the operator names. "
    "Words in quotes are a phrase, with all of its words and without synonyms; there are no other operators. "
    "The best match is a title that equals the query; then all words whole in the title, in title, tagline, author "
    "and tags, and as beginnings of words in the same two; then the matches by the description alone, and last those "
    f"by synonyms. Equal ones are ordered by votes. Of more than {MOST:,} matches the best are found among the "
    f"{MOST:,} with the most votes; the other orders are complete."
)


class Owner(Matching):
    """Whose projects: a username, or `me`."""

    def __init__(self) -> None:
        says = _("Must be a username, or me.")
        super().__init__(f"me|{USERNAME}", 32, says=says, metadata={"description": "A username, or `me` (signed in)."})


class ProjectPage(Strict):
    """A page of projects."""

    items = fields.List(fields.Nested(ProjectDetail), required=True)
    pagination = fields.Nested(Pagination, required=True)
    suggestions = fields.List(
        fields.String(),
        metadata={
            "maxItems": SUGGESTIONS,
            "description": "If a search found nothing: queries that find something, in which the words that find "
            "nothing have the nearest spellings among the words that live projects have in their titles, taglines, "
            "tags and authors, nearest first. The list is empty if no spelling is near.",
        },
    )
    nearest = fields.List(
        fields.Nested(ProjectDetail),
        metadata={
            "maxItems": NEAREST,
            "description": f"If a search of two to {MOST_WORDS} words finds fewer than three live projects: on its "
            "first page, best match first, others that have more than half of the words, under the same filters. Those "
            "with more of the words come first, then the best matches. Of two words one is enough, and those with the "
            "rarer one come first. Words that are left out do not count. The list is empty if there are none.",
        },
    )
    searched_as_words = fields.List(
        fields.String(),
        metadata={
            "maxItems": OPERATORS,
            "description": "If `q` has what other searches take as operators (`-word`, `AND`, `OR`, `NOT`, "
            "`name:value`): the first of them. This search does not take them as operators.",
        },
    )


class ProjectQuery(Narrowed, PageQuery):
    """The public list's parameters."""

    status = Word(STATUSES, metadata={"description": "Default live; with owner=me every state."})
    category = Slug(CATEGORY_SLUG_MAX, metadata={"description": "A category's slug; an unknown one finds nothing."})
    sort = Word(
        (*orders.PUBLIC, "picked"),
        metadata={"description": "Default newest; with q best match; with `picked`, and only there, the last pick."},
    )
    q = Search(200, metadata={"description": SEARCH})
    tag = Tags(metadata={"description": "Projects that carry this tag; of several, separated by commas, all."})
    owner = Owner()
    upvoted = Word(("me",), metadata={"description": "The projects that the caller has voted for (signed in)."})
    published = Published()
    picked = Word(("true",), metadata={"description": "Only live projects that reviewers have picked."})

    @validates_schema
    def _picks(self, data: dict[str, Any], **_kwargs: object) -> None:
        if data.get("sort") == "picked" and not data.get("picked"):
            raise ValidationError(_("Needs picked=true."), "sort")


class FacetsQuery(ProjectQuery):
    """The filters of the public list of live projects."""

    class Meta(ProjectQuery.Meta):
        exclude = ("status", "sort", "upvoted", "picked", "page", "limit", "cursor")

    owner = Matching(  # type: ignore[assignment]
        USERNAME, 32, says=_("Must be a username."), metadata={"description": "A username."}
    )


class FacetOfCategory(CategoryRef):
    """A category, and how many projects of the list are in it."""

    live_projects = fields.Integer(required=True, metadata={"minimum": 1})


class FacetOfTag(Strict):
    """A tag, and how many projects of the list have it."""

    tag = fields.String(required=True)
    live_projects = fields.Integer(required=True, metadata={"minimum": 1})


class FacetOfValue(Strict):
    """A value of a field, as the filter takes it, and how many projects of the list have it."""

    value = fields.String(required=True)
    label = fields.String(required=True)
    live_projects = fields.Integer(required=True, metadata={"minimum": 1})


class FacetsOutput(Strict):
    """The categories, the most used tags and the values of the operator's own fields of a list."""

    categories = fields.List(fields.Nested(FacetOfCategory), required=True)
    tags = fields.List(fields.Nested(FacetOfTag), required=True, metadata={"maxItems": FACETS})
    capped = fields.Boolean(
        required=True,
        metadata={
            "description": f"Whether more than {MOST:,} projects match; then the newest {MOST:,} are counted. "
            "Of a search, or a list by tags or own fields, the numbers may be estimated from some of these."
        },
    )
    fields = fields.Dict(  # type: ignore[assignment]
        keys=fields.String(), values=fields.List(fields.Nested(FacetOfValue), metadata={"maxItems": VALUES}),
        required=True,
        metadata={"description": "Of the operator's own fields that are facets and have choices, by their names."},
    )  # fmt: skip


class RelatedOutput(Strict):
    """The projects that share most with one, most first."""

    items = fields.List(fields.Nested(ProjectDetail), required=True, metadata={"maxItems": RELATED})


class CountsQuery(Strict):
    """Whose projects to count."""

    owner = Word(("me",), required=True, metadata={"description": "The caller."})


class CountsOutput(Strict):
    """How many projects are in each state."""

    live = fields.Integer(required=True, metadata={"minimum": 0})
    pending = fields.Integer(required=True, metadata={"minimum": 0})
    rejected = fields.Integer(required=True, metadata={"minimum": 0})
