"""The schemas of accounts, sessions and tokens."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema

from directory.api.schemas.projects import USERNAME
from directory.http.fields import BLANKS, Checked, Flag, Line, Matching, Strict, Timestamp, Word, document
from directory.models import AccountStatus, Role
from directory.services.text import EMAIL, EMAIL_MAX, LOCAL_PART_MAX


class Secret(Checked):
    """A password, as given: its rules are the service's. Only its length is bounded here, before any hashing."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(load_only=True, **kwargs)
        document(self, format="password", minLength=1, maxLength=1024)

    def check(self, value: str) -> str:
        """The password."""
        if not 1 <= len(value) <= 1024:
            raise ValueError("Must have 1 to 1024 characters.")
        return value


class Email(Matching):
    """An e-mail address in lower case."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(EMAIL.pattern, EMAIL_MAX, says="Not an e-mail address.", fold=True, trim=True, **kwargs)

    def check(self, value: str) -> str:
        """The address."""
        value = value.strip(BLANKS)
        # ASCII first: the Kelvin sign, for one, is a k in lower case.
        if not value.isascii() or len(value.partition("@")[0]) > LOCAL_PART_MAX:
            raise ValueError(self.says)
        return super().check(value)


class Username(Matching):
    """A name to sign in by, and that others see."""

    def __init__(self, **kwargs: Any) -> None:
        says = "Use 3 to 32 small letters (a-z, no capitals), digits, _ and -."
        super().__init__(USERNAME, 32, says=says, trim=True, **kwargs)
        document(self, minLength=3)


class RegisterInput(Strict):
    """A new account."""

    username = Username(required=True)
    email = Email(required=True)
    password = Secret(
        required=True,
        metadata={
            "minLength": 8,
            "maxLength": 128,
            "description": "Common passwords, the username and the e-mail address are refused.",
        },
    )


class LoginInput(Strict):
    """A username or e-mail address, and its password."""

    login = Line(1, 254, required=True)
    password = Secret(required=True)


class AccountChanges(Strict):
    """A username, a new e-mail address, a new password together with the present one, and whether decisions are mailed.

    Without a current password, only the new one is needed. `revoke_tokens` requires a new password.
    """

    # With "properties" and "additionalProperties", which redocly asks for beside "required".
    rules: ClassVar[dict[str, Any]] = {
        "dependentRequired": {"revoke_tokens": ["password"]},
        "dependentSchemas": {
            "current_password": {
                "anyOf": [
                    {"required": [name], "properties": {name: {}}, "additionalProperties": True}
                    for name in ("password", "email")
                ]
            }
        },
    }

    username = Username(
        metadata={
            "description": "Can be changed once, while `may_rename` is true: after a provider has opened the account."
        }
    )
    email = Email()
    password = Secret(metadata={"minLength": 8, "maxLength": 128})
    current_password = Secret()
    revoke_tokens = Flag(metadata={"description": "Whether to revoke all API tokens as well. Default false."})
    notify = Flag(metadata={"description": "Whether decisions about the user's projects are mailed."})

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def _together(self, _data: Any, given: dict[str, Any], **_kwargs: object) -> None:
        if "current_password" in given and not given.keys() & {"password", "email"}:
            raise ValidationError("Give both password and current_password.", "password")
        if "revoke_tokens" in given and "password" not in given:
            raise ValidationError("Only allowed together with a new password.", "revoke_tokens")


class UserOutput(Strict):
    """An account as its user and administrators see it."""

    id = fields.Integer(required=True)
    username = fields.String(required=True)
    email = fields.String(required=True)
    role = Word(tuple(Role), required=True)
    is_admin = fields.Boolean(required=True)
    status = Word(tuple(AccountStatus), required=True)
    created_at = Timestamp(required=True)
    email_verified = fields.Boolean(
        required=True, metadata={"description": "Whether the user has confirmed the address by a mailed link."}
    )
    may_rename = fields.Boolean(required=True, metadata={"description": "Whether the username may still be chosen."})
    notify = fields.Boolean(required=True, metadata={"description": "Whether decisions about the projects are mailed."})


class SessionOutput(Strict):
    """A signed-in browser."""

    id = fields.Integer(required=True)
    created_at = Timestamp(required=True)
    last_seen_at = Timestamp(required=True)
    user_agent = fields.String(required=True)
    current = fields.Boolean(required=True)


class SessionList(Strict):
    """One's sessions."""

    items = fields.List(fields.Nested(SessionOutput), required=True)


class TokenInput(Strict):
    """A new API token."""

    name = Line(1, 100, required=True, metadata={"examples": ["Release script"]})
    expires_at = Timestamp(allow_none=True)


class TokenOutput(Strict):
    """An API token, without its text."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    created_at = Timestamp(required=True)
    expires_at = Timestamp(required=True, allow_none=True)
    last_used_at = Timestamp(required=True, allow_none=True)


class NewToken(TokenOutput):
    """An API token with its text, shown this once."""

    token = fields.String(required=True)


class TokenList(Strict):
    """One's tokens."""

    items = fields.List(fields.Nested(TokenOutput), required=True)
