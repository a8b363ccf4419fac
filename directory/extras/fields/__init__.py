"""Fields of the operator's own: administrators define them, members fill them in, visitors filter by them."""

from directory.extras import Extra, Slot
from directory.extras.fields import definitions, page, routes

extra = Extra(
    blueprints=(routes.of_administrators, routes.of_all),
    pages=(routes.pages,),
    commands={"": {"fields": "fields"}},
    slots={
        "project_fields": Slot("project_form_fields.html", page.inputs),
        "project_facts": Slot("project_facts.html", page.facts),
    },
    definitions=definitions.read,
)
