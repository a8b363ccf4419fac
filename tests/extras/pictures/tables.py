"""What tests of the core, which walk all routes, know of the pictures of projects."""

import io
from itertools import count
from typing import Any

_numbers = count(1)
PICTURES, PICTURE = "/api/projects/<id:project_id>/pictures", "/api/projects/<id:project_id>/pictures/<id:picture_id>"
ADD, ORDER, DESCRIBE, DELETE = f"POST {PICTURES}", f"PUT {PICTURES}", f"PUT {PICTURE}", f"DELETE {PICTURE}"
SUBMIT = "POST /submit/pictures"
ADD_FORM = "POST /mine/<id:project_id>/pictures"
CHANGE_FORM = "POST /mine/<id:project_id>/pictures/<id:picture_id>"


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    statuses = {ADD: "201", ORDER: "200", DESCRIBE: "200", DELETE: "204", ADD_FORM: "422", CHANGE_FORM: "303"}
    submitted = {SUBMIT: t.states("401 303 303 303 401 303")}
    return submitted | {
        name: t.states(f"401 403 {status} 403 401 {status}", pending=f"401 404 {status} 404 401 {status}")
        for name, status in statuses.items()
    }


def uploads() -> dict[str, Any]:
    """Routes that take a file (tests/http/test_hostile.py)."""
    return {ADD: None}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {ORDER: {"order": []}, DESCRIBE: {"alt": f"Words {next(_numbers)}"}}


def forms() -> dict[str, Any]:
    """The fields of its forms; of a new picture without its file."""
    number = next(_numbers)
    project = {"title": f"Pictured {number}", "tagline": "A tool", "url": f"https://pictured.example/{number}"}
    new = {**project, "category": "tools", "another": "true"}
    return {SUBMIT: new, ADD_FORM: {"alt": "A window"}, CHANGE_FORM: {"alt": f"Words {next(_numbers)}", "do": "words"}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {ORDER: {"order"}, DESCRIBE: {"alt"}}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    pictured = t.OWN_DETAIL - {"pictures"} | t.below("pictures[]", "id", "alt", "640", "1280", "width", "height")
    return {ADD: pictured, ORDER: t.OWN_DETAIL, DESCRIBE: pictured}


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack (tests/api/test_revisions.py)."""
    return dict.fromkeys((ADD, ORDER, DESCRIBE), t.revised())


def edited(walk: Any) -> dict[str, Any]:
    """Forms that ada sends next to that of an edit, on the walk past everything that people read."""
    one_more, one = f"/mine/{walk.live}/pictures", f"/mine/{walk.live}/pictures/{walk.picture}"
    return {
        "pictures": [
            (one_more, {"alt": ""}),
            (one_more, {"alt": "A window", "picture": (io.BytesIO(b"x"), "a.png")}),
            (one, {"alt": "", "do": "words"}),
            (one, {"alt": "A window", "do": "words"}),
        ]
    }


def pressed(_walk: Any) -> dict[str, Any]:
    """The form of a submission, sent with words and a file that is no picture."""
    lamp = {"title": "Pictured", "tagline": "A tool", "url": "https://pictured.example/", "category": "tools"}
    file = (io.BytesIO(b"x"), "a.png")
    return {"pictures": [("/submit/pictures", {**lamp, "another": "true", "picture_alt": "A window", "picture": file})]}
