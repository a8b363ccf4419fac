"""The query and the bodies of the routes of a project's pictures."""

from directory.http.fields import NO_ID, Few, Line, Number, Strict, Within
from directory.services.pictures.project_pictures import ALT_MAX, ID_MAX, PICTURES_MAX


class PictureQuery(Strict):
    """The words of a new picture."""

    alt = Line(1, ALT_MAX, required=True, metadata={"description": "What the picture shows, in words."})


class PictureInput(PictureQuery):
    """Other words of a picture."""


class OrderInput(Strict):
    """The ids of all pictures of a project, in their new order."""

    order = Few(
        Number(validate=Within(1, ID_MAX, error=NO_ID)), 0, PICTURES_MAX, of="picture",
        required=True,
    )  # fmt: skip
