"""The pictures of a project, as callers see them."""

import secrets
from typing import Any

from directory.models.base import addresses
from directory.services.pictures.pictures import MadePicture

PICTURES_MAX = 5
ALT_MAX = 140  # characters of the words of a picture
ID_MAX = 2**53 - 1  # the largest integer that every JSON parser keeps

PictureList = list[dict[str, Any]]


def described(made: MadePicture, digest: str, alt: str) -> dict[str, Any]:
    """A picture that is stored under the digest, as callers see it. Its id is new: no list had it before."""
    size = {"width": made.width, "height": made.height}
    return {"id": 1 + secrets.randbelow(ID_MAX), "alt": alt, **addresses(digest, "640", "1280"), **size}
