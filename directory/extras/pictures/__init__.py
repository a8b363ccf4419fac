"""Pictures of projects: owners add up to five with words, put them into an order, and delete them.

The core shows the pictures that a project has, whether they were added here or imported.
"""

from directory.extras import Extra, Slot
from directory.extras.pictures import page, routes

extra = Extra(
    blueprints=(routes.bp,),
    pages=(page.bp,),
    slots={
        "project_form": Slot("project_form_pictures.html", page.section),
        "submit_fields": Slot("submit_fields_picture.html", page.fields),
    },
)
