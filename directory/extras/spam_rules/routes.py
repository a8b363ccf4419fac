"""The administrators' routes for rules, and their pages in the console."""

from typing import Any

from flask import Blueprint, current_app

from directory.db.transactions import transaction
from directory.errors import Duplicate, NotFound, PreviewFirst, TooMany
from directory.extras.spam_rules import conditions, editing, preview
from directory.extras.spam_rules.schemas import (
    RevertInput,
    RevertOutput,
    RuleFactList,
    RuleInput,
    RuleList,
    RuleOutput,
    RulePreviewInput,
    RulePreviewOutput,
)
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import Errors, JsonBody
from directory.pages.shells import console_page

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
pages = Blueprint("pages", __name__)
for address in ("/admin/rules", "/admin/rules/new", "/admin/rules/<id:rule_id>"):
    pages.add_url_rule(address, view_func=console_page)


def _refused(body: dict[str, Any]) -> Errors:
    """What is wrong with a new rule, as far as its members are valid."""
    return editing.refusals({"reason": None, **body})


def _refused_preview(body: dict[str, Any]) -> Errors:
    """What is wrong with the rule of a preview."""
    errors = _refused(body.get("rule") or {})
    return [{**error, "pointer": error["pointer"].replace("#/", "#/rule/", 1)} for error in errors]


@bp.get("/rules")
@admin_required
@operation(answer=RuleList(), tier="read")
def list_rules() -> Any:
    """List the rules that judge what members submit, edit and register, each with its matches of thirty days."""
    return {"items": editing.listed()}


@bp.post("/rules")
@admin_required
@documented(headers=("Location",), raises=(Duplicate, TooMany, PreviewFirst))
@operation(body=JsonBody(RuleInput(), check=_refused), answer=RuleOutput(), status=201)
def add_rule(body: dict[str, Any]) -> Any:
    """Add a rule; it is `off` unless its state says otherwise.

    A rule that is `dry` only counts what it would do. One that rejects can be `on` if its conditions were previewed in
    the last 24 hours. Of the rules that match, the strongest `then` wins. There may be 50.
    """
    rule_id = editing.add(body, by=caller())
    return editing.one(rule_id), {"Location": f"/api/admin/rules/{rule_id}"}


@bp.get("/rules/facts")
@admin_required
@operation(answer=RuleFactList(), tier="read")
def list_facts() -> Any:
    """List the facts that conditions may ask for.

    `approved` and `rejected`: how many projects of the owner were ever, deleted ones too. `submitted_24h`: by the
    owner. `domain`: what somebody can register, of the website, by the Public Suffix List; `domain_live`,
    `domain_rejected` and `domain_waiting`: the projects of that domain, which are now in the state. `links`: addresses
    in the description. `words`: whole words as search compares them, in title, tagline, author, description, the words
    of pictures and the host. `text_of_rejected`: a description of twenty characters or more equals that of a rejected
    project. `burst`: the submissions of the last hour to the whole directory, divided by the median of the hours of
    four weeks, which counts as 1 at least. Counts leave out the project that is judged, and end at 1,000.
    `link_state`: what the website answered when it was looked at; `repository_archived`, `repository_days` (since its
    creation), `repository_pushed_days` (since the last change), `repository_stars` and `repository_license` (SPDX):
    what the forge says. They are unknown at a submission and of changes of a live project, and what is unknown matches
    nothing. When they arrive, the rules that ask for them judge a pending project once more. Such rules mark and hold,
    and reject nothing.
    """
    return {"items": conditions.described()}


@bp.post("/rules/preview")
@admin_required
@operation(
    body=JsonBody(RulePreviewInput(), check=_refused_preview), answer=RulePreviewOutput(), transactional=False,
)  # fmt: skip
def preview_rule(body: dict[str, Any]) -> Any:
    """Show what a rule would have matched in the last days, and what became of it.

    It judges by the facts as they were then, which are stored for RULE_FACTS_DAYS; at most the newest 100,000.
    """
    rule = body["rule"]
    transaction(lambda: editing.note_preview(rule["on"], rule["when"]))
    return preview.run(rule["on"], rule["when"], body["days"])


@bp.get("/rules/<id:rule_id>")
@admin_required
@documented(raises=(NotFound,))
@operation(answer=RuleOutput(), tier="read")
def show_rule(rule_id: int) -> Any:
    """Show a rule."""
    return editing.one(rule_id)


@bp.put("/rules/<id:rule_id>")
@admin_required
@documented(raises=(NotFound, Duplicate, PreviewFirst))
@operation(body=JsonBody(RuleInput(partial=True)), answer=RuleOutput())
def change_rule(rule_id: int, body: dict[str, Any]) -> Any:
    """Change a rule: any subset of its members.

    A change of `on`, `when` or `then` makes a rule that is `on` `dry`, unless the same request says its state. The
    reason of a rule that no longer rejects goes.
    """
    editing.change(rule_id, body, by=caller())
    return editing.one(rule_id)


@bp.delete("/rules/<id:rule_id>")
@admin_required
@documented(raises=(NotFound,))
@operation(status=204)
def delete_rule(rule_id: int) -> Any:
    """Delete a rule. What it marked, held and rejected stays so."""
    editing.remove(rule_id, by=caller())


@bp.post("/rules/<id:rule_id>/revert")
@admin_required
@documented(raises=(NotFound,))
@operation(body=JsonBody(RevertInput()), answer=RevertOutput())
def revert_rule(rule_id: int, body: dict[str, Any]) -> Any:
    """Put what a rule has held or rejected since a time back into the queue, at its old place.

    At most 1,000 projects a call: call again until the number is 0. What was edited, decided or appealed since stays as
    it is. The owners learn of it in the thread and by mail.
    """
    terms = {"notify": subscribers(), "self_review": current_app.config["SELF_REVIEW"]}
    return {"number": editing.revert(rule_id, body["since"], by=caller(), **terms)}
