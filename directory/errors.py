"""The errors of the rules, without HTTP: `http.problem_details` has the statuses.

DirectoryError
├── Invalid     WrongPassword
├── Forbidden   NotOwner, OwnSubmission, OwnDecision, AdminRequired, ReviewerRequired, PasskeyRequired,
│               AccountSuspended, EmailNotVerified, CrossSiteRequest, RegistrationClosed, RegistrationRefused,
│               PasswordsOff, SignInExpired, SignInAgain
├── Conflict    InvalidTransition, ReportsSettled, NoAppeal, AppealNotPossible, NotVotable, Duplicate, LastAdmin,
│               CategoryInUse, ChoiceInUse, AccountDeleted, TooManyProjects, TooManyVotes, TooMany, Claimed,
│               PreviewFirst, DeliveryEmptied, LastWayIn
└── each of the others; each class says what it means, and has its code
"""

from collections.abc import Sequence
from typing import Any

from directory.language.messages import _, ngettext

ERRORS_MAX = 100  # a body of 64 KiB may hold ten thousand unknown members, and each refusal is longer than its cause

# States, decisions and outcomes within a sentence.
WORDS: dict[str, str] = {
    word: word
    for word in (
        _("pending"), _("live"), _("rejected"), _("approved"), _("unpublished"), _("asked to be changed"),
        _("given back"), _("picked"), _("acted"), _("unfounded"),
    )
}  # fmt: skip
IS_TAKEN = {
    "username": _("This username is taken."),
    "email": _("This email is taken."),
    "url": _("This url is taken."),
    "repository_url": _("This repository_url is taken."),
    "slug": _("This slug is taken."),
    "name": _("This name is taken."),
    "identity": _("This identity is taken."),
}


class DirectoryError(Exception):
    """A refusal with a stable code. `extra` holds further members of the answer."""

    code = "internal"
    default = _("Something went wrong.")

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        self.detail = detail or self.default
        self.extra = extra
        super().__init__(self.detail)


class Invalid(DirectoryError):
    """One or more values were refused: `errors` is a list of {"pointer" | "parameter", "detail"}.

    The answer has the first hundred, in the order of their places, and sets `errors_truncated` if there are more.
    """

    code = "validation_failed"
    default = _("Some values are not valid.")

    def __init__(self, errors: list[dict[str, str]], detail: str | None = None) -> None:
        self.errors = errors
        if len(errors) <= ERRORS_MAX:
            super().__init__(detail, errors=errors)
            return
        in_order = sorted(errors, key=lambda error: error.get("pointer") or error["parameter"])
        super().__init__(detail, errors=in_order[:ERRORS_MAX], errors_truncated=True)

    @classmethod
    def field(cls, name: str, detail: str) -> "Invalid":
        """One refused field of the body."""
        return cls([{"pointer": f"#/{name}", "detail": detail}])

    @classmethod
    def parameter(cls, name: str, detail: str) -> "Invalid":
        """One refused query parameter."""
        return cls([{"parameter": name, "detail": detail}])


class WrongPassword(Invalid):
    """The caller gave another password than theirs."""

    def __init__(self) -> None:
        super().__init__([{"pointer": "#/current_password", "detail": _("This is not your password.")}])


class MalformedJson(DirectoryError):
    """The body cannot be read as JSON."""

    code = "malformed_json"
    default = _("The body is not well-formed JSON in UTF-8.")


class TooLarge(DirectoryError):
    """The body is larger than allowed."""

    code = "too_large"
    default = _("This is too large: at most 64 KiB can be sent at once.")


class UnsupportedMediaType(DirectoryError):
    """The body is of another media type than JSON."""

    code = "unsupported_media_type"
    default = _("Send the body as application/json.")


class Unauthenticated(DirectoryError):
    """The credentials are missing or not valid."""

    code = "unauthenticated"
    default = _("You are not signed in. Sign in, and try again.")


class MembersOnly(Unauthenticated):
    """The directory is closed (READS=members), and the caller is anonymous."""


class InvalidCredentials(DirectoryError):
    """A wrong login or password; the answer does not say which."""

    code = "invalid_credentials"
    default = _("The login or the password is wrong.")


class Forbidden(DirectoryError):
    """The caller is known, but not allowed."""


class NotOwner(Forbidden):
    """The project belongs to another user."""

    code = "not_owner"
    default = _("Only the owner of the project or an administrator may do this.")


class OwnSubmission(Forbidden):
    """The project is the caller's own, and the service lets nobody review their own."""

    code = "own_submission"
    default = _("This project is your own: somebody else has to decide about it.")


class OwnDecision(Forbidden):
    """The appeal is against a decision of the caller, and somebody else may settle it."""

    code = "own_decision"
    default = _("The appeal is against a decision of yours: somebody else has to settle it.")


class AdminRequired(Forbidden):
    """The route is for administrators."""

    code = "admin_required"
    default = _("Only an administrator may do this.")


class ReviewerRequired(Forbidden):
    """The route is for reviewers and administrators."""

    code = "reviewer_required"
    default = _("Only a reviewer or an administrator may do this.")


class PasskeyRequired(Forbidden):
    """The caller must sign in by a passkey, as administrators and perhaps reviewers must, and did not."""

    code = "passkey_required"
    default = _("Administrators sign in by a passkey here. Add one in your account, and sign in by it.")
    of_reviewers = _(
        "Administrators and reviewers sign in by a passkey here. Add one in your account, and sign in by it."
    )


class AccountSuspended(Forbidden):
    """The password is right, but the account is suspended."""

    code = "account_suspended"
    default = _("This account is suspended.")


class EmailNotVerified(Forbidden):
    """This requires a confirmed e-mail address."""

    code = "email_not_verified"
    default = _("Confirm your e-mail address first.")


class CrossSiteRequest(Forbidden):
    """A write was caused by a page of another site."""

    code = "cross_site_request"
    default = _(
        "This was not sent from a page of this site, so nothing was changed. A program sends this site's address in "
        "the Origin header, or a bearer token in place of the cookie."
    )


class RegistrationClosed(Forbidden):
    """New accounts are not accepted."""

    code = "registration_closed"
    default = _("Registration is closed.")


class RegistrationRefused(Forbidden):
    """A rule refuses the registration, by this verdict (`drafts.Verdict`)."""

    code = "registration_refused"
    default = _("This registration was refused.")

    def __init__(self, verdict: Any) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class PasswordsOff(Forbidden):
    """Nobody signs in by a password here."""

    code = "passwords_off"
    default = _("Passwords are not used here. Sign in another way.")


class SignInExpired(Forbidden):
    """No sign-in is under way to which the request belongs: it has ended, or began in another browser."""

    code = "sign_in_expired"
    default = _("This sign-in has expired, or it began in another browser. Start it again.")


class SignInAgain(Forbidden):
    """The request needs a session that was opened just now."""

    code = "sign_in_again"
    default = _("Sign in again, and send this within ten minutes.")


class NotFound(DirectoryError):
    """It does not exist, or the caller may not know of it."""

    code = "not_found"
    default = _("There is nothing here, or you may not see it.")


class Conflict(DirectoryError):
    """The current state does not allow the change."""


class InvalidTransition(Conflict):
    """The project's state does not allow the decision."""

    code = "invalid_transition"

    def __init__(self, current_status: str, wanted: str) -> None:
        status = WORDS.get(current_status, current_status)
        detail = _("A project that is {status} cannot be {wanted}.", status=status, wanted=WORDS.get(wanted, wanted))
        if wanted == "claimed":  # whose turn it is decides that, not the state
            detail = _("This project does not wait for the reviewers, so it cannot be claimed.")
        super().__init__(detail, current_status=current_status)


class LinkNotMoved(Conflict):
    """The link leads where it led, as far as the service has seen."""

    code = "invalid_transition"

    def __init__(self, current_status: str) -> None:
        super().__init__(_("This link has not moved."), current_status=current_status)


class LinksOff(Conflict):
    """The service looks at no links."""

    code = "links_off"
    default = _("This service does not read websites.")


class DeliveryEmptied(Conflict):
    """The delivery was sent, and its project is gone since."""

    code = InvalidTransition.code
    default = _("The project is gone, and what was sent about it is not stored any more.")


class NoAppeal(Conflict):
    """No appeal about the project is open."""

    code = InvalidTransition.code

    def __init__(self, current_status: str) -> None:
        super().__init__(_("No appeal about this project is open."), current_status=current_status)


class AppealNotPossible(Conflict):
    """There is no decision that the owner may appeal against, or appeals are switched off."""

    code = "appeal_not_possible"
    default = _("There is no decision here that you may appeal against, or no longer.")


class ReportsSettled(Conflict):
    """The reports about a project were settled with another outcome."""

    code = InvalidTransition.code

    def __init__(self, outcome: str) -> None:
        super().__init__(
            _(
                "These reports were settled before as {outcome}, and no new one is open.",
                outcome=WORDS.get(outcome, outcome),
            )
        )


class NotVotable(Conflict):
    """Votes go to live projects only."""

    code = "not_votable"
    default = _("Only live projects can be voted for.")


class Duplicate(Conflict):
    """Something with the same identity exists: each of `fields` holds a value that is taken."""

    code = "duplicate"
    default = _("This exists already.")

    def __init__(self, fields: Sequence[str] = (), detail: str | None = None, **extra: Any) -> None:
        if fields:
            extra["errors"] = [{"pointer": f"#/{name}", "detail": IS_TAKEN[name]} for name in fields]
        super().__init__(detail, **extra)


class LastAdmin(Conflict):
    """The change would leave no active administrator."""

    code = "last_admin"
    default = _("The last active administrator can be neither demoted nor suspended.")


class CategoryInUse(Conflict):
    """Projects still use the category."""

    code = "category_in_use"
    default = _("Projects use this category.")


class ChoiceInUse(Conflict):
    """Projects have a choice that would be left out of its field: `projects` is their number."""

    code = "choice_in_use"
    default = _("Projects have a choice that is left out. Retire it instead.")


class AccountDeleted(Conflict):
    """The account is deleted: its role, status, address and password stay as they are."""

    code = "account_deleted"
    default = _("This account is deleted. It cannot be changed or opened again.")


class LastWayIn(Conflict):
    """Nothing would be left by which the account can be signed in to."""

    code = "last_way_in"
    default = _("You could not sign in any more: add another way to sign in first.")


class Claimed(Conflict):
    """Somebody else looks at the project: `claim` says who and until when."""

    code = "claimed"
    default = _("Somebody else looks at this project. Send take_over to claim it all the same.")


class TooManyProjects(Conflict):
    """A user has more projects than one request takes down or deletes; the message says what to do instead."""

    code = "too_many_projects"


class TooManyVotes(Conflict):
    """A user has more votes than one request takes back; the message says what to do instead."""

    code = "too_many_votes"


class TooMany(Conflict):
    """There is one more than there may be; the message says of what."""

    code = "too_many"


class PreviewFirst(Conflict):
    """A rule may not reject before its conditions were tried on the past."""

    code = "preview_first"
    default = _("Preview these conditions first: a rule that rejects goes on within a day after a preview of them.")


class OtherUser(Conflict):
    """A write names in X-Expected-User another account than the one that is signed in."""

    code = "other_user"
    default = _("Another account is now signed in in this browser, so nothing was changed. Reload the page to go on.")


class PreconditionFailed(DirectoryError):
    """If-Match names another version than the current one, or If-None-Match names the current one."""

    code = "precondition_failed"
    default = _("The project has changed meanwhile. Load it again.")


class RateLimited(DirectoryError):
    """Over a rate limit; `retry_after` is in seconds. The log names the tier."""

    code = "rate_limited"

    def __init__(self, retry_after: int, tier: str | None = None) -> None:
        self.retry_after, self.tier = retry_after, tier
        super().__init__(_when_to_retry(retry_after))


def _when_to_retry(seconds: int) -> str:
    """What to do, in seconds, from two minutes on in minutes, and from two hours on in hours, rounded up."""
    if seconds < 120:
        return ngettext(
            "Too many requests. Try again in {number} second.",
            "Too many requests. Try again in {number} seconds.",
            seconds,
        )
    if seconds <= 7_200:
        return ngettext(
            "Too many requests. Try again in {number} minute.",
            "Too many requests. Try again in {number} minutes.",
            -(-seconds // 60),
        )
    return ngettext(
        "Too many requests. Try again in {number} hour.",
        "Too many requests. Try again in {number} hours.",
        -(-seconds // 3600),
    )


class DayIsFull(RateLimited):
    """A write that would store more than a member may in a day, which ends in `retry_after` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after, "bytes")
        self.detail = ngettext(
            "You have stored as much as you may in a day. Try again in {number} hour.",
            "You have stored as much as you may in a day. Try again in {number} hours.",
            -(-retry_after // 3600),
        )


class Unavailable(DirectoryError):
    """The database cannot be reached, or a wait for it took too long."""

    code = "unavailable"
    default = _("The service cannot reach its database in time. Try again shortly.")
    retry_after = 2


class LinksBusy(DirectoryError):
    """As many addresses are read now as may be, or the host of this one may not be asked for so many seconds."""

    code = Unavailable.code
    default = _("This address cannot be read just now. Try again shortly.")

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__()


class ReadOnly(DirectoryError):
    """The service is in read-only mode."""

    code = "read_only"
    default = _("Nothing can be changed at the moment, but everything can be read. Try again in some minutes.")
    retry_after = 60  # read-only periods take minutes; sooner retries would be refused as well
