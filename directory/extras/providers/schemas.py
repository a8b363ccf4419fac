"""The schemas of a sign-in by a provider."""

from marshmallow import fields

from directory.api.schemas.accounts import Path
from directory.http.fields import Matching, Strict, Timestamp
from directory.language.messages import _


class StartQuery(Strict):
    """The page to open afterwards; without it, the first page."""

    next = Path(load_default="/", metadata={"default": "/"})


class CallbackQuery(Strict):
    """The parameters with which the provider sends the browser back. Any others are ignored."""

    class Meta:
        unknown = "exclude"

    state = fields.String()
    code = fields.String()
    iss = fields.String()
    error = fields.String()


class JoinInput(Strict):
    """The provider that the caller wants to add."""

    provider = Matching("[a-z0-9][a-z0-9-]{0,15}", 16, says=_("This is not the name of a provider."), required=True)


class JoinOutput(Strict):
    """The address at which the browser signs in at the provider. It then returns to the page of the account."""

    location = fields.String(required=True, metadata={"format": "uri"})


class IdentityOutput(Strict):
    """An account at a provider that the caller can sign in with.

    `provider` is null, and `label` the issuer's address, where the provider is not configured any more. `email` is the
    address that the provider returned last.
    """

    id = fields.Integer(required=True)
    provider = fields.String(required=True, allow_none=True)
    label = fields.String(required=True)
    email = fields.String(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    last_used_at = Timestamp(required=True)


class IdentityList(Strict):
    """The caller's sign-in methods other than a password."""

    has_password = fields.Boolean(required=True)
    items = fields.List(fields.Nested(IdentityOutput), required=True)
