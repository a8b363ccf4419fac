"""Logos and pictures of projects, stored by a hash of their content: what is at an address never changes.

A transaction that makes a project or a revision refer to one also stores it. Of each there are two sizes.
"""

from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sqlalchemy import bindparam, case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql
from directory.errors import NotFound
from directory.extensions import db, modify
from directory.models import Logo, PictureUse, Project, Revision, now
from directory.models.base import IMAGES, logo_addresses, small_digest
from directory.services.clock import database_clock

# An unused logo is kept for this time after it was last stored, so that none is deleted while a transaction uses it.
UNUSED_FOR = timedelta(hours=1)


def store(pictures: tuple[bytes, bytes]) -> dict[str, str]:
    """Store a logo made by `pictures.as_logo`, if it is new, and return the addresses of its pictures."""
    return logo_addresses(keep(pictures))


def keep(files: tuple[bytes, bytes]) -> str:
    """Store two sizes of a logo or a picture, the smaller one first, if they are new, and return their digest."""
    small, large = files
    digest = _digest(files)
    row = {"digest": digest, "small_digest": small_digest(digest), "large": large, "small": small, "stored_at": now()}
    adding = (postgresql if on_postgresql() else sqlite).insert(Logo).values(row)
    # An existing row is locked too, so that housekeeping does not delete it before the transaction ends.
    keeping = adding.on_conflict_do_update(index_elements=["digest"], set_={"stored_at": row["stored_at"]})
    modify(keeping)
    return digest


def addresses(pictures: tuple[bytes, bytes]) -> dict[str, str]:
    """The addresses of a logo made by `pictures.as_logo`, whether it is stored or not."""
    return logo_addresses(_digest(pictures))


def digest_of(address: str) -> str:
    """The digest in the address of a picture."""
    return address.removeprefix(IMAGES).removesuffix(".webp")


def _digest(pictures: tuple[bytes, bytes]) -> str:
    return sha256(pictures[1]).hexdigest()


def picture(digest: str) -> bytes:
    """The picture with this digest. Raises NotFound."""
    row = _picture().first({"digest": digest})
    if row is None:
        raise NotFound
    return bytes(row[0])


@lru_cache
def _picture() -> Prepared:
    wanted: Any = bindparam("digest")
    shown = case((Logo.digest == wanted, Logo.large), else_=Logo.small)
    return Prepared(select(shown).where(or_(Logo.digest == wanted, Logo.small_digest == wanted)))


def purge(most: int) -> int:
    """Delete at most `most` logos and pictures that no project or revision uses, and return the number."""
    unused = (
        ~select(pointing).where(pointing == Logo.digest, pointing.is_not(None)).exists()
        for pointing in (Project.logo, Revision.logo, PictureUse.digest)
    )
    before = database_clock() - UNUSED_FOR
    old = select(Logo.digest).where(Logo.stored_at < before, *unused).order_by(Logo.stored_at).limit(most)
    digests = list(db.session.scalars(old))
    gone = delete(Logo).where(Logo.digest.in_(digests), Logo.stored_at < before)
    return modify(gone) if digests else 0
