"""The administrators' routes for users."""

from typing import Any

from directory.api.blueprints import admin as bp
from directory.api.schemas.review import ReasonInput
from directory.api.schemas.users import (
    TRUTHS,
    UserChanged,
    UserChanges,
    UserDecisionsInput,
    UserFilters,
    UserPage,
    UserProfile,
    UsersDecided,
    UsersQuery,
)
from directory.errors import AccountDeleted, LastAdmin, TooManyProjects, TooManyVotes, Unavailable
from directory.http import account_limits, pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.language.messages import ngettext
from directory.models import Session, Token
from directory.services import audit
from directory.services.accounts import accounts
from directory.services.accounts import users as people
from directory.services.people import account_deletion, administration
from directory.services.people.large_work import carry_out, end_all
from directory.services.people.user_decisions import AT_ONCE, Decision, remaining
from directory.services.review import takedown

FILTERS = tuple(UserFilters().fields)
SECONDS = 2.5  # after which no further part of a large work is begun, so that the answer is within the deadline


@bp.get("/users")
@admin_required
@documented(headers=("Link",))
@operation(query=UsersQuery(), answer=UserPage(), tier="read")
def users(query: dict[str, Any]) -> Any:
    """List users with their statistics."""
    window = pagination.window(query)
    filters = people.Filters(**{name: TRUTHS.get(query[name], query[name]) for name in FILTERS if name in query})
    page = people.page(filters, query["sort"], window)
    return pagination.numbered(page, window, people.total(filters))


@bp.post("/users/decisions")
@admin_required
@operation(body=JsonBody(UserDecisionsInput()), answer=UsersDecided(), transactional=False)
def decide_about_users(body: dict[str, Any]) -> Any:
    """Suspend or delete many accounts, each as a single one is: those given, or those that match all filters.

    One request decides about at most 1,000 accounts, and stops after some seconds: send it again until `remaining` is
    0, or `changed` is. Administrators and the caller are left out, and so are accounts that have more projects or votes
    than one request may change. Each account has its entry in the log. A request that fails half-way has changed whole
    accounts only.
    """
    matching = people.Filters(**body.get("match", {}))
    ids = tuple(body["ids"]) if "ids" in body else None
    terms = {name: body[name] for name in ("decision", "unpublish", "reason") if name in body}
    decision = Decision(**terms, filters=matching, ids=ids, by=caller(), notify=subscribers())
    changed = sum(carry_out(decision, AT_ONCE, SECONDS))
    return {"changed": changed, "remaining": remaining(decision)}


@bp.delete("/sessions")
@admin_required
@operation(status=204, transactional=False)
def sign_everybody_out() -> None:
    """Sign everybody out everywhere, the caller too.

    All sessions of all users end; API tokens stay. For the day on which sessions may have leaked. If there are too many
    for the time of a request, the answer is 503 with the number that is left: send the request again. The caller's
    own session ends last.
    """
    _end_all(Session)


@bp.delete("/tokens")
@admin_required
@operation(status=204, transactional=False)
def revoke_all_tokens() -> None:
    """Revoke all API tokens of all users, the caller's too.

    Sessions stay. For the day on which tokens may have leaked. If there are too many for the time of a request, the
    answer is 503 with the number that is left: send the request again. The caller's own token ends last.
    """
    _end_all(Token)


def _end_all(model: Any) -> None:
    _, left = end_all(model, by=caller(), seconds=SECONDS)
    if left:
        raise Unavailable(
            ngettext("{number} is left. Send the request again.", "{number} are left. Send the request again.", left)
        )


@bp.get("/users/<id:user_id>")
@admin_required
@operation(answer=UserProfile(), tier="read")
def user(user_id: int) -> Any:
    """Show a user with statistics and the latest audit entries."""
    shown = {"stored_today": account_limits.stored_today(user_id), "audit": audit.latest_of_user(user_id)}
    return {**people.one(user_id), **shown}


@bp.put("/users/<id:user_id>")
@admin_required
@documented(raises=(AccountDeleted, LastAdmin, TooManyProjects))
@operation(body=JsonBody(UserChanges()), answer=UserChanged())
def change_user(user_id: int, body: dict[str, Any]) -> Any:
    """Change a user's role or status, or a reviewer's categories, and with a suspension take down the user's projects.

    A new reviewer may review all categories unless `review_categories` names some.

    With `unpublish` the live projects are unpublished and then rejected, and the pending ones are rejected: all of them
    or none. If the user has more projects than one request can take down, the answer is 409 and nothing changes. If the
    user is suspended already, the remaining projects are taken down. The role and the status of a deleted account stay.

    The votes of a suspended user do not count. Once the user is active they count again, except for discounted ones.
    """
    reason, unpublish = body.get("reason"), bool(body.get("unpublish"))
    changes = {"role": body.get("role"), "status": body.get("status")}
    changes |= {"review_categories": body["review_categories"]} if "review_categories" in body else {}
    votes = administration.administer(user_id, **changes, by=caller(), reason=reason, lock_owned=unpublish)
    if not unpublish:
        return people.one(user_id)
    taken_down = takedown.take_down(user_id, by=caller(), notify=subscribers(), reason=reason)
    return {**people.one(user_id), "taken_down": {**taken_down, "votes": votes}}


@bp.delete("/users/<id:user_id>")
@admin_required
@documented(raises=(AccountDeleted, LastAdmin, TooManyProjects, TooManyVotes))
@operation(body=JsonBody(ReasonInput(), optional=True), status=204)
def delete_user(user_id: int, body: dict[str, Any]) -> None:
    """Delete a user's account, as its user can do.

    Sessions, tokens, votes, and pending and rejected projects are deleted. Live projects stay, and their owner is then
    called `deleted-[id]`. Others can take the username and the e-mail address. All of this happens or nothing, and it
    cannot be undone. The log has the administrator and the reason.
    """
    account_deletion.delete_user(user_id, by=caller(), notify=subscribers(), reason=body.get("reason"))


@bp.delete("/users/<id:user_id>/sessions")
@admin_required
@operation(status=204)
def sign_out_user(user_id: int) -> None:
    """Sign a user out everywhere.

    All sessions end; API tokens stay.
    """
    accounts.sign_out(user_id, by=caller())
