"""The routes of own fields, which administrators define and everybody reads, and their pages in the console."""

from typing import Any

from flask import Blueprint

from directory.errors import ChoiceInUse, Duplicate, NotFound, PreconditionFailed, TooMany
from directory.extras.fields import editing
from directory.extras.fields.page import in_language
from directory.extras.fields.schemas import AdminField, AdminFieldList, FieldInput, FieldOrderInput, ShownFieldList
from directory.http.access import admin_required, public
from directory.http.authentication import caller, viewer
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.own_values import spoken
from directory.http.validation import JsonBody
from directory.models import Audience
from directory.pages.shells import console_page

of_administrators = Blueprint("admin", __name__, url_prefix="/api/admin")
of_all = Blueprint("fields", __name__, url_prefix="/api/fields")
pages = Blueprint("pages", __name__)
pages.add_url_rule("/admin/fields", view_func=console_page)
pages.add_url_rule("/admin/fields/new", view_func=console_page)
pages.add_url_rule("/admin/fields/of/<field:field>", view_func=console_page)


@of_all.get("")
@public
@documented(optional_headers=("Content-Language",))
@operation(answer=ShownFieldList(), tier="read")  # without an ETag, so that no language gets another one's answer
def list_fields() -> Any:
    """List the fields that the operator has added to projects, in their order, as far as the caller may see them.

    Members also get those that only reviewers see, which they fill in for their own projects. Retired fields and
    choices are left out.
    """
    items = [
        in_language(field)
        for field in editing.listed(counted=False)
        if not field["retired"] and (field["audience"] == Audience.PUBLIC or viewer() is not None)
    ]
    return {"items": items}, spoken()


@of_administrators.get("/fields")
@admin_required
@operation(answer=AdminFieldList(), tier="read", etag=True)
def list_definitions() -> Any:
    """List all fields that administrators have added to projects, in their order.

    The ETag is that of their order, which `If-Match` of a change of the order names.
    """
    return _all()


def _all() -> dict[str, Any]:
    found = editing.listed()
    return {"items": found, "version": editing.order_version(found)}


@of_administrators.post("/fields")
@admin_required
@documented(headers=("Location",), raises=(Duplicate, TooMany))
@operation(body=JsonBody(FieldInput(), check=editing.refusals), answer=AdminField(), status=201, etag=True)
def add_field(body: dict[str, Any]) -> Any:
    """Add a field to projects, as the last one. There may be 30."""
    editing.add(body, by=caller())
    return editing.one(body["name"]), {"Location": f"/api/admin/fields/{body['name']}"}


@of_administrators.put("/fields/order")
@admin_required
@documented(raises=(PreconditionFailed,))
@operation(body=JsonBody(FieldOrderInput()), answer=AdminFieldList(), etag=True)
def order_fields(body: dict[str, Any]) -> Any:
    """Put the fields into another order, which names all of them."""
    editing.reorder(body["order"], by=caller(), versions=versions_allowed())
    return _all()


@of_administrators.get("/fields/<field:field>")
@admin_required
@documented(raises=(NotFound,))
@operation(answer=AdminField(), tier="read", etag=True)
def show_field(field: str) -> Any:
    """Show a field."""
    return editing.one(field)


@of_administrators.put("/fields/<field:field>")
@admin_required
@documented(raises=(NotFound, PreconditionFailed, ChoiceInUse))
@operation(body=JsonBody(FieldInput(partial=True)), answer=AdminField(), etag=True)
def change_field(field: str, body: dict[str, Any]) -> Any:
    """Change any of a field's members but its name and its kind.

    A choice that projects have cannot be left out of `choices`, but retired. Where `categories` become fewer, projects
    of others keep their values unseen.
    """
    editing.change(field, body, by=caller(), versions=versions_allowed())
    return editing.one(field)


@of_administrators.delete("/fields/<field:field>")
@admin_required
@documented(raises=(NotFound, PreconditionFailed))
@operation(status=204)
def remove_field(field: str) -> Any:
    """Delete a field with all its values. Its name can be used again once these are removed: few are so at once."""
    editing.remove(field, by=caller(), versions=versions_allowed())
