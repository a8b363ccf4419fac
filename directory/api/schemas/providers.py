"""The schemas of signing in by providers."""

from marshmallow import fields

from directory.http.fields import Checked, Matching, Strict, Timestamp, document

NEXT_MAX = 1000


class Path(Checked):
    """A path of this site, with its query: nothing by which a browser would go to another one."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        letters = r"A-Za-z0-9_.~!$&'()*+,;=:@?%-"
        document(self, maxLength=NEXT_MAX, pattern=rf"^/([{letters}][{letters}/]*)?$")

    def check(self, value: str) -> str:
        """The path."""
        # Browsers take \\ for /, and leave tabs and line breaks out, so that //host may hide in many texts.
        fits = value.startswith("/") and not value.startswith("//") and len(value) <= NEXT_MAX
        if not (fits and value.isascii() and value.isprintable() and not set(value) & set(' \\"<>#^`{|}[]')):
            raise ValueError("Must be a path of this site, such as /p/1.")
        return value


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

    provider = Matching("[a-z0-9][a-z0-9-]{0,15}", 16, says="This is not the name of a provider.", required=True)


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
