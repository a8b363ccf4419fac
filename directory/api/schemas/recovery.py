"""The schemas of recovering an account."""

from typing import Any

from directory.api.schemas.accounts import Secret
from directory.http.fields import Flag, Line, Matching, Strict


class MailedToken(Matching):
    """The token of a mailed link."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("[A-Za-z0-9_-]{20,100}", 100, says="This is not the token of a link.", **kwargs)


class ForgotInput(Strict):
    """Whose password is forgotten, by username or e-mail address."""

    login = Line(1, 254, required=True)


class ResetInput(Strict):
    """A new password, by the token of a mailed link."""

    token = MailedToken(required=True)
    password = Secret(required=True, metadata={"minLength": 8, "maxLength": 128})
    revoke_tokens = Flag(metadata={"description": "Whether to revoke all API tokens as well. Default false."})


class VerifyInput(Strict):
    """The token of a link that was mailed to the address."""

    token = MailedToken(required=True)
