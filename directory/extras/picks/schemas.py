"""The schema of a pick."""

from directory.http.fields import Line, Strict


class PickInput(Strict):
    """Why a project is picked."""

    words = Line(1, 200, required=True)
