"""Column types and words that several tables share."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, DateTime, Dialect, Integer, String, TypeDecorator, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import mapped_column

HIGHEST_ID = 2**63 - 1
IMAGES = "/images/"  # what the paths of pictures begin with


class Status(StrEnum):
    """The states of a project."""

    LIVE = "live"
    PENDING = "pending"
    REJECTED = "rejected"


class Role(StrEnum):
    """The roles of a user."""

    MEMBER = "member"
    REVIEWER = "reviewer"
    ADMIN = "admin"


LOCAL = "local"  # the source of a role that no provider gave


class AccountStatus(StrEnum):
    """The states of an account."""

    ACTIVE = "active"
    SUSPENDED = "suspended"


class LinkPurpose(StrEnum):
    """The purpose of a mailed link, or the subject of a notice without a link."""

    RESET = "reset"
    VERIFY = "verify"
    EMAIL_CHANGED = "email_changed"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 (no password)
    PASSKEY_ADDED = "passkey_added"
    PASSKEY_REMOVED = "passkey_removed"


class DeliveryState(StrEnum):
    """The states of a webhook delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class UtcDateTime(TypeDecorator[datetime]):
    """An instant, always aware and in UTC; SQLite, which knows no zones, stores it without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a naive time: it would be another instant on the other database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime cannot be stored")
        utc = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """Give the zone back to what SQLite returned."""
        return None if value is None else value.replace(tzinfo=UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """None for PostgreSQL: our connections have the zone UTC, so the driver's own instants are as we want them."""
        return None if dialect.name == "postgresql" else super().result_processor(dialect, coltype)


class LogoAddresses(TypeDecorator[dict[str, str]]):
    """A logo as callers see it, the addresses of its pictures by their size; stored as the digest of the larger one."""

    impl = String(64)
    cache_ok = True

    def process_bind_param(self, value: dict[str, str] | None, _dialect: Dialect) -> str | None:
        """The digest."""
        return None if value is None else value["256"].removeprefix(IMAGES).removesuffix(".webp")

    def process_result_value(self, value: str | None, _dialect: Dialect) -> dict[str, str] | None:
        """The addresses."""
        return None if value is None else logo_addresses(value)


def logo_addresses(digest: str) -> dict[str, str]:
    """The addresses of a logo's pictures. They never change, for a picture has the name of its content."""
    return addresses(digest, "64", "256")


def addresses(digest: str, small: str, large: str) -> dict[str, str]:
    """The addresses of a stored picture in its two sizes, by their names."""
    return {small: f"{IMAGES}{small_digest(digest)}.webp", large: f"{IMAGES}{digest}.webp"}


def small_digest(digest: str) -> str:
    """The name of the smaller picture, which is made of the larger one."""
    return sha256(f"64 {digest}".encode()).hexdigest()


# In place of null, which has no position in an order that a cursor could name.
NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def one_of(column: str, words: Iterable[StrEnum]) -> CheckConstraint:
    """A check that `column` holds one of the words, all of an enumeration or some."""
    listed = ", ".join(f"'{word.value}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def only_where(condition: str, on_sqlite: str | None = None) -> dict[str, Any]:
    """The options of an index that holds only the rows that meet a condition, written as statements write it."""
    return {"postgresql_where": text(condition), "sqlite_where": text(on_sqlite or condition)}


# SQLite gives an automatic id to INTEGER keys only; both databases hold 63 bits.
BigId = BigInteger().with_variant(Integer(), "sqlite")
JsonList = JSON().with_variant(JSONB(), "postgresql")
JsonIds = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
JsonObject = JSON(none_as_null=True)  # as text on PostgreSQL too, so that its members keep their order


class Pictures(TypeDecorator[list[dict[str, Any]]]):
    """The pictures of a project as callers see them, in their order; stored as null if there are none."""

    impl = JsonObject
    cache_ok = True

    def process_bind_param(self, value: list[dict[str, Any]] | None, _dialect: Dialect) -> Any:
        """The list, or null."""
        return value or None

    def process_result_value(self, value: Any, _dialect: Dialect) -> list[dict[str, Any]]:
        """The list."""
        return value or []


class OwnValues(TypeDecorator[dict[str, Any]]):
    """The values of a project's own fields by name; stored as null if there are none.

    They are read in the order of their names, which PostgreSQL does not keep.
    """

    impl = JsonIds
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, _dialect: Dialect) -> Any:
        """The values, or null."""
        return value or None

    def process_result_value(self, value: Any, _dialect: Dialect) -> dict[str, Any]:
        """The values."""
        return dict(sorted(value.items())) if value else {}


Id = Annotated[int, mapped_column(BigId, primary_key=True)]
Instant = Annotated[datetime, mapped_column(UtcDateTime())]
