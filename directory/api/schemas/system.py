"""The schemas of health and readiness."""

from marshmallow import fields

from directory.http.fields import Strict, Word


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
    """The service can do its work."""

    status = Word(("ready",), required=True)
    version = fields.String(required=True)
    commit = fields.String(required=True, allow_none=True, metadata={"description": "Null if unknown."})
    checks = fields.Nested(Checks, required=True)
