"""What becomes of the list of a project's pictures.

Each function returns the list after a change, or raises. `submissions.edit` calls it with the list as the caller wants
the project, under the lock of the project: for the owner of a live project that of the revision.
"""

from typing import Any

from directory.errors import Invalid, NotFound, TooMany
from directory.language.messages import _
from directory.services.pictures.pictures import PICTURES_MAX, PictureList

FULL = _("A project can have {number} pictures. Delete one first.", number=PICTURES_MAX)
OTHER_IDS = _("Must be the ids of all pictures of the project, each once.")


def with_one_more(pictures: PictureList, picture: dict[str, Any]) -> PictureList:
    """The pictures and a new one, the last. Raises TooMany."""
    if len(pictures) >= PICTURES_MAX:
        raise TooMany(FULL)
    return [*pictures, picture]


def ordered(pictures: PictureList, ids: list[int]) -> PictureList:
    """The pictures in the order of their ids. Raises Invalid unless these are all of them."""
    by_id = {picture["id"]: picture for picture in pictures}
    if sorted(by_id) != sorted(ids):
        raise Invalid.field("order", OTHER_IDS)
    return [by_id[picture_id] for picture_id in ids]


def moved(pictures: PictureList, picture_id: int, by: int) -> PictureList:
    """The pictures with one of them `by` places later, or earlier if it is negative. Raises NotFound."""
    at = _place(pictures, picture_id)
    rest = pictures[:at] + pictures[at + 1 :]
    place = max(0, at + by)
    return [*rest[:place], pictures[at], *rest[place:]]


def with_words(pictures: PictureList, picture_id: int, alt: str) -> PictureList:
    """The pictures, one of them with other words. Raises NotFound."""
    at = _place(pictures, picture_id)
    return [*pictures[:at], {**pictures[at], "alt": alt}, *pictures[at + 1 :]]


def without(pictures: PictureList, picture_id: int) -> PictureList:
    """The pictures without one of them. Raises NotFound."""
    at = _place(pictures, picture_id)
    return pictures[:at] + pictures[at + 1 :]


def _place(pictures: PictureList, picture_id: int) -> int:
    places = (place for place, picture in enumerate(pictures) if picture["id"] == picture_id)
    if (at := next(places, None)) is None:
        raise NotFound
    return at
