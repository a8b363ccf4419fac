"""The page of a project, and the forms of its buttons.

With JavaScript the buttons of votes send them to the API.
"""

from dataclasses import replace
from typing import Any

from flask import request
from werkzeug.routing import RequestRedirect

from directory.api import projects
from directory.db.paging import Window
from directory.http import rate_limits
from directory.http.access import login_required, owner_required, public
from directory.http.authentication import caller, pressed_vote, viewer, vote_cookie
from directory.http.cache_policy import CacheTags
from directory.http.endpoint import Versions, operation
from directory.http.exchange import current
from directory.http.fields import Strict, Word
from directory.language.messages import _
from directory.pages import head
from directory.pages.forms import NO_STORE, Form, same_as, see_other, shows
from directory.pages.layout import PAGE, PageAnswer, address_with, bp, here, own_path, show, slot_values, trending
from directory.pages.project_form import VersionForm
from directory.pages.project_words import EVENTS, FIELDS, revised, state
from directory.pages.sign_in_form import refused
from directory.services import audit, permissions
from directory.services.accounts import accounts
from directory.services.catalog import catalog, related
from directory.services.review import submissions
from directory.services.site import path_of


@bp.get("/p/<id:project_id>")
@public
@operation(tier="read", page=True, personal=True)
def project_without_slug(project_id: int) -> Any:
    """Redirect to the page of a project."""
    raise RequestRedirect(path_of(catalog.one(project_id, viewer=viewer())))


@bp.get("/p/<id:project_id>/<title>")
@public
@operation(tier="read", page=True, etag=True, personal=True, cache=PAGE)
def project_page(project_id: int, title: str) -> PageAnswer:
    """Show a project to callers who may see it."""
    by = viewer()
    project = catalog.one(project_id, viewer=by)
    if title != project["slug"]:
        raise RequestRedirect(path_of(project))
    is_own = permissions.owns_or_administers(by, project["owner"]["id"])
    others = [] if is_own else related.of(project, viewer=by)
    events = audit.timeline(project_id, Window(100, page=None), naming_fields=True).items if is_own else []
    return show(
        "project.html", _head(project), tags=CacheTags((project_id, *(item["id"] for item in others))), project=project,
        is_own=is_own, related=others,
        events=events, event_names=EVENTS, labels=FIELDS, revised=revised(project),
        state=state(project, by) if by is not None and is_own else None,
        **slot_values("project_facts", project), **slot_values("project", project, by),
    )  # fmt: skip


def _head(project: dict[str, Any]) -> head.Head:
    site, category = here(), project["category"]
    path = path_of(project)
    steps = ((category["name"], f"/categories/{category['slug']}"), (project["title"], path))
    is_live = project["status"] == "live"
    logo = project["logo"]["256"] if project["logo"] else project["logo_url"] or ""
    preview: dict[str, Any] = slot_values("preview", project) if is_live else {}
    return head.Head(
        project["title"],
        project["tagline"],
        path,
        indexed=is_live,
        **{"image": logo, **preview},
        kind="article",
        data=[head.software(project, site), head.breadcrumbs(site, *steps)] if is_live else [],
    )


def not_done(form: Form, project_id: int) -> PageAnswer:
    """Why a button's form was refused; for a caller who is not signed in, the form that signs in."""
    back = _project_address(request.args.to_dict(), project_id)
    return refused(form, back, back)


def _project_address(query: dict[str, str], project_id: int) -> str:
    """The page with the button: the project's, unless the form says another one."""
    return own_path(query.get("next"), f"/p/{project_id}")


@bp.post("/delete/<id:project_id>")
@shows(not_done)
@owner_required
@same_as(projects.delete)
def delete(project_id: int, query: dict[str, str]) -> Any:
    """Delete a project with its votes, and go to the caller's projects."""
    projects.delete.view(project_id=project_id)  # type: ignore[attr-defined]
    return see_other("/mine?done=deleted")


@bp.post("/withdraw/<id:project_id>")
@shows(not_done)
@owner_required
@same_as(projects.withdraw_revision, VersionForm())
def withdraw(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Withdraw the changes that wait for review, or dismiss their refusal, and go back to the page with the button.

    Raises PreconditionFailed if the project has changed since the page was made.
    """
    shown = Versions({body["version"]}, set()) if "version" in body else None
    submissions.withdraw(project_id, by=caller(), versions=shown)
    return see_other(_project_address(query, project_id))


UNCOUNTED, UNWITHDRAWN = _("Your vote was not counted."), _("Your vote was not withdrawn.")


class VoteForm(Strict):
    """The action on the caller's vote."""

    vote = Word(("cast", "withdraw"), required=True)


def refused_vote(form: Form, project_id: int) -> PageAnswer:
    """The form that signs in, for a caller who is not signed in; for others why the vote was refused.

    Whoever pressed the button is led to `finish_vote` by signing in or up, however this is done.
    """
    back = _back(request.args.to_dict(), project_id)
    form = replace(form, title=UNCOUNTED if _is_cast() else UNWITHDRAWN)
    page, headers = refused(form, _finishing(project_id, back), back, _("Sign in to vote."))
    if form.code == "unauthenticated" and _is_cast():
        headers = {**headers, **vote_cookie(project_id)}
    return page, headers


@bp.post("/votes/<id:project_id>")
@shows(refused_vote)
@login_required
@same_as(projects.cast_vote, VoteForm())
def vote(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Vote for a project, or withdraw the vote, and go back to the page where the button was."""
    chosen: Any = projects.cast_vote if body["vote"] == "cast" else projects.withdraw_vote
    chosen.view(project_id=project_id)
    return see_other(_back(query, project_id))


def uncounted_vote(form: Form, project_id: int) -> PageAnswer:
    """Why the vote of a person who has just signed in was not counted."""
    back = own_path(request.args.get("next"))
    form = replace(form, title=UNCOUNTED)
    if form.code in {"not_found", "not_votable"}:
        form = replace(form, problem=_("This project is no longer in the directory."))
    return refused(form, _finishing(project_id, back), back)


@bp.get("/voted/<id:project_id>")
@public
@shows(uncounted_vote)
@operation(tier="read", page=True, parameters=True)
def finish_vote(project_id: int, query: dict[str, str]) -> Any:
    """Count the vote of a person who pressed its button and then signed in, and say so.

    The press is known by a cookie that only the answer to it sets, and only to this browser. So no link of somebody
    else makes a person vote: without the cookie the page shows the button.
    """
    back = own_path(query.get("next"))
    if viewer() is None:
        return see_other(address_with("/sign-in", next=_finishing(project_id, back)))
    project = catalog.one(project_id, viewer=caller())
    is_counted = request.method == "GET" and pressed_vote() == project_id
    if is_counted:
        rate_limits.hit("voting")
        projects.cast_vote.view(project_id=project_id)  # type: ignore[attr-defined]
    head_ = head.Head(_("Vote for {title}", title=project["title"]), indexed=False)
    page, headers = show(
        "vote.html",
        head_,
        here=back,
        project=project,
        is_counted=is_counted,
        back=back,
        trending=trending() if is_counted else [],
        account=accounts.get(caller().id),
    )
    return page, {**headers, **NO_STORE, **(vote_cookie(None) if is_counted else {})}


def _finishing(project_id: int, back: str) -> str:
    """The address that counts a vote after signing in, and leads back from there."""
    return address_with(f"/voted/{project_id}", next=back)


def _is_cast() -> bool:
    """Whether the form of a refused vote casts one."""
    return bool((current().typed or {}).get("vote") == "cast")


def _back(query: dict[str, str], project_id: int) -> str:
    """The page with the button, scrolled to the project."""
    return f"{own_path(query.get('next')).partition('#')[0]}#p-{project_id}"
