"""Logos: what may be uploaded, where it is shown, and that of a live project it waits for review."""

import hashlib
import re
from io import BytesIO

import pytest
from PIL import Image
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Logo, Project, now
from directory.models.base import small_digest
from directory.services.pictures import logos, pictures
from tests.support.factories import Api
from tests.support.pictures import RED, picture

PNG = {"Content-Type": "image/png"}


def put(caller, project_id, content=RED, **headers):
    """Upload a logo."""
    client = caller.app.test_client(use_cookies=False)
    given = {"Authorization": f"Bearer {caller.token}", **PNG, **{k.replace("_", "-"): v for k, v in headers.items()}}
    return client.put(f"/api/projects/{project_id}/logo", data=content, headers=given)


def shown(app, address):
    """The picture at an address."""
    answer = Api(app).get(address)
    assert (answer.status_code, answer.content_type) == (200, "image/webp")
    return Image.open(BytesIO(answer.data))


def owned(world, status="pending"):
    """A project, and its owner as a caller."""
    user = world.user()
    return world.project(user, status), world.caller(user)


def stored(app):
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(Logo))


def test_a_logo_is_stored_in_two_sizes_under_the_digest_of_its_content(app, world):
    project_id, owner = owned(world)
    answer = put(owner, project_id, picture((300, 150)))
    assert (answer.status_code, answer.json["version"]) == (200, 2)
    logo = answer.json["logo"]
    for side in (64, 256):
        image = shown(app, logo[str(side)])
        assert (image.format, image.size, image.mode) == ("WEBP", (side, side), "RGBA")
        assert image.getpixel((side // 2, side // 2))[3] == 255
        assert image.getpixel((side // 2, 2))[3] == 0  # next to a wide picture it is transparent
    large = Api(app).get(logo["256"])
    digest = hashlib.sha256(large.data).hexdigest()
    assert logo == {"64": f"/images/{small_digest(digest)}.webp", "256": f"/images/{digest}.webp"}
    assert large.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert large.headers["X-Content-Type-Options"] == "nosniff"
    assert large.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert owner.get(f"/api/projects/{project_id}").json["logo"] == logo


def test_the_same_picture_is_stored_once_and_leaves_no_trace_the_second_time(app, world):
    first, second = owned(world), owned(world)
    answers = [put(owner, project_id).json for project_id, owner in (first, second)]
    assert answers[0]["logo"] == answers[1]["logo"]
    assert stored(app) == 1
    assert put(first[1], first[0]).json["version"] == answers[0]["version"]


def test_a_live_projects_logo_waits_for_review_and_is_applied_by_an_approval(app, world, api):
    project_id, owner = owned(world, "live")
    admin = world.caller(world.admin())
    answer = put(owner, project_id).json
    wanted = answer["revision"]["changes"]["logo"]
    assert answer["logo"] is None
    assert shown(app, wanted["256"]).size == (256, 256)  # the reviewer sees it
    assert api.get(f"/api/projects/{project_id}").json["logo"] is None
    [waiting] = admin.get("/api/admin/projects?waiting=true").json["items"]
    assert waiting["revision"]["changes"] == {"logo": wanted}
    assert admin.put(f"/api/admin/projects/{project_id}/approve").status_code == 200
    assert api.get(f"/api/projects/{project_id}").json["logo"] == wanted
    assert api.get("/api/projects").json["items"][0]["logo"] == wanted
    entry = admin.get("/api/admin/audit?action=project.edit_approved").json["items"][0]
    assert entry["changes"] == {"logo": {"from": None, "to": wanted}}
    assert owner.delete(f"/api/projects/{project_id}/logo").status_code == 204
    assert api.get(f"/api/projects/{project_id}").json["logo"] == wanted
    assert owner.get(f"/api/projects/{project_id}").json["revision"]["changes"] == {"logo": None}
    assert admin.put(f"/api/admin/projects/{project_id}/reject").status_code == 200
    assert api.get(f"/api/projects/{project_id}").json["logo"] == wanted


def test_where_no_edit_is_reviewed_it_applies_at_once(make_app, world):
    project_id, owner = owned(world, "live")
    owner = Api(make_app(REVIEW_ON_EDIT="never"), owner.token)
    logo = put(owner, project_id).json["logo"]
    assert logo is not None
    assert owner.delete(f"/api/projects/{project_id}/logo").status_code == 204
    assert owner.get(f"/api/projects/{project_id}").json["logo"] is None


def test_only_the_owner_and_administrators_may_and_only_of_the_version_that_they_saw(app, world, api):
    project_id, owner = owned(world, "live")
    other, admin = world.caller(world.user()), world.caller(world.admin())
    hidden = world.project(status="pending")
    anonymous = app.test_client(use_cookies=False).put(f"/api/projects/{project_id}/logo", data=RED, headers=PNG)
    assert anonymous.status_code == 401
    assert [put(other, each).status_code for each in (project_id, hidden, 999)] == [403, 404, 404]
    assert put(owner, project_id, If_Match='"9-x"').status_code == 412
    assert stored(app) == 0
    assert put(admin, project_id).json["logo"] is not None


def test_what_is_no_picture_is_422_what_is_too_large_413_and_another_type_415(app, world):
    project_id, owner = owned(world)
    answer = put(owner, project_id, b"<svg/>")
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#")
    assert put(owner, project_id, b"").status_code == 422
    assert put(owner, project_id, bytes(2**20 + 1)).status_code == 413
    for kind in ("image/gif", "image/svg+xml", "application/json", "image/png; charset=x", ""):
        assert put(owner, project_id, Content_Type=kind).status_code == 415
    assert put(owner, project_id, Content_Encoding="gzip").status_code == 415
    assert put(owner, project_id, picture(kind="GIF")).status_code == 422
    assert stored(app) == 0
    client = app.test_client(use_cookies=False)  # all other bodies keep their bound
    headers = {"Authorization": f"Bearer {owner.token}", "Content-Type": "application/json"}
    assert client.put(f"/api/projects/{project_id}", data=b" " * 65_537, headers=headers).status_code == 413


def test_pages_and_feeds_show_the_logo(make_app, world):
    project_id, _ = owned(world, "live")
    logo = put(world.caller(world.admin()), project_id).json["logo"]
    api = Api(make_app(SITE_URL="https://a.example"))
    assert (
        f'<img class="monogram" src="{logo["64"]}" width="48" height="48" alt="" loading="lazy" fetchpriority="low">'
        in api.get("/").text
    )
    page = api.get(f"/p/{project_id}/{world.stored(project_id)['slug']}").text
    assert f'src="{logo["256"]}"' in page
    assert re.search(f'"image":"https://a.example{logo["256"]}"', page)


@pytest.mark.parametrize("name", ["x", "a" * 63, "A" * 64, "a" * 64])
def test_there_is_no_picture_of_another_name(api, name):
    assert api.get(f"/images/{name}.webp").status_code == 404


def test_an_unused_logo_is_deleted_after_an_hour_and_no_other(app, world, api):
    (first, one), (second, two), (third, three) = owned(world), owned(world), owned(world, "live")
    gone = put(one, first).json["logo"]
    kept = put(two, second, picture(colour="blue")).json["logo"]
    held = put(three, third, picture(colour="green")).json["revision"]["changes"]["logo"]
    assert one.delete(f"/api/projects/{first}/logo").status_code == 204

    def purge():
        with app.app_context():
            return transaction(lambda: logos.purge(10))

    assert purge() == 0
    with app.app_context():
        transaction(lambda: db.session.execute(update(Logo).values(stored_at=now() - 2 * logos.UNUSED_FOR)))
    assert purge() == 1
    assert [api.get(each["64"]).status_code for each in (gone, kept, held)] == [404, 200, 200]
    assert two.delete(f"/api/projects/{second}").status_code == 204
    assert purge() == 1


def test_a_logo_that_something_uses_cannot_be_deleted(app, world):
    project_id, owner = owned(world)
    put(owner, project_id)
    with app.app_context(), pytest.raises(Exception, match=r"(?i)foreign key"):
        transaction(lambda: db.session.execute(Logo.__table__.delete()))


def test_logos_are_decoded_one_at_a_time(world, monkeypatch):
    project_id, owner = owned(world)
    monkeypatch.setattr(pictures, "TURN_SECONDS", 0.01)
    with pictures._turns_of_all.turn(""):
        answer = put(owner, project_id)
    assert (answer.status_code, answer.json["code"]) == (503, "unavailable")
    assert put(owner, project_id).status_code == 200


def test_the_column_holds_the_digest(app, world):
    project_id, owner = owned(world)
    logo = put(owner, project_id).json["logo"]
    with app.app_context():
        assert db.session.scalar(select(Project.logo).where(Project.id == project_id)) == logo
