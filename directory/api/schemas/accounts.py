"""The schemas of accounts: sessions, tokens, ways to sign in, recovery, the export and the deletion."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema

from directory.api.schemas.audit import TimelineEvent
from directory.api.schemas.messages import MessageOutput
from directory.api.schemas.projects import USERNAME, ProjectOutput
from directory.http.fields import BLANKS, Checked, Flag, Line, Matching, Strict, Timestamp, Word, document
from directory.language.messages import _
from directory.models import AccountStatus, ReportKind, ReportOutcome, Role
from directory.services.people.account_export import MESSAGES_MAX, PROJECTS_MAX, REPORTS_MAX, VOTES_MAX
from directory.services.permissions import ACTIONS
from directory.services.text.rules import EMAIL, EMAIL_MAX, ascii_address, is_email


class Secret(Checked):
    """A password, as given: its rules are the service's. Only its length is bounded here, before any hashing."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(load_only=True, **kwargs)
        document(self, format="password", minLength=1, maxLength=1024)

    def check(self, value: str) -> str:
        """The password."""
        if not 1 <= len(value) <= 1024:
            raise ValueError(_("Must have 1 to 1024 characters."))
        return value


class Email(Matching):
    """An e-mail address in lower case. A domain with letters outside of ASCII is stored as its A-labels."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(EMAIL.pattern, EMAIL_MAX, says=_("Not an e-mail address."), fold=True, trim=True, **kwargs)

    def check(self, value: str) -> str:
        """The address."""
        value = ascii_address(value.strip(BLANKS))
        if not is_email(value):
            raise ValueError(self.says)
        return value


class Username(Matching):
    """A name to sign in by, and that others see."""

    def __init__(self, **kwargs: Any) -> None:
        says = _("Use 3 to 32 small letters (a-z, no capitals), digits, _ and -.")
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

    # With "properties" and "additionalProperties", which redocly asks for with "required".
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
    language = Line(
        1, 35, allow_none=True,
        metadata={"description": "The language of the user's mail: one of the site's, or null."},
    )  # fmt: skip

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def _together(self, _data: Any, body: dict[str, Any], **_kwargs: object) -> None:
        if "current_password" in body and not body.keys() & {"password", "email"}:
            raise ValidationError(_("Give both password and current_password."), "password")
        if "revoke_tokens" in body and "password" not in body:
            raise ValidationError(_("Only allowed together with a new password."), "revoke_tokens")


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


class PasskeyOutput(Strict):
    """A passkey of the caller. `last_used_at` is null until it has signed in."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    created_at = Timestamp(required=True)
    last_used_at = Timestamp(required=True, allow_none=True)


class ExportedUser(UserOutput):
    """An account as its user alone sees it."""

    language = fields.String(
        required=True, allow_none=True, metadata={"description": "The language that the user has chosen; null if none."}
    )


class OwnUser(ExportedUser):
    """The caller's account."""

    permissions = fields.List(
        Word(ACTIONS),
        required=True,
        metadata={
            "description": "What the caller may do besides what every member may: reviewers `review`, administrators "
            "both. Empty in a session without the passkey that the role needs."
        },
    )


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


class MailedToken(Matching):
    """The token of a mailed link."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("[A-Za-z0-9_-]{20,100}", 100, says=_("This is not the token of a link."), **kwargs)


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
            raise ValueError(_("Must be a path of this site, such as /p/1."))
        return value


COMPLETE = (
    f"False where there are more than {PROJECTS_MAX:,} projects, {VOTES_MAX:,} votes, {MESSAGES_MAX:,} messages or "
    f"{REPORTS_MAX:,} reports: then the newest projects, messages and reports are here, and the votes for the newest "
    "projects. `GET /api/projects` with `owner=me` or `upvoted=me` lists all projects and votes."
)


class DeletionInput(Strict):
    """The caller's password, once more. An account that has none leaves it out."""

    current_password = Secret()


class ExportedProject(ProjectOutput):
    """A project of the caller, with its timeline."""

    history = fields.List(fields.Nested(TimelineEvent), required=True)


class ExportedMessage(MessageOutput):
    """An entry of the thread of a project of the caller, or one that the caller wrote as a reviewer."""

    project_id = fields.Integer(required=True)


class ExportedVote(Strict):
    """A vote of the caller. `title` is null if the project is not live and belongs to another member."""

    project_id = fields.Integer(required=True)
    title = fields.String(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    counted = fields.Boolean(
        required=True, metadata={"description": "Whether it counts: an administrator may have discounted it."}
    )


class ExportedIdentity(Strict):
    """An account at a provider that the caller can sign in with; `subject` is the provider's id for it."""

    id = fields.Integer(required=True)
    issuer = fields.String(required=True)
    subject = fields.String(required=True)
    email = fields.String(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    last_used_at = Timestamp(required=True)


class MemberReport(Strict):
    """A report of the caller. The title is the last one that was public. An open report has no outcome and no reply."""

    project_id = fields.Integer(required=True)
    title = fields.String(required=True)
    kind = Word(tuple(ReportKind), required=True)
    text = fields.String(required=True)
    created_at = Timestamp(required=True)
    outcome = Word(tuple(ReportOutcome), required=True, allow_none=True)
    reply = fields.String(required=True, allow_none=True)
    settled_at = Timestamp(required=True, allow_none=True)


class Export(Strict):
    """All of the caller's data in the service, except secrets and their hashes."""

    exported_at = Timestamp(required=True)
    complete = fields.Boolean(required=True, metadata={"description": COMPLETE})
    account = fields.Nested(ExportedUser, required=True)
    projects = fields.List(fields.Nested(ExportedProject), required=True)
    messages = fields.List(
        fields.Nested(ExportedMessage),
        required=True,
        metadata={"description": "Newest first, without the notes of reviewers."},
    )
    votes = fields.List(fields.Nested(ExportedVote), required=True)
    reports = fields.List(fields.Nested(MemberReport), required=True)
    sessions = fields.List(fields.Nested(SessionOutput), required=True)
    tokens = fields.List(fields.Nested(TokenOutput), required=True)
    identities = fields.List(fields.Nested(ExportedIdentity), required=True)
    passkeys = fields.List(fields.Nested(PasskeyOutput), required=True)
