"""Where a page of a list begins, and where the list goes on."""

from marshmallow import fields

from directory.http.fields import Strict, Whole, document
from directory.language.messages import _
from directory.services.catalog.search import MOST


class Pagination(Strict):
    """The page's place in the list. `page` is null for a request by cursor; a cursor is null at an end of the list."""

    page = fields.Integer(required=True, allow_none=True)
    limit = fields.Integer(required=True)
    total = fields.Integer(required=True)
    total_capped = fields.Boolean(
        required=True,
        metadata={"description": f"Whether more than `total` match: of a search no more than {MOST:,} are counted."},
    )
    pages = fields.Integer(required=True)
    next_cursor = fields.String(required=True, allow_none=True)
    prev_cursor = fields.String(required=True, allow_none=True)


class CursorPagination(Strict):
    """The next and previous page of a list that has only cursors."""

    limit = fields.Integer(required=True)
    next_cursor = fields.String(required=True, allow_none=True)
    prev_cursor = fields.String(required=True, allow_none=True)


class Cursor(fields.String):
    """A place in a list, as an earlier answer gave it out."""

    def __init__(self) -> None:
        super().__init__()
        what = "`next_cursor` or `prev_cursor` of an earlier answer to the same filters and sort."
        document(self, description=what, pattern="^[A-Za-z0-9_-]+$")


class PageQuery(Strict):
    """The parameters of every list with pages. `page` and `cursor` exclude each other."""

    page = Whole(
        1,
        10_000,
        says=_("Pages end after {number} items. Go on with the cursor.", number="10,000"),
        metadata={"description": "From 1; reaches 10,000 items deep, a cursor any depth."},
    )
    limit = Whole(1, 100, load_default=20, metadata={"default": 20})
    cursor = Cursor()


class CursorQuery(Strict):
    """Lists that page by cursor alone."""

    limit = Whole(1, 100, load_default=20, metadata={"default": 20})
    cursor = Cursor()
