"""The content of the directory: categories, projects, their tags and votes."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    CheckConstraint,
    Computed,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    text,
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
    Pictures,
    Status,
    UtcDateTime,
    one_of,
    only_where,
)

WITH_LOGO = only_where("logo IS NOT NULL")
CLOSING = only_where("closes_at IS NOT NULL")
HELD = only_where("held_until IS NOT NULL")
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
    """A submission, in one of three states.

    `url_key` and `repository_key` are hashes of the normalised addresses. Triggers refuse two projects of an owner with
    one `url_key`, unless both have a repository and their `repository_key` differs. `hot` is the stored rank of
    sort=popular, `listed_at` the time by which sort=newest goes, `version` what an ETag names. `owner_since` is when a
    pending project was taken down, or changes were asked for: from then on it waits for its owner, and is not in the
    queue. At `closes_at` it is rejected; `reminded_at` is when its owner was last told so by
    a second mail. `change_requests` counts the requests since the last approval or rejection.
    Until `held_until` a rule holds it out of the queue. The time of its review is measured from `measured_from`; null
    means from `submitted_at`. `domain` is the registrable domain of the
    website, `text_key` a digest of the description (services/text/keys.py).
    `decided_at` and `decided_by` are those of a rejection or unpublishing that the owner may still appeal against, also
    of a rejected revision; `appealed_at` is since when an appeal is open. `decided_by` is not a foreign key: accounts
    are never removed, and are locked before projects. Triggers keep `project_tags`, `picture_uses`, `standings` and the
    categories' counters.
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
        # The review queue, and a project's place in it; those that are not in it.
        Index(
            "ix_projects_queue",
            "submitted_at",
            "id",
            **only_where("status = 'pending' AND owner_since IS NULL AND held_until IS NULL"),
        ),
        Index("ix_projects_with_owner", "category_id", **only_where("owner_since IS NOT NULL")),
        Index(None, "closes_at", **CLOSING),  # what its owner did not answer in time
        Index(None, "held_until", **HELD),  # what a rule holds
        Index(None, "domain", "status", **only_where("domain IS NOT NULL")),  # the projects of a domain, by state
        # Whether a rejected project has a description.
        Index("ix_projects_text_key", "text_key", **only_where("status = 'rejected' AND text_key IS NOT NULL")),
        Index(None, "appealed_at", **only_where("appealed_at IS NOT NULL")),  # the open appeals
        Index(None, "category_id", "status", "submitted_at", "id"),  # the queue of a category; its projects
        Index(None, "owner_id", "status", "listed_at", "id"),  # an owner's projects; a user's statistics
        Index(None, "listed_at", "id"),  # an administrator's list of every state
        Index(None, "logo", **WITH_LOGO),  # whether a logo is used
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
    status: Mapped[str] = mapped_column(String(16), default=Status.PENDING)
    rejection_reason: Mapped[str | None] = mapped_column(String(1000))
    upvotes: Mapped[int] = mapped_column(BigId, default=0)
    hot: Mapped[float] = mapped_column(Float(53))
    version: Mapped[int] = mapped_column(BigId, default=1)
    created_at: Mapped[Instant] = mapped_column(default=now)
    updated_at: Mapped[Instant]
    submitted_at: Mapped[Instant]
    published_at: Mapped[Instant | None]
    owner_since: Mapped[Instant | None]
    closes_at: Mapped[Instant | None]
    change_requests: Mapped[int] = mapped_column(Integer, default=0, server_default=text("0"))
    held_until: Mapped[Instant | None]
    measured_from: Mapped[Instant | None]
    reminded_at: Mapped[Instant | None]
    domain: Mapped[str | None] = mapped_column(String(255))
    text_key: Mapped[str | None] = mapped_column(String(32))
    decided_at: Mapped[Instant | None]
    decided_by: Mapped[int | None] = mapped_column(BigId)
    appealed_at: Mapped[Instant | None]
    listed_at: Mapped[datetime] = mapped_column(
        UtcDateTime(), Computed("COALESCE(published_at, created_at)", persisted=True)
    )


class Revision(db.Model):  # type: ignore[name-defined,misc]
    """Changes of a live project that wait for review, or a note that the last ones were refused.

    `changes` has the new values by field, as callers write them. The new category is in a column of its own, because
    it may be renamed meanwhile, and must not be deleted. A refused revision has no changes and no `submitted_at`, the
    `reason` of the refusal, if one was given, and in `rejected` the values by field, the category too; `waited_since`
    is what `submitted_at` was. `logo` is the one in the changes or in `rejected`, so that it is kept. `owner_since`,
    `closes_at`, `change_requests`, `held_until`, `measured_from` and `reminded_at` are as those of a project. A trigger
    deletes the revision of a project that is no longer live.
    """

    __tablename__ = "revisions"
    __table_args__ = (
        CheckConstraint("submitted_at IS NULL OR reason IS NULL", name="reason"),
        CheckConstraint("submitted_at IS NOT NULL OR category IS NULL", name="category"),
        Index(None, "submitted_at", "project_id", **only_where("submitted_at IS NOT NULL")),  # the review queue
        Index(None, "category"),  # a category that is renamed or deleted
        Index(None, "closes_at", **CLOSING),  # what its owner did not answer in time
        Index(None, "held_until", **HELD),  # what a rule holds
        Index(None, "logo", **WITH_LOGO),  # whether a logo is used
    )

    project_id: Mapped[OfProject]
    changes: Mapped[dict[str, Any]] = mapped_column(JsonObject)
    category: Mapped[str | None] = mapped_column(
        String(50), ForeignKey("categories.slug", onupdate="CASCADE", ondelete="RESTRICT")
    )
    logo: Mapped[dict[str, str] | None] = mapped_column(LogoAddresses(), ForeignKey("logos.digest"))
    submitted_at: Mapped[Instant | None]
    reason: Mapped[str | None] = mapped_column(String(1000))
    rejected: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    owner_since: Mapped[Instant | None]
    closes_at: Mapped[Instant | None]
    change_requests: Mapped[int] = mapped_column(Integer, default=0, server_default=text("0"))
    held_until: Mapped[Instant | None]
    measured_from: Mapped[Instant | None]
    reminded_at: Mapped[Instant | None]
    waited_since: Mapped[Instant | None]


class PictureUse(db.Model):  # type: ignore[name-defined,misc]
    """A picture in the list of a project, or in its revision (`is_held`), so that it stays stored.

    Triggers keep the table from `projects.pictures` and from `changes` and `rejected` of the revisions.
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

    It counts unless the user is suspended or it is discounted (directory.services.votes.counted_votes).
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
