"""The values of the operator's own fields in words of a language, by default that of the answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from directory.http.languages import chosen, of_app, varying
from directory.language.catalogues import Catalogue
from directory.language.messages import _
from directory.services.catalog import own_fields
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import OwnField, said

TRUTHS = {"true": _("Yes"), "false": _("No")}


def title(field: OwnField, language: Catalogue | None = None) -> str:
    """What people read of a field."""
    return said(field.title, (language or chosen()).tag, of_app().default)


def word(field: OwnField, value: Any, language: Catalogue | None = None) -> str:
    """What people read of a value, or of one of the choices."""
    language = language or chosen()
    if field.kind is Kind.TRUTH:
        return language.say(TRUTHS[str(value).lower()])
    return said(field.labels.get(value, str(value)), language.tag, of_app().default)


def each_of(project: Mapping[str, Any]) -> Iterator[tuple[OwnField, list[Any]]]:
    """The fields of which a project shows values, and these, each as a list."""
    values = project["fields"]
    for name, field in own_fields.latest().items() if values else ():
        if name in values:
            yield field, values[name] if isinstance(values[name], list) else [values[name]]


def in_list(project: Mapping[str, Any]) -> list[str]:
    """The values that a row of a list shows."""
    shown = (pair for pair in each_of(project) if pair[0].is_in_list)
    return [alone(field, word(field, value)) for field, values in shown for value in values]


def alone(field: OwnField, text: str) -> str:
    """What a value is called where its label does not stand beside it; without the label if it says enough."""
    is_named = field.kind in {Kind.NUMBER, Kind.DATE, Kind.TRUTH}
    return labelled(field, text) if is_named else text


def labelled(field: OwnField, text: str) -> str:
    """A value with the label of its field."""
    return _("{subject}: {description}", subject=title(field), description=text)


def properties(project: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The values that everybody may see of a project, as JSON-LD."""
    return [
        {"@type": "PropertyValue", "name": title(field), "value": word(field, value)}
        for field, values in each_of(project)
        if not field.is_private
        for value in values
    ]


def facets(counted: Mapping[str, Mapping[str, int]]) -> dict[str, list[dict[str, Any]]]:
    """The numbers of projects by the values of fields, as an answer has them."""
    defined = own_fields.present() if counted else own_fields.NONE
    return {
        name: [
            {"value": value, "label": word(defined[name], value), "live_projects": number}
            for value, number in numbers.items()
        ]
        for name, numbers in counted.items()
        if name in defined
    }


def spoken() -> dict[str, str]:
    """The headers of an answer with such words."""
    site = of_app()
    return {**varying(site), **({"Content-Language": chosen().tag} if site.several else {})}
