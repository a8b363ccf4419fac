"""Logos and pictures of projects, stored by a hash of their content: what is at an address never changes.

A transaction that makes a project or a revision refer to one also stores it. Of each there are two sizes.
"""

from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, delete, or_, select

from directory.db.statements import Prepared
from directory.db.transactions import insert_into
from directory.errors import NotFound
from directory.extensions import db, modify
from directory.models import Logo, PictureUse, Project, Review, now
from directory.models.base import IMAGES, logo_addresses, small_digest
from directory.services import daily_bytes
from directory.services.clock import database_clock

# An unused logo is kept for this time after it was last stored, so that none is deleted while a transaction uses it.
UNUSED_FOR = timedelta(hours=1)
UNUSED_MAX = 20  # of an account; the newest


def store(pictures: tuple[bytes, bytes], *, by: int) -> dict[str, str]:
    """Store a logo made by `pictures.as_logo`, if it is new, and return the addresses of its pictures."""
    return logo_addresses(keep(pictures, by=by))


def keep(files: tuple[bytes, bytes], *, by: int | None = None) -> str:
    """Store two sizes of a logo or a picture, the smaller one first, if they are new, and return their digest."""
    small, large = files
    digest, stored = _digest(files), {"stored_at": now(), "stored_by": by}
    row = {"digest": digest, "small_digest": small_digest(digest), "large": large, "small": small, **stored}
    adding = insert_into(Logo).values(row)
    # An existing row is locked too, so that nobody deletes it before the transaction ends.
    modify(adding.on_conflict_do_update(index_elements=["digest"], set_=stored))
    for file in files:
        daily_bytes.note(file)
    return digest


def drop_unused(account_id: int) -> None:
    """Delete what an account has stored and nothing uses, but the newest UNUSED_MAX.

    What another transaction stores again meanwhile is younger than these, and stays.
    """
    db.session.flush()
    unused = select(Logo.digest, Logo.stored_at).where(Logo.stored_by == account_id, *_unused())
    rows = db.session.execute(unused.order_by(Logo.stored_at.desc(), Logo.digest).offset(UNUSED_MAX)).all()
    if rows:
        modify(delete(Logo).where(Logo.digest.in_(row.digest for row in rows), Logo.stored_at <= rows[0].stored_at))


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
    """Delete at most `most` logos and pictures that no project or case uses, and return the number."""
    before = database_clock() - UNUSED_FOR
    old = select(Logo.digest).where(Logo.stored_at < before, *_unused()).order_by(Logo.stored_at).limit(most)
    digests = list(db.session.scalars(old))
    gone = delete(Logo).where(Logo.digest.in_(digests), Logo.stored_at < before)
    return modify(gone) if digests else 0


def _unused() -> list[ColumnElement[bool]]:
    return [
        ~select(pointing).where(pointing == Logo.digest, pointing.is_not(None)).exists()
        for pointing in (Project.logo, Review.logo, PictureUse.digest)
    ]
