"""The schemas of the session, the site, tags, public profiles, health and readiness."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, missing

from directory.api.schemas.accounts import OwnUser
from directory.api.schemas.own_filters import Narrowed
from directory.http.fields import Line, Matching, Prose, Published, Slug, Strict, Tags, Timestamp, Whole, Word
from directory.language.messages import _
from directory.services.catalog.fields import NAMES
from directory.services.text.rules import CATEGORY_SLUG_MAX, TAG_MAX


class SiteOutput(Strict):
    """The site's name, and its public address, which is null if it is not configured."""

    name = fields.String(required=True)
    url = fields.String(required=True, allow_none=True)


class ProviderOutput(Strict):
    """A sign-in provider: `GET /api/auth/providers/[name]`. `label` is its name for people."""

    name = fields.String(required=True)
    label = fields.String(required=True)


class ServiceOutput(Strict):
    """The running build of the service. `commit` is null if unknown."""

    version = fields.String(required=True)
    commit = fields.String(required=True, allow_none=True)


class LanguageOutput(Strict):
    """A language of the site. `tag` is that of BCP 47, and `name` its own name of itself."""

    tag = fields.String(required=True)
    name = fields.String(required=True)
    dir = Word(("ltr", "rtl"), required=True)


class SessionUser(OwnUser):
    """The caller's account."""

    unread = fields.Integer(
        required=True,
        metadata={
            "minimum": 0,
            "description": "How many entries in the threads of the caller's projects are by others and not read.",
        },
    )


class SessionState(Strict):
    """The caller and what the site allows. `user` is null for an anonymous caller, `service` is for administrators.

    `password_reset` says whether a forgotten password can be reset by mail; `providers` are the other places by which
    one can sign in.
    """

    user = fields.Nested(SessionUser, required=True, allow_none=True)
    site = fields.Nested(SiteOutput, required=True)
    registration_open = fields.Boolean(required=True)
    read_only = fields.Boolean(required=True)
    reads = Word(
        ("public", "members"),
        required=True,
        metadata={"description": "Who may read: everybody, or signed-in callers alone."},
    )
    password_reset = fields.Boolean(required=True)
    passkeys = fields.Boolean(required=True, metadata={"description": "Whether one can sign in by a passkey."})
    passkey_required = fields.Boolean(
        metadata={"description": "True for an administrator who has to sign in by a passkey; otherwise absent."}
    )
    service = fields.Nested(ServiceOutput)
    reviewed_fields = fields.List(
        Word(NAMES),
        metadata={"description": "The fields of the user's live projects that need review when the user changes them."},
    )
    providers = fields.List(fields.Nested(ProviderOutput), required=True)
    language = fields.String(
        required=True, allow_none=True, metadata={"description": "The language of the caller's account; null if none."}
    )
    languages = fields.List(
        fields.Nested(LanguageOutput),
        required=True,
        metadata={"description": "The languages of the site, its own one first."},
    )


class Beginning(Matching):
    """The beginning of a tag; a blank one counts as absent."""

    def __init__(self) -> None:
        says = _("Use 1 to {number} of a-z, 0-9 and -, as tags begin.", number=TAG_MAX)
        pattern = rf" *([a-z0-9][a-z0-9-]{{0,{TAG_MAX - 1}}})? *"
        what = "The beginning of a tag. A blank one counts as absent."
        super().__init__(pattern, 3 * TAG_MAX, says=says, fold=True, metadata={"description": what})

    def check(self, value: str) -> str:
        """The beginning."""
        if not value.isascii():  # the Kelvin sign, for one, is a k in lower case
            raise ValueError(self.says)
        return super().check(value).strip(" ")

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        return super()._deserialize(value, attr, data, **kwargs) or missing


class MarkdownInput(Strict):
    """A description."""

    text = Prose(0, 10_000, required=True)


class MarkdownOutput(Strict):
    """The HTML of a description: elements for text, lists, tables and links, and no other."""

    html = fields.String(required=True)


class FeedQuery(Narrowed):
    """The filters of the feed; an unknown category or tag has no entries. `key` is a member's feed key."""

    category = Slug(CATEGORY_SLUG_MAX)
    tag = Tags()
    published = Published()
    picked = Word(("true",), metadata={"description": "Only picks of the reviewers, the latest first."})
    key = Line(1, 100)


class TagQuery(Strict):
    """Which tags, and how many of them."""

    prefix = Beginning()
    limit = Whole(1, 100, load_default=20, metadata={"default": 20})


class TagOutput(Strict):
    """A tag, and how many live projects carry it."""

    tag = fields.String(required=True)
    live_projects = fields.Integer(required=True, metadata={"minimum": 1})


class TagList(Strict):
    """Tags, the most used first."""

    items = fields.List(fields.Nested(TagOutput), required=True)


class ProfileOutput(Strict):
    """A member as everybody sees them."""

    username = fields.String(required=True)
    created_at = Timestamp(required=True)
    live_projects = fields.Integer(required=True, metadata={"minimum": 0})
    upvotes_received = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "The votes for the live projects."}
    )


class Health(Strict):
    """The process answers."""

    status = Word(("ok",), required=True)


class DatabaseCheck(Strict):
    """Whether the database answers in time, and if not, why: a cause in words, without names and addresses."""

    ok = fields.Boolean(required=True)
    reason = fields.String(required=True, allow_none=True)


class MigrationsCheck(Strict):
    """Whether the tables are those of this version of the service; null if the database did not answer."""

    ok = fields.Boolean(required=True)
    current = fields.String(required=True, allow_none=True)
    head = fields.String(required=True)


class RedisCheck(Strict):
    """Whether Redis answers, and whether this process counts rate limits by itself meanwhile."""

    ok = fields.Boolean(required=True)
    fallback = fields.Boolean(required=True)


class WebhooksCheck(Strict):
    """The age of the oldest undelivered notification; null without one."""

    oldest_undelivered_seconds = fields.Float(required=True, allow_none=True, metadata={"minimum": 0})


class Checks(Strict):
    """The results of the checks. Only the database and its migrations decide; `redis` and `mail` are null if unused."""

    database = fields.Nested(DatabaseCheck, required=True)
    migrations = fields.Nested(MigrationsCheck, required=True)
    redis = fields.Nested(RedisCheck, required=True, allow_none=True)
    webhooks = fields.Nested(WebhooksCheck, required=True)
    mail = fields.Nested(WebhooksCheck, required=True, allow_none=True)


class Readiness(Strict):
    """The service can do its work. Where only members may read, anonymous callers get `status` alone."""

    status = Word(("ready",), required=True)
    version = fields.String()
    commit = fields.String(allow_none=True, metadata={"description": "Null if unknown."})
    checks = fields.Nested(Checks)


class CategoryInput(Strict):
    """A category; for a change every field is optional."""

    slug = Slug(CATEGORY_SLUG_MAX, required=True)
    name = Line(1, 100, required=True)
    description = Prose(0, 500)


class CategoryOutput(Strict):
    """A category and its number of live projects."""

    slug = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)
    live_projects = fields.Integer(required=True, dump_only=True, metadata={"minimum": 0})


class CategoryList(Strict):
    """All categories."""

    items = fields.List(fields.Nested(CategoryOutput), required=True)
