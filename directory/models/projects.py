"""The content of the directory: categories, projects, their tags and votes."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    CheckConstraint,
    Computed,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import (
    BigId,
    Id,
    Instant,
    JsonList,
    JsonObject,
    LogoAddresses,
    OwnValues,
    Pictures,
    Status,
    UtcDateTime,
    one_of,
    only_where,
)

WITH_LOGO = only_where("logo IS NOT NULL")
# The key, or a part of it, of rows that go with their project.
OfProject = Annotated[
    int, mapped_column(BigId, ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True, autoincrement=False)
]


class Category(db.Model):  # type: ignore[name-defined,misc]
    """A category, and how many projects of each state it holds.

    Triggers maintain the three counters from `projects`, so that a list's total is a sum over the categories
    and not a scan of the projects.
    """

    __tablename__ = "categories"
    __table_args__ = (
        UniqueConstraint("slug"),  # every filter by category
        CheckConstraint("live_projects >= 0 AND pending_projects >= 0 AND rejected_projects >= 0", name="counters"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(String(50))
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(String(500), default="")
    live_projects: Mapped[int] = mapped_column(BigId, default=0)
    pending_projects: Mapped[int] = mapped_column(BigId, default=0)
    rejected_projects: Mapped[int] = mapped_column(BigId, default=0)


class CategorySlug(db.Model):  # type: ignore[name-defined,misc]
    """A slug that a category had before, and that still leads to it.

    Triggers on `categories` write it, and refuse it to any other category.
    """

    __tablename__ = "category_slugs"
    __table_args__ = (Index(None, "category_id"),)  # when the category goes

    slug: Mapped[str] = mapped_column(String(50), primary_key=True)
    category_id: Mapped[int] = mapped_column(BigId, ForeignKey("categories.id", ondelete="CASCADE"))


class Logo(db.Model):  # type: ignore[name-defined,misc]
    """A logo of 256 and of 64 pixels, or a picture of at most 1,280 and 640, under the digests that are their names.

    Projects with the same one share it. `stored_by` is the account that stored it last. Of those that nothing points to
    an account keeps a few; housekeeping deletes the others later.
    """

    __tablename__ = "logos"
    __table_args__ = (
        UniqueConstraint("small_digest"),  # the address of the small picture
        Index(None, "stored_at"),  # those that may have to go, oldest first
        Index(None, "stored_by", "stored_at"),  # those of an account
    )

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    small_digest: Mapped[str] = mapped_column(String(64))
    large: Mapped[bytes] = mapped_column(LargeBinary)
    small: Mapped[bytes] = mapped_column(LargeBinary)
    stored_at: Mapped[Instant] = mapped_column(default=now)
    stored_by: Mapped[int | None] = mapped_column(BigId)


class Project(db.Model):  # type: ignore[name-defined,misc]
    """A submission, in one of three states. What is under review of it, and how it was decided, is in `reviews`.

    `url_key` and `repository_key` are hashes of the normalised addresses. Triggers refuse two projects of an owner with
    one `url_key`, unless both have a repository and their `repository_key` differs. `hot` is the stored rank of
    sort=popular, `listed_at` the time by which sort=newest goes, `version` what an ETag names. `submitted_at`, which
    everybody reads, is the place of its last case as a submission. `domain` is the registrable domain of the
    website, `text_key` a digest of the description (services/text/keys.py). `links`, `repository` and `dead_since` are
    what answers say of what was seen of its links (`LinkCheck`).
    Triggers keep `project_tags`, `project_fields`, `picture_uses`, `standings` and the counters of categories, tags and
    own fields.
    """

    __tablename__ = "projects"
    __table_args__ = (
        one_of("status", Status),
        CheckConstraint("upvotes >= 0", name="upvotes"),
        CheckConstraint("status <> 'live' OR published_at IS NOT NULL", name="published"),
        Index(None, "owner_id", "url_key"),  # an owner's submissions of a URL
        Index(None, "url_key"),  # all submissions of a URL
        Index(None, "repository_key", **only_where("repository_key IS NOT NULL")),  # all projects of a repository
        # A list by state, newest first, with and without a category. The state leads, so they serve the review too.
        # None has a column that a vote changes: the orders by votes are those of `standings`.
        Index(None, "status", "listed_at", "id"),
        Index(None, "status", "category_id", "listed_at", "id"),
        Index(None, "status", "submitted_at", "id"),  # the projects of a state, oldest first
        Index(None, "domain", "status", **only_where("domain IS NOT NULL")),  # the projects of a domain, by state
        # Whether a rejected project has a description.
        Index("ix_projects_text_key", "text_key", **only_where("status = 'rejected' AND text_key IS NOT NULL")),
        Index(None, "category_id", "status", "submitted_at", "id"),  # its projects, oldest first
        Index(None, "owner_id", "status", "listed_at", "id"),  # an owner's projects; a user's statistics
        Index(None, "listed_at", "id"),  # an administrator's list of every state
        Index(None, "logo", **WITH_LOGO),  # whether a logo is used
        Index(None, "picked_at", "id", **only_where("picked_at IS NOT NULL")),  # the latest picks
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    owner_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    category_id: Mapped[int] = mapped_column(BigId, ForeignKey("categories.id", ondelete="RESTRICT"))
    title: Mapped[str] = mapped_column(String(100))
    slug: Mapped[str] = mapped_column(String(80))
    tagline: Mapped[str] = mapped_column(String(140))
    author: Mapped[str | None] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(Text, default="")
    url: Mapped[str] = mapped_column(String(2048))
    url_key: Mapped[str] = mapped_column(String(64))
    repository_url: Mapped[str | None] = mapped_column(String(2048))
    repository_key: Mapped[str | None] = mapped_column(String(64))
    logo_url: Mapped[str | None] = mapped_column(String(2048))
    logo: Mapped[dict[str, str] | None] = mapped_column(LogoAddresses(), ForeignKey("logos.digest"))
    pictures: Mapped[list[dict[str, Any]]] = mapped_column(Pictures(), nullable=True, default=list)
    tags: Mapped[list[str]] = mapped_column(JsonList, default=list)
    fields: Mapped[dict[str, Any]] = mapped_column(OwnValues(), nullable=True, default=dict)
    status: Mapped[str] = mapped_column(String(16), default=Status.PENDING)
    upvotes: Mapped[int] = mapped_column(BigId, default=0)
    hot: Mapped[float] = mapped_column(Float(53))
    version: Mapped[int] = mapped_column(BigId, default=1)
    created_at: Mapped[Instant] = mapped_column(default=now)
    updated_at: Mapped[Instant]
    submitted_at: Mapped[Instant]
    published_at: Mapped[Instant | None]
    picked_at: Mapped[Instant | None]
    picked_words: Mapped[str | None] = mapped_column(String(200))
    domain: Mapped[str | None] = mapped_column(String(255))
    text_key: Mapped[str | None] = mapped_column(String(32))
    links: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    repository: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    dead_since: Mapped[Instant | None]
    listed_at: Mapped[datetime] = mapped_column(
        UtcDateTime(), Computed("COALESCE(published_at, created_at)", persisted=True)
    )


class PictureUse(db.Model):  # type: ignore[name-defined,misc]
    """A picture in the list of a project, or in the changes of a case (`is_held`), so that it stays stored.

    Triggers keep the table from `projects.pictures` and `reviews.changes`.
    """

    __tablename__ = "picture_uses"
    __table_args__ = (Index(None, "digest"),)  # whether a picture is used

    project_id: Mapped[OfProject]
    is_held: Mapped[bool] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), ForeignKey("logos.digest"), primary_key=True)


class VoteRanking(db.Model):  # type: ignore[name-defined,misc]
    """The votes and rank of a project, maintained by triggers from `projects`: the indexes behind the orders.

    Whatever changes an indexed column rewrites every index of the table on PostgreSQL. Here a vote does so, to
    narrow rows and five indexes, and to none of those of `projects`.
    """

    __tablename__ = "standings"
    __table_args__ = (
        # A list by state in either order, with and without a category.
        Index(None, "status", "upvotes", "project_id"),
        Index(None, "status", "hot", "project_id"),
        Index(None, "status", "category_id", "upvotes", "project_id"),
        Index(None, "status", "category_id", "hot", "project_id"),
    )

    project_id: Mapped[OfProject]
    status: Mapped[str] = mapped_column(String(16))
    category_id: Mapped[int] = mapped_column(BigId)
    upvotes: Mapped[int] = mapped_column(BigId)
    hot: Mapped[float] = mapped_column(Float(53))


class ProjectTag(db.Model):  # type: ignore[name-defined,misc]
    """A tag of a project, maintained by triggers from `projects.tags`: the index behind the filter by tag."""

    __tablename__ = "project_tags"
    __table_args__ = (Index(None, "project_id"),)  # a project's tags, when they change or it goes

    tag: Mapped[str] = mapped_column(String(32), primary_key=True)
    project_id: Mapped[OfProject]


class TagCount(db.Model):  # type: ignore[name-defined,misc]
    """The number of live projects with a tag, counted by triggers on `projects`; a tag without any may stay, at zero.

    Tags are in the order of their bytes on both databases, so that those with one prefix are a range of the key.
    """

    __tablename__ = "tag_counts"
    __table_args__ = (CheckConstraint("live_projects >= 0", name="live_projects"),)

    tag: Mapped[str] = mapped_column(String(32, collation="C").with_variant(String(32), "sqlite"), primary_key=True)
    live_projects: Mapped[int] = mapped_column(BigId)


Index("ix_tag_counts_live_projects_tag", TagCount.live_projects.desc(), TagCount.tag)  # the tags, most used first


class Upvote(db.Model):  # type: ignore[name-defined,misc]
    """One vote of a user for a project; the key prevents a second one.

    It counts unless the user is suspended or it is discounted (directory.services.votes.voting).
    """

    __tablename__ = "upvotes"
    __table_args__ = (
        Index(None, "project_id", "created_at", "user_id"),  # a project's votes, newest first; to count them again
        Index(None, "created_at"),  # votes a day
    )

    user_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="RESTRICT"), primary_key=True, autoincrement=False
    )
    project_id: Mapped[OfProject]
    created_at: Mapped[Instant] = mapped_column(default=now)


class VoteDiscount(db.Model):  # type: ignore[name-defined,misc]
    """An administrator's decision that a user's vote for a project does not count. It stays while there is no vote.

    `user_id` is not a foreign key: its check would lock the account after the project, and a suspension locks the
    account before it. Accounts are never removed, and the deletion of one deletes its discounts.
    """

    __tablename__ = "vote_discounts"
    __table_args__ = (Index(None, "project_id"),)  # when the project goes

    user_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    project_id: Mapped[OfProject]
