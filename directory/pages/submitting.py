"""Submitting a project, and editing one: forms over the API's own routes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import Response
from werkzeug.routing import RequestRedirect

from directory.api import projects
from directory.db.transactions import transaction
from directory.errors import Duplicate, PreconditionFailed
from directory.http import rate_limits
from directory.http.access import login_required, owner_required, require_verified
from directory.http.authentication import caller, viewer
from directory.http.endpoint import Operation, Versions, operation
from directory.http.exchange import current
from directory.http.receivers import subscribers
from directory.http.validation import FormBody
from directory.language.messages import CATEGORY, _, of_operator
from directory.models import Turn, now
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, bp, show, slot_values, with_page
from directory.pages.project_form import (
    LABELS,
    EditForm,
    Editing,
    NewForm,
    TextForm,
    VersionForm,
    applies_at_once,
    chosen_logo,
    differing,
    filled,
    live,
    reviewed,
    texts,
    waiting,
)
from directory.pages.project_words import FIELDS, revised, state
from directory.pages.sign_in_form import again, asks_to_sign_in
from directory.pages.translated import by_name
from directory.services import permissions, turn_words
from directory.services.catalog import catalog, categories, category_slugs, own_fields, similar
from directory.services.catalog.fields import OWN_FIELDS, PREFIX
from directory.services.pictures import logos
from directory.services.review import conversation, submissions

Added = Callable[[int], None] | None  # what is done with a new project, if anything
PRESSED_TWICE = timedelta(minutes=1)
SIMILAR = ("same", "same_repository", "similar")
# The rules open their own transactions: no picture is decoded and no page rendered within one.
form_of: Any = {"transactional": False, "tier": "write"}
page_of_member = Operation(tier="read", page=True, parameters=True, etag=True)


def submit_form(form: Form = EMPTY, matches: dict[str, Any] | None = None, *, more_fields: bool = False) -> PageAnswer:
    """The form of a new project, and the similar projects that were found; with `more_fields` of another category."""
    if form.code == "unauthenticated":
        return again(form)
    facts = {"found": matches, "more_fields": more_fields, "takes": turn_words.review_takes()}
    facts |= slot_values("submit_form") | slot_values("submit_fields")
    return _form(Head(_("Submit a project"), path="/submit"), form, action="/submit", **facts)


def _form(head: Head, form: Form, **facts: Any) -> PageAnswer:
    known = [(category.slug, of_operator(CATEGORY, category.name)) for category in by_name(categories.listed())]
    none = {"project": None, "found": None, "state": None, "asks": False, "more_fields": False}
    facts = {**none, "labels": LABELS, "categories": known, **facts}
    facts["own"] = catalog.one(form.existing["id"], viewer=caller()) if form.existing else None
    facts |= slot_values("project_fields", facts["project"], form)
    page, headers = show("project_form.html", head, here=facts["action"], entry="forms", form=form, **facts)
    return page, headers


@bp.get("/submit")
@asks_to_sign_in
@login_required
@page_of_member
def submit_page(query: dict[str, str]) -> PageAnswer:
    """Show the form of a new project. The address that the form of an edit once had leads to that form."""
    edited = query.get("project", "")
    if edited.isascii() and edited.isdigit() and len(edited) < 19:
        raise RequestRedirect(f"/mine/{int(edited)}/edit")
    return submit_form()


@bp.post("/submit")
@shows(submit_form)
@login_required
@replace(same_as(projects.create, NewForm(), ("logo",)), **form_of)
def submit(query: dict[str, str], body: dict[str, Any]) -> Response:
    """Submit a project for review; first, if others have similar ones, show them once."""
    return submitted(body)


def submitted(body: dict[str, Any], prepared: Callable[[], Added] = lambda: None) -> Response:
    """The answer to the form of a new project.

    What `prepared` returns gets the id of the project in the transaction that adds it. It is called before that, once
    nothing is asked any more.
    """
    values = filled(body)
    own = _own(values)
    if _is_sent_just_now(own, values):
        return _to_project(own.id, "submitted")
    if _lacks_fields(values["category"]):
        return _asking(submit_form(_typed(), more_fields=True))
    if own is None and not body.get("another"):
        matches = similar.check(values["url"], values["title"], values["repository_url"], by=caller())
        if any(matches.get(kind) for kind in SIMILAR):
            return _asking(submit_form(_typed(), matches))
    logo, added = chosen_logo(), prepared()
    rate_limits.hit("submission")

    try:
        return _to_project(transaction(lambda: _add(values, logo, added)), "submitted")
    except Duplicate:
        own = _own(values)
        if not _is_sent_just_now(own, values):
            raise
        return _to_project(own.id, "submitted")


def _add(values: dict[str, Any], logo: tuple[bytes, bytes] | None, added: Added) -> int:
    """Add a project with its logo, in the transaction of the caller, and return its id."""
    stored = {"logo": logos.store(logo, by=caller().id)} if logo else {}
    project_id: int = projects.create.view(body={**values, **stored})[0]["id"]  # type: ignore[attr-defined]
    if added is not None:
        added(project_id)
    return project_id


def _typed() -> Form:
    """What was typed, for a form that asks before it does anything."""
    return Form(dict(current().typed or {}), has_file=bool(current().files))


def _lacks_fields(slug: str) -> bool:
    """Whether projects of a category have fields that the form did not ask for: it was made for another category."""
    category_id, stamp = category_slugs.id_and_stamp(slug)
    typed = current().typed or {}
    return any(
        field.is_in(category_id) and not field.is_retired and f"{PREFIX}{name}" not in typed
        for name, field in own_fields.of_stamp(stamp).items()
    )


def _asking(page: PageAnswer) -> Response:
    """A form that asks: nothing is done yet."""
    answer = with_page(Response(status=409), page)
    answer.headers.update(NO_STORE)
    return answer


def _own(values: dict[str, Any]) -> Any:
    """The caller's project that a submission would repeat; None without one."""
    return submissions.duplicate(caller().id, values["url"], values["repository_url"])


def _is_sent_just_now(own: Any, values: dict[str, Any]) -> bool:
    """Whether the same form made this project within the last minute: a button that is pressed twice submits once."""
    if own is None:
        return False
    project = catalog.one(own.id, viewer=caller())
    is_same = all(live(project)[name] == values[name] for name in ("title", "tagline", "url", "description"))
    return is_same and bool(project["created_at"] > now() - PRESSED_TWICE)


def _to_project(project_id: int, done: str) -> Response:
    """Go to the project's own page. Its address says what was done: then the draft in the browser is forgotten."""
    return see_other(address_with(f"/mine/{project_id}", done=done))


def edit_form(
    form: Form = EMPTY,
    *,
    project_id: int,
    withdrawn: dict[str, str] | None = None,
    asks: bool = False,
    more_fields: bool = False,
    **of_slots: Any,
) -> PageAnswer:
    """The form of an edit: with what was typed, otherwise with what the caller wants to be shown.

    After another version was saved it shows both texts; with `asks` that saving ends an appeal, with `more_fields` that
    another category has others. `of_slots` are values
    of slots that replace their own. Raises NotFound, NotOwner.
    """
    by = viewer()
    if by is None:
        return again(form)
    permissions.require_editor(by, catalog.whose(project_id))
    project = catalog.one(project_id, viewer=by)
    editing = Editing.of(project, by)
    is_changed = form.code == "precondition_failed"
    typed = form if form.values.keys() & LABELS.keys() else replace(form, values=editing.values)
    version = project["version"] if is_changed else typed.values.get("version", project["version"])
    return _form(
        Head(_("Edit {title}", title=project["title"]), indexed=False), typed, project=project, editing=editing,
        state=state(project, by), revised=revised(project), asks=asks, more_fields=more_fields,
        read_version=version,
        both=differing(typed, editing.values) if is_changed else [],
        reviewed=[] if applies_at_once(project, by) else [FIELDS[name] for name in reviewed()],
        action=f"/mine/{project_id}/edit", withdrawn=withdrawn, **slot_values("project_form") | of_slots,
    )  # fmt: skip


@bp.get("/mine/<id:project_id>/edit")
@asks_to_sign_in
@owner_required
@page_of_member
def edit_page(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Show the form of an edit; with `take=rejected`, with the changes that were rejected."""
    form = EMPTY
    if query.get("take") == "rejected":
        project = catalog.one(project_id, viewer=caller())
        rejected = (project["revision"] or {}).get("rejected") or {}
        values = {name: value for name, value in rejected.items() if name != "logo" and name in LABELS}
        form = Form({**Editing.of(project, caller()).values, **texts(values)})
    return edit_form(form, project_id=project_id)


@bp.post("/mine/<id:project_id>/edit")
@shows(edit_form)
@owner_required
@replace(same_as(projects.update, EditForm(), ("logo",)), **form_of)
def edit(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Response:
    """Change the version of a project that the form showed: its texts and its logo in one edit."""
    before, gives_back = catalog.one(project_id, viewer=caller()), bool(body.get("give_back"))
    if asked := _asked(before, body):
        return _asking(edit_form(_typed(), project_id=project_id, **asked))
    logo, versions = chosen_logo(), Versions({body["version"]}, set())
    if body.get("remove_logo"):
        rate_limits.hit("pictures")

    def work() -> None:
        changes = filled(body)
        if logo or body.get("remove_logo"):
            changes["logo"] = logos.store(logo, by=caller().id) if logo else None
        projects.edit(project_id, changes, versions, gives_back=gives_back)
        if gives_back:
            require_verified("submit")
            conversation.give_back(project_id, by=caller(), notify=subscribers())

    try:
        transaction(work)
    except PreconditionFailed:
        if not _is_saved(project_id, body, logo):
            raise
    after = catalog.one(project_id, viewer=caller())
    return _to_project(project_id, "review" if _is_sent(before, after) else "saved")


def _asked(before: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """What the form of an edit asks before anything is saved."""
    if before["standing"].turn is Turn.APPEAL and not body.get("end_appeal") and not applies_at_once(before, caller()):
        return {"asks": True}
    return {"more_fields": True} if _lacks_fields(body["category"]) else {}


def _is_saved(project_id: int, body: dict[str, Any], logo: tuple[bytes, bytes] | None) -> bool:
    """Whether the project has all that an edit of an older version wants, as after a button was pressed twice."""
    project = catalog.one(project_id, viewer=caller())
    editing, values = Editing.of(project, caller()), filled(body)
    wanted = logos.addresses(logo) if logo else None if body.get("remove_logo") else editing.logo
    own = {**project[OWN_FIELDS], **waiting(project).get(OWN_FIELDS, {}), **values.get(OWN_FIELDS, {})}
    typed, saved = ({name: text for name, text in part.items() if text} for part in (
        texts({**values, OWN_FIELDS: own}), editing.values,
    ))  # fmt: skip
    return typed == saved and wanted == editing.logo


def _is_sent(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether an edit has left something that a reviewer has to look at."""
    if after["standing"].turn not in {Turn.REVIEWERS, Turn.RULE}:
        return False
    return not after["standing"].of_changes or waiting(after) != waiting(before) or before["standing"].asked is not None


@bp.post("/mine/<id:project_id>/withdraw")
@shows(edit_form)
@owner_required
@replace(same_as(projects.withdraw_revision, VersionForm()), **form_of)
def withdraw_changes(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Response:
    """Withdraw the changes that wait, and show the form with a button that takes their text back."""
    before = catalog.one(project_id, viewer=caller())
    versions = Versions({body["version"]}, set()) if "version" in body else None
    transaction(lambda: submissions.withdraw(project_id, by=caller(), versions=versions))
    values = {name: value for name, value in waiting(before).items() if name != "logo" and name in LABELS}
    current().typed = {}
    answer = with_page(Response(), edit_form(project_id=project_id, withdrawn=texts(values)))
    answer.headers.update(NO_STORE)
    return answer


@bp.post("/mine/<id:project_id>/text")
@shows(edit_form)
@owner_required
@operation(body=FormBody(TextForm()), tier="read", transactional=False, page=True, parameters=True)
def take_text(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Response:
    """Show the form of an edit with texts that were withdrawn. Nothing is saved."""
    values = Editing.of(catalog.one(project_id, viewer=caller()), caller()).values
    answer = with_page(Response(), edit_form(Form({**values, **body}), project_id=project_id))
    answer.headers.update(NO_STORE)
    return answer
