"""A member's own projects, by state; one of them with its timeline; and the projects that the member voted for."""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, cast

from flask import current_app, request
from sqlalchemy.exc import SQLAlchemyError

from directory.api import messages
from directory.api.schemas.messages import ANSWER_MAX
from directory.db.errors import log_failure
from directory.db.paging import Slice, Window
from directory.db.transactions import transaction
from directory.errors import NotFound, Unavailable
from directory.http.access import login_required, own_required, owner_required, shows_reviewers
from directory.http.authentication import caller, viewer
from directory.http.endpoint import operation
from directory.http.exchange import current
from directory.http.pagination import DEPTH
from directory.http.receivers import configured_mail_server
from directory.language.messages import Message, _, pgettext
from directory.models import Status
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, bp, page_number, said_at, show, slot_values
from directory.pages.project_words import ENTRIES, EVENTS, FIELDS, KINDS, SENDERS, revised, state, states
from directory.pages.sign_in_form import again, asks_to_sign_in
from directory.services import audit, permissions
from directory.services.catalog import additions, catalog
from directory.services.catalog.filters import public_scope
from directory.services.delivery import outbox
from directory.services.identity import Caller
from directory.services.review import thread

log = logging.getLogger(__name__)
HERE = "/mine"
SIZE = 20
ENTRIES_MAX = 100  # of a thread, on a page
NUMBER = re.compile("[1-9][0-9]{0,17}")
PREFETCHES = ("Sec-Purpose", "Purpose", "X-Moz")  # headers by which browsers say that nobody looks at the page yet
TABS = {
    "": pgettext("projects", "All"), Status.PENDING: pgettext("projects", "Undecided"), Status.LIVE: _("Live"),
    Status.REJECTED: pgettext("projects", "Rejected"),
}  # fmt: skip
SAID = {"deleted": _("The project is deleted.")}
# What the page of a project says after the form of a submission or an edit was accepted.
SENT = {
    "saved": _("Your changes are saved."),
    "review": _("Your changes are sent. A reviewer will look at them."),
    "answered": _("Your message is sent."),
    "resubmitted": _("Your message is sent, and the project is back with the reviewers."),
}
own_page = operation(tier="read", page=True, parameters=True)


@bp.get(HERE)
@asks_to_sign_in
@login_required
@own_page
def own_projects_page(query: dict[str, str]) -> PageAnswer:
    """Show the caller's projects, or with `upvoted=1` those that the caller voted for. Raises NotFound for no page."""
    by, number = caller(), page_number(query)
    if number * SIZE > DEPTH:
        raise NotFound
    if asked := next((own_list for name, own_list in _own_lists().items() if query.get(name) == "1"), None):
        return cast(PageAnswer, asked.show(by, number))
    is_voted = query.get("upvoted") == "1"
    status = query["status"] if not is_voted and query.get("status") in TABS else ""
    scope = {"upvoted": "me", "owner": None} if is_voted else {"owner": "me"}
    filters = public_scope(viewer=by, status=status or None, **scope)
    page = catalog.page(filters, "newest", Window(SIZE, page=number), viewer=by)
    if not is_voted:
        additions.add_queue_positions(page.items)
    chosen = {"upvoted": "1"} if is_voted else {"status": status}
    return show_list(
        "mine.html", _("Your projects"), chosen, number, page, by=by, projects=page.items, status=status,
        is_voted=is_voted, said=SAID.get(query.get("done", "")),
        unread=_unread(page.items) if not is_voted else set(),
        is_held_back=configured_mail_server() is not None and outbox.is_held_back(by.id),
        most_mails=outbox.UNCONFIRMED_MAILS,
        states={} if is_voted else states(page.items, by),
    )  # fmt: skip


def show_list(
    template: str, title: Message, chosen: dict[str, str], number: int, listed: Slice, *, by: Caller, **values: Any
) -> PageAnswer:
    """A page of a list of a member, which `chosen` asks for in the address. Raises NotFound if the list ends before."""
    pages = max(1, -(-(listed.total or 0) // SIZE))
    if number > pages:
        raise NotFound
    previous, next_ = _beside(chosen, number, pages)
    page, headers = show(
        template, Head(title, indexed=False, previous=previous, next=next_), entry="forms",
        here=_address(chosen, number), page=number, pages=pages, tabs=TABS, lists=_own_lists(),
        counts=additions.counts({by.id})[by.id], **values,
    )  # fmt: skip
    return page, {**headers, **NO_STORE}


def _own_lists() -> dict[str, Any]:
    """The lists that extras add, by the parameters that ask for them."""
    return {name: own_list for name, own_list in current_app.extensions["own_lists"].items() if own_list.is_on()}


def _unread(projects: list[dict[str, Any]]) -> set[int]:
    """The ids of those of the caller's projects whose threads have something new."""
    return thread.with_unread([project["id"] for project in projects], by=caller()) if caller().has_unread else set()


def _address(chosen: dict[str, str], number: int) -> str:
    """The address of a page of a list."""
    return address_with(HERE, **chosen, page=number if number > 1 else "")


def _beside(chosen: dict[str, str], number: int, pages: int) -> tuple[str, str]:
    """The addresses of the pages before and after one of so many."""
    previous = _address(chosen, number - 1) if number > 1 else ""
    return previous, _address(chosen, number + 1) if number < min(pages, DEPTH // SIZE) else ""


def own_project(
    project_id: int, form: Form = EMPTY, query: Mapping[str, str] = MappingProxyType({}), **of_slots: Any
) -> PageAnswer:
    """The page of a project for its owner and administrators.

    The owner has the thread, and the form of an answer. `of_slots` are values of slots that replace their own.
    """
    by = viewer()
    if by is None:
        return again(form)
    project = catalog.one(project_id, viewer=by)
    permissions.require_editor(by, catalog.whose(project_id))
    is_owner = permissions.owns(by, project["owner"]["id"])
    entries = _thread(project_id, query.get("before", "")) if is_owner else Slice([], None, None)
    page, headers = show(
        "mine_project.html", Head(project["title"], indexed=False), here=f"{HERE}/{project_id}", entry="forms",
        project=project, event_names=EVENTS, labels=FIELDS, revised=revised(project),
        state=state(project, by), said=_said(query.get("done", ""), project),
        **slot_values("own_project", project) | of_slots,
        form=form, is_owner=is_owner,
        lines=_with_events(project_id, entries, is_last="before" not in query),
        earlier=entries.previous, entry_names=ENTRIES, senders=SENDERS,
        answer_max=ANSWER_MAX,
    )  # fmt: skip
    return page, {**headers, **NO_STORE}


def _said(done: str, project: dict[str, Any]) -> str:
    """What was done, for a person who comes from a form."""
    if done == "submitted":
        return _("{title} is sent. A reviewer will look at it.", title=project["title"])
    of_slots: dict[str, str] = {name: text for name, (_section, text) in said_at("own_project").items()}
    return (SENT | of_slots).get(done, "")


def _thread(project_id: int, before: str) -> Slice:
    """The last entries of the thread of a project of the caller, or those before an id."""
    limits = {"before": int(before)} if NUMBER.fullmatch(before) else {}
    return thread.latest(project_id, ENTRIES_MAX, by=caller(), naming=shows_reviewers(), **limits)


def _with_events(project_id: int, entries: Slice, *, is_last: bool) -> list[dict[str, Any]]:
    """The entries of a page of a thread, and what happened to the project meanwhile, unless an entry tells of it.

    The first page begins with the project; `is_last` is whether the last one is shown.
    """
    shown = [entry["at"] for entry in entries.items]
    first, last = shown[0] if entries.previous else None, shown[-1] if shown and not is_last else None
    told = {(entry["at"], entry["kind"]) for entry in entries.items}
    events = [
        event
        for event in audit.timeline(project_id, Window(100, page=None), naming_fields=True).items
        if (event["at"], KINDS[event["event"]]) not in told
        and (first is None or event["at"] >= first)
        and (last is None or event["at"] <= last)
    ]
    return sorted([*events, *entries.items], key=itemgetter("at"))


@bp.get("/mine/<id:project_id>")
@asks_to_sign_in
@owner_required
@own_page
def own_project_page(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Show a project to its owner and administrators: its state, what can be done about it, thread and timeline.

    The owner has then read the thread.
    """
    if "before" not in query:
        _read(project_id)
    return own_project(project_id, query=query)


def _read(project_id: int) -> None:
    """Note that the caller reads a thread now: its owner, on a page that is shown, if there is anything to note.

    Nothing is noted where nothing may be written, and a busy database does not fail the page.
    """
    by, is_prefetched = caller(), any("prefetch" in request.headers.get(name, "") for name in PREFETCHES)
    if not by.has_unread or request.method != "GET" or is_prefetched or current_app.config["READ_ONLY"]:
        return
    try:
        transaction(lambda: thread.mark_all_read(project_id, by=by))
        current().identify(replace(by, has_unread=thread.unread(by.id) > 0))
    except (SQLAlchemyError, Unavailable) as error:
        log_failure(log, "a thread was not marked as read", error)


@bp.post("/mine/<id:project_id>")
@shows(own_project)
@own_required
@same_as(messages.write)
def answer(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Write to the reviewers, and with `resubmit` give the project back to them."""
    messages.write.view(project_id=project_id, body=body)  # type: ignore[attr-defined]
    done = "resubmitted" if body.get("resubmit") else "answered"
    return see_other(address_with(f"{HERE}/{project_id}", done=done) + "#thread")
