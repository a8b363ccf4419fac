"""The inputs of own fields in the form of a project, and their values on its page."""

from collections.abc import Container, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from directory.extras.fields import editing
from directory.http import own_values
from directory.http.languages import chosen, of_app
from directory.language.messages import _
from directory.models import FieldKind
from directory.pages.forms import Form
from directory.services.catalog import own_fields, own_filters
from directory.services.catalog.fields import PREFIX
from directory.services.catalog.own_fields import said

NOTHING = ("", _("Not given"))


def in_language(field: dict[str, Any], kept: Mapping[str, str] = {}) -> dict[str, Any]:
    """A field with its texts in the language of the answer, and the choices that are offered or `kept` has."""
    language, default = chosen().tag, of_app().default
    name = PREFIX + field["name"]
    choices = [
        {"value": choice["value"], "label": said(choice["label"], language, default)}
        for choice in field["choices"]
        if not choice["retired"] or kept.get(name) == choice["value"] or f"{name}.{choice['value']}" in kept
    ]
    return {
        **field, "label": said(field["label"], language, default), "help": said(field["help"], language, default),
        "choices": choices,
    }  # fmt: skip


def inputs(project: Mapping[str, Any] | None, form: Form) -> dict[str, Any]:
    """The fields of the form: those of the category that is chosen, or that the project has, and hidden the others."""
    slug = form.values.get("category") or (project and project["category"]["slug"])
    found = [in_language(field, form.values) for field in editing.listed(counted=False) if not field["retired"]]
    for field in found:
        is_asked = field["categories"] is None or slug in field["categories"]
        field |= {"options": _options(field), "is_asked": is_asked}
    return {"own_inputs": found}


def facts(project: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the page of a project shows, in words; those of facets lead to the projects that have them."""
    facets = own_filters.facets(own_fields.latest())
    return {
        "own_facts": [
            {
                "label": own_values.title(field), "kind": field.kind.name.lower(),
                "values": [(_address(field.name, value, facets), own_values.word(field, value)) for value in values],
            }
            for field, values in own_values.each_of(project)
        ]
    }  # fmt: skip


def _address(name: str, value: Any, facets: Container[str]) -> str:
    """The list of projects with a value of a field; empty where it narrows no list."""
    given = str(value).lower() if isinstance(value, bool) else value
    return f"/?{urlencode({own_filters.PARAMETER + name: given})}" if name in facets else ""


def _options(field: dict[str, Any]) -> list[tuple[str, str]]:
    pairs: Iterable[tuple[str, str]] = ((choice["value"], choice["label"]) for choice in field["choices"])
    if field["kind"] == FieldKind.TRUTH:
        pairs = own_values.TRUTHS.items()
    return [NOTHING, *pairs]
