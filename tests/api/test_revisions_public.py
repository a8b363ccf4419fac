"""Changes that wait for review are not public: they change no answer, page, feed or sitemap by one byte."""

import re
from typing import Any

from flask import Flask

from directory.services.catalog import fields
from tests.api import test_logos
from tests.api.test_public_walk import LISTS, Filled, public_reads
from tests.support.extras import rows
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, THIS_YEAR
from tests.support.reviewing import NOTIFYING, decide

HELD: dict[str, Any] = {
    **{field.name: field.example for field in fields.BODY},  # of a field that is not named here
    "title": "Zebra", "tagline": "Striped", "description": "Zebras [graze](https://held.example).",
    "url": "https://held.example", "repository_url": "https://held.example/code", "logo_url": None,
    "category": "games", "tags": ["held"],
}  # fmt: skip
# The values of parameters in paths, and queries that name waiting changes.
ADDRESSES: dict[str, list[str]] = {
    **LISTS,
    "/api/projects": [
        *LISTS["/api/projects"], "?q=zebra", "?q=zebr", "?q=held.example", "?category=games", "?tag=held", "?limit=1",
        "?status=live&sort=newest&page=2&limit=1",
    ],
    "/api/projects.atom": ["", "?category=tools", "?category=games", "?tag=a", "?tag=held"],
    "/api/tags": ["", "?prefix=h"],
    "/": ["", "?q=zebra", "?q=project", *(f"?sort={each}" for each in ORDERS)],
    "/api/projects/<id:project_id>": ["/{project}"],
    "/api/users/<username:username>": ["/ada"],
    "/users/<username>": ["/ada"],
    "/categories/<slug>": ["/tools", "/games", "/games?sort=popular"],
    "/tags/<tag>": ["/a", "/held"],
    "/best/<published>": [f"/{THIS_YEAR}"],
    "/voted/<id:project_id>": ["/{project}"],
    "/p/<id:project_id>": ["/{project}"],
    "/p/<id:project_id>/<title>": ["/{project}/project-0", "/{project}/zebra"],
    "/sitemap-<id:number>.xml": ["1.xml"],
    "/api/problems/<code>": ["/not_found"],
    "/assets/<name>": ["/none.js"],
    "/images/<name>.webp": ["/none.webp"], "/static/<path:name>": ["/none"],
    "/api/docs/<version>/<name>": ["/none/none.css"],
    "/api/auth/notifications/<token>": ["/1-x"],
    "/account/<path:form>": ["/email"],
    "/admin/queue/<id:project_id>": ["/{project}"],
    "/admin/users/<id:user_id>": ["/1"],
    **rows("addresses"),
}  # fmt: skip
# The process's own figures, and addresses that answer with a random state.
OF_THE_MOMENT = {"/metrics", "/readyz", *rows("moving")}
# For members: what they find before a submission, and what is the owner's.
FOR_MEMBERS = [
    "/api/projects/check?title=Zebra", "/api/projects/check?url=https://held.example",
    "/api/projects/counts?owner=me", "/api/projects/{project}/timeline", "/api/projects?upvoted=me",
]  # fmt: skip
# The version counts the changes of a revision too. It is that of the bodies and of the pages' forms.
VERSION = re.compile(rb'"version": ?\d+')
MAY_CHANGE = {"ETag", "Date", "X-Request-ID", "Content-Length"}  # the last with the digits of the version


def addresses(app: Flask, project: int) -> list[str]:
    """An address, or several, of every route that anyone may read."""
    found = []
    for rule in sorted(public_reads(app) - OF_THE_MOMENT):
        start = re.sub(r"[/-]?<.*", lambda match: "-" if match[0][0] == "-" else "", rule)
        assert "<" not in rule or rule in ADDRESSES, f"{rule} is not walked"
        found += [start + end.format(project=project) for end in ADDRESSES.get(rule, [""])]
    return found


def shown(caller: Api, path: str) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the bytes of an answer."""
    answer = caller.get(path, headers={"X-Request-ID": "walk"})
    headers = {name: value for name, value in answer.headers if name not in MAY_CHANGE}
    return answer.status_code, headers, VERSION.sub(b"", answer.data)


def test_no_public_answer_shows_anything_of_what_waits_until_it_is_approved(make_app: Any, world: World) -> None:
    """With and without the cache, to anonymous callers and to a member; each is asked before, while and after."""
    world.category("games")
    filled = Filled(world, 2)
    [project, _] = filled.projects
    cached, uncached = (make_app(REVIEW_ON_EDIT="always", RESPONSE_CACHE=use, **NOTIFYING) for use in ("true", "false"))
    owner, admin = Api(cached, filled.owner.token), Api(cached, filled.admin.token)
    fan = world.caller(world.user())
    public = addresses(cached, project)
    of_members = [path for path in public if path.startswith(("/api/projects", "/p/"))]
    of_members += [path.format(project=project) for path in FOR_MEMBERS]
    asked = [
        (Api(cached), public), (Api(uncached), public),
        (Api(cached, fan.token), of_members), (Api(uncached, fan.token), of_members),
    ]  # fmt: skip

    def look() -> dict[tuple[int, str], Any]:
        return {(n, path): shown(caller, path) for n, (caller, paths) in enumerate(asked) for path in paths}

    def hold_all() -> None:
        assert owner.put(f"/api/projects/{project}", HELD).status_code == 200
        assert test_logos.put(owner, project).status_code == 200
        world.picture(project, "A zebra", by=filled.ada)
        held = owner.get(f"/api/projects/{project}").json["revision"]["changes"]
        given = {name: value for name, value in HELD.items() if name != fields.OWN_FIELDS}
        assert held == {**given, "logo": held["logo"], "pictures": held["pictures"]}
        assert {*held, fields.OWN_FIELDS} == set(fields.NAMES)  # own ones: tests/extras/fields

    def changed() -> set[str]:
        after = look()
        return {path for place, path in before if before[place, path] != after[place, path]}

    before = look()
    assert sum(status == 200 for status, _, _ in before.values()) > 100
    reject, withdraw = (
        lambda: decide(admin, project, "reject", "No."), lambda: owner.delete(f"/api/projects/{project}/revision"),
    )  # fmt: skip
    for end in (reject, withdraw):
        hold_all()
        assert changed() == set()
        assert end().status_code in {200, 204}
        assert changed() == set()
    hold_all()
    assert decide(admin, project, "approve").status_code == 200
    assert {
        f"/api/projects/{project}", "/api/projects", "/api/projects?q=zebra", "/api/tags", "/api/categories", "/",
        "/api/projects.atom", "/categories/games", "/tags/held", f"/p/{project}/zebra",
    } <= changed()  # fmt: skip
