"""The kinds of problems: the meaning of each code, for its page and the OpenAPI document."""

from dataclasses import dataclass

from directory.language.messages import _


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its status, its title, and the text of its page."""

    status: int
    title: str
    meaning: str


KINDS = {
    "malformed_json": Kind(
        400,
        _("Malformed JSON"),
        "The body could not be read as JSON: a syntax error, bytes that are not UTF-8, a key that is given twice, "
        "NaN or Infinity, or more than 32 levels of nesting.",
    ),
    "bad_request": Kind(400, _("Bad request"), "The request itself, before its body, could not be understood."),
    "unauthenticated": Kind(
        401,
        _("Not signed in"),
        "The route needs credentials. The request had none, or they have expired or been revoked. "
        "An invalid bearer token is refused on every route.",
    ),
    "invalid_credentials": Kind(
        401,
        _("Wrong login or password"),
        "No account has this login with this password; the answer does not say which of the two is wrong. After "
        "several wrong passwords within minutes the right password gets the same answer. So does a passkey that is not "
        "known here, or whose answer does not prove who signs in.",
    ),
    "not_owner": Kind(
        403, _("Not the owner"), "The project belongs to somebody else; its owner and administrators may change it."
    ),
    "own_submission": Kind(
        403,
        _("Own submission"),
        "The service is configured so that nobody decides about a project of their own: another reviewer or "
        "administrator has to. Deleting it is allowed.",
    ),
    "own_decision": Kind(
        403, _("Own decision"), "The appeal is against a decision of the caller: another person has to settle it."
    ),
    "admin_required": Kind(403, _("Administrators only"), "Everything under /api/admin is for administrators."),
    "reviewer_required": Kind(
        403,
        _("Reviewers only"),
        "Everything under /api/review is for reviewers and administrators. A write is refused in the same way if the "
        "caller's role or one of the caller's categories was taken away while it was being made.",
    ),
    "passkey_required": Kind(
        403,
        _("Passkey required"),
        "This service takes administrators, or administrators and reviewers, only in sessions that a passkey opened, "
        "and by tokens that were made in such a session. Until then they are members. The page of the account adds a "
        "passkey.",
    ),
    "account_suspended": Kind(
        403, _("Account suspended"), "The password was right, but an administrator has suspended the account."
    ),
    "email_not_verified": Kind(
        403,
        _("Address not confirmed"),
        "This service accepts submissions, or submissions and votes, only of members who have confirmed their e-mail "
        "address, or a new account can do nothing before. Where the service sends mail, a link is mailed at "
        "registration; POST /api/auth/email/verification mails it again.",
    ),
    "not_admitted": Kind(
        403,
        _("Not admitted"),
        "The provider proved who signs in, but this person may have no account here: the address is outside of the "
        "domains that this service admits, or none of the person's groups is admitted.",
    ),
    "passwords_off": Kind(
        403,
        _("Passwords are off"),
        "This service takes no passwords: accounts are signed in to by a provider or a passkey.",
    ),
    "cross_site_request": Kind(
        403,
        _("Cross-site request"),
        "A page of another origin caused this write. Writes are accepted from the service's own origin, from the "
        "origins that it is configured to trust, and from programs that send a bearer token. A program with a cookie "
        "has to send the service's own address in Origin.",
    ),
    "registration_closed": Kind(
        403, _("Registration closed"), "This directory does not accept new accounts at present."
    ),
    "registration_refused": Kind(
        403, _("Registration refused"), "A rule of this directory refuses the registration. The detail says why."
    ),
    "sign_in_cancelled": Kind(
        403,
        _("Sign-in cancelled"),
        "The sign-in was cancelled at the provider. Nothing was changed. Sign in again to start over.",
    ),
    "sign_in_expired": Kind(
        403,
        _("Sign-in expired"),
        "The provider's answer does not belong to a sign-in that is under way in this browser: more than ten minutes "
        "have passed, the answer was used before, or the sign-in began in another browser. Start the sign-in again.",
    ),
    "sign_in_refused": Kind(
        403, _("Sign-in refused"), "The provider's answer does not prove who signs in; reason says why."
    ),
    "sign_in_again": Kind(
        403,
        _("Sign in again"),
        "The request needs a session that was opened in the last ten minutes: to join a provider, to add or remove a "
        "passkey, or because there is no password to ask for. Sign in, and send the request again.",
    ),
    "not_found": Kind(404, _("Not found"), "There is nothing at this address, or the caller may not see it."),
    "method_not_allowed": Kind(
        405,
        _("Method not allowed"),
        "The address exists, but does not support this method. Allow lists the methods that it supports.",
    ),
    "invalid_transition": Kind(
        409,
        _("Not possible in this state"),
        "The project's state does not allow the decision; current_status names the state. A project is approved or "
        "rejected while it is pending, unpublished while it is live, and given back while it waits for its owner. An "
        "appeal is settled once.",
    ),
    "not_votable": Kind(409, _("Not open to votes"), "Only live projects can be voted for."),
    "duplicate": Kind(
        409,
        _("Exists already"),
        "Something with the same identity exists: a username, an e-mail address, a category's slug, or a project of "
        "the same owner with the same URL. Each member of errors points to a value that is taken; existing is your own "
        "project that has the URL.",
    ),
    "last_admin": Kind(
        409, _("Last administrator"), "The change would leave the directory without an active administrator."
    ),
    "category_in_use": Kind(409, _("Category in use"), "Projects belong to this category; move or delete them first."),
    "choice_in_use": Kind(
        409,
        _("Choice in use"),
        "Projects have a choice of the field that the request leaves out; projects says how many. Retire the choice: "
        "it stays where it is, and is offered no more.",
    ),
    "appeal_not_possible": Kind(
        409,
        _("No appeal possible"),
        "Appeals are switched off, or there is no rejection or unpublishing of the project that its owner may appeal "
        "against: each one once, within 180 days, and not after an edit or another decision.",
    ),
    "links_off": Kind(
        409,
        _("Websites are not read"),
        "The service makes no request to the outside (LINK_CHECKS), so it says nothing of the website of a project.",
    ),
    "claimed": Kind(
        409,
        _("Claimed by somebody else"),
        "Another reviewer looks at the project: claim says who, and until when the others see that. Send take_over to "
        "claim it all the same. A claim stands in the way of no decision.",
    ),
    "too_many_projects": Kind(
        409,
        _("Too many projects"),
        "The user has more projects than one request takes down or deletes; nothing was changed. To suspend a user, do "
        "so without unpublish, take projects down in portions by POST /api/admin/projects/decisions, and then send the "
        "request again for those that are left. To delete one's own account, delete some pending or rejected projects "
        "first.",
    ),
    "too_many_votes": Kind(
        409,
        _("Too many votes"),
        "The user has more votes than one request takes back; nothing was changed. To delete one's own account, take "
        "some votes back first.",
    ),
    "account_deleted": Kind(
        409, _("Account deleted"), "The user has deleted the account. It cannot be changed or opened again."
    ),
    "address_taken": Kind(
        409,
        _("Address taken"),
        "Another account has the e-mail address that the provider gave. The two are not joined, because one side has "
        "not confirmed the address. Sign in to that account another way, and join the provider on the account's "
        "page.",
    ),
    "identity_taken": Kind(409, _("Joined already"), "The account at the provider is joined to another account here."),
    "too_many_passkeys": Kind(409, _("Too many passkeys"), "An account can have 20 passkeys. Remove one first."),
    "last_way_in": Kind(
        409,
        _("Last way to sign in"),
        "The account has no password and no other provider: without this one, nobody could sign in to it.",
    ),
    "too_many": Kind(409, _("Too many"), "There is one more than there may be. The detail says of what, and how many."),
    "preview_first": Kind(
        409,
        _("Not previewed"),
        "A rule that rejects can be switched on if the same conditions were previewed in the last 24 hours, by POST "
        "/api/admin/rules/preview.",
    ),
    "other_user": Kind(
        409,
        _("Another account is signed in"),
        "X-Expected-User named another account than the one that is signed in; nothing was changed. A page sends the "
        "id of the account that it shows with each write, because another tab may have changed the session.",
    ),
    "precondition_failed": Kind(
        412, _("Changed meanwhile"), "If-Match named a version of the project that is no longer the current one."
    ),
    "too_large": Kind(413, _("Body too large"), "A body may have 64 KiB at most, a logo 1 MiB, and a picture 4 MiB."),
    "unsupported_media_type": Kind(
        415,
        _("Wrong media type"),
        "Send the body as application/json in UTF-8, and a logo or picture as PNG, JPEG or WebP.",
    ),
    "validation_failed": Kind(
        422,
        _("Validation failed"),
        "Values were refused. Each member of errors points to one, by a JSON Pointer into the body or by the name of "
        "a query parameter, and says why. One answer reports all that is wrong; of more than a hundred errors it has "
        "the first hundred, and errors_truncated is true.",
    ),
    "rate_limited": Kind(
        429,
        _("Too many requests"),
        "A rate limit is used up, or what a member may store in a day. Retry-After says in how many seconds to try "
        "again.",
    ),
    "internal": Kind(500, _("Internal error"), "The service failed. The log has the details under the request's id."),
    "provider_failed": Kind(502, _("Provider failed"), "The provider's answer was not valid; reason says why."),
    "unavailable": Kind(
        503,
        _("Unavailable"),
        "The database did not answer in time; or a website cannot be read now, because others are, or because its host "
        "was asked just before. No change was made in part; try again after Retry-After seconds.",
    ),
    "provider_unavailable": Kind(
        503,
        _("Provider unavailable"),
        "The provider does not answer in time, or too many sign-ins wait for it. Try again after Retry-After seconds.",
    ),
    "read_only": Kind(
        503,
        _("Read-only"),
        "The service does not accept writes at present, sign-ins included, while its data are moved or backed up. "
        "Reads work. Nothing was changed; try again after Retry-After seconds.",
    ),
}
