"""Pictures of projects: what may be uploaded, their order and words, and those of a live project wait for review."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Barrier

import pytest
from PIL import Image
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Delivery, Logo, PictureUse, Project, now
from directory.models.base import small_digest
from directory.services.pictures import logos, pictures
from directory.services.pictures.pictures import PICTURES_MAX
from tests.support.factories import Api
from tests.support.pictures import picture
from tests.support.reviewing import NOTIFYING

COLOURS = ("red", "green", "blue", "black", "white", "grey")


def post(caller, project_id, content=None, alt="A window", **headers):
    """Upload a picture."""
    client = caller.app.test_client(use_cookies=False)
    given = {"Authorization": f"Bearer {caller.token}", "Content-Type": "image/png"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    query = {} if alt is None else {"alt": alt}
    path = f"/api/projects/{project_id}/pictures"
    return client.post(path, query_string=query, data=content or picture(), headers=given)


def owned(world, status="pending"):
    """A project, and its owner as a caller."""
    user = world.user()
    return world.project(user, status), world.caller(user)


def filled(caller, project_id, number):
    """The list of a project's pictures after so many uploads, each of another colour."""
    for colour in COLOURS[:number]:
        answer = post(caller, project_id, picture((30, 20), colour), alt=colour)
        assert answer.status_code == 201
    waiting = (answer.json["revision"] or {}).get("changes") or {}
    return waiting.get("pictures", answer.json["pictures"])


def words(project):
    return [each["alt"] for each in project["pictures"]]


def number_of(app, model):
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(model))


@pytest.mark.parametrize(
    ("given", "large", "small"),
    [((2600, 1300), (1280, 640), (640, 320)), ((900, 1800), (640, 1280), (320, 640)), ((200, 100),) * 3],
)
def test_a_picture_is_stored_in_two_sizes_and_never_made_larger(app, world, given, large, small):
    project_id, owner = owned(world)
    answer = post(owner, project_id, picture(given), alt=" The\u0301 window ")
    assert (answer.status_code, answer.json["version"]) == (201, 2)
    [stored] = answer.json["pictures"]
    assert (stored["alt"], stored["width"], stored["height"]) == ("Th\u00e9 window", *large)
    for name, size in (("1280", large), ("640", small)):
        shown = Api(app).get(stored[name])
        image = Image.open(BytesIO(shown.data))
        assert (shown.content_type, image.format, image.size) == ("image/webp", "WEBP", size)
        assert not image.info.keys() & {"exif", "icc_profile", "xmp"}
    digest = hashlib.sha256(Api(app).get(stored["1280"]).data).hexdigest()
    addresses = {"640": f"/images/{small_digest(digest)}.webp", "1280": f"/images/{digest}.webp"}
    assert stored == {**stored, **addresses}
    assert owner.get(f"/api/projects/{project_id}").json["pictures"] == [stored]
    assert owner.get("/api/projects?owner=me").json["items"][0]["pictures"] == [stored]


def test_pictures_are_ordered_described_and_deleted_each_as_one_edit(app, world):
    project_id, owner = owned(world)
    red, green, blue = (each["id"] for each in filled(owner, project_id, 3))
    path = f"/api/projects/{project_id}/pictures"
    assert words(owner.put(path, {"order": [blue, red, green]}).json) == ["blue", "red", "green"]
    assert words(owner.put(f"{path}/{red}", {"alt": "scarlet"}).json) == ["blue", "scarlet", "green"]
    before = owner.put(f"{path}/{red}", {"alt": "scarlet"}).json  # changes nothing
    assert before["version"] == 6
    assert owner.delete(f"{path}/{green}").status_code == 204
    assert words(owner.get(f"/api/projects/{project_id}").json) == ["blue", "scarlet"]
    with app.app_context():
        edits = db.session.scalars(select(AuditEntry).where(AuditEntry.action == "project.edited")).all()
        lengths = sorted(len(edit.changes["pictures"]["to"]) for edit in edits)
    assert lengths == [1, 2, 2, 3, 3, 3]
    for order in ([], [red], [red, red], [red, 1], [red, blue, green], "no", None, [str(red), blue]):
        answer = owner.put(path, {"order": order})
        assert (answer.status_code, answer.json["code"]) == (422, "validation_failed"), order
    assert owner.put(path, {"order": [float(red), blue]}).status_code == 200  # JSON has a single type of numbers
    for alt in ("", " ", "x" * 141, "a\nb", "\u202e", None, 7):
        assert owner.put(f"{path}/{red}", {"alt": alt}).status_code == 422, alt
    for gone in (green, 1, 2**63 - 1):
        assert owner.put(f"{path}/{gone}", {"alt": "x"}).status_code == 404
        assert owner.delete(f"{path}/{gone}").status_code == 404
    other, its_owner = owned(world)
    assert its_owner.delete(f"/api/projects/{other}/pictures/{red}").status_code == 404


def test_a_sixth_picture_is_409_and_stores_nothing(app, world):
    project_id, owner = owned(world)
    filled(owner, project_id, PICTURES_MAX)
    answer = post(owner, project_id, picture(colour="yellow"))
    assert (answer.status_code, answer.json["code"]) == (409, "too_many")
    assert number_of(app, Logo) == PICTURES_MAX
    assert len(owner.get(f"/api/projects/{project_id}").json["pictures"]) == PICTURES_MAX


def test_words_are_required_and_a_bad_upload_stores_nothing(app, world):
    project_id, owner = owned(world)
    for alt in (None, "", "x" * 141, "a\tb"):
        answer = post(owner, project_id, alt=alt)
        assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, "alt"), alt
    assert post(owner, project_id, b"<svg/>").json["errors"][0]["pointer"] == "#"
    assert post(owner, project_id, picture(kind="GIF")).status_code == 422
    assert post(owner, project_id, bytes(2**22 + 1)).status_code == 413
    assert post(owner, project_id, bytes(2**20 + 1)).status_code == 422  # larger than a logo may be
    assert post(owner, project_id, Content_Type="image/gif").status_code == 415
    assert post(owner, project_id, If_Match='"9-x"').status_code == 412
    assert (number_of(app, Logo), number_of(app, PictureUse)) == (0, 0)


def test_the_pictures_of_a_live_project_wait_as_one_list_that_an_approval_applies(app, world, api):
    project_id, owner = owned(world, "live")
    admin = world.caller(world.admin())
    path = f"/api/projects/{project_id}"
    first, second = filled(owner, project_id, 2)
    assert api.get(path).json["pictures"] == []
    assert api.get(second["640"]).status_code == 200  # the reviewer sees it
    assert owner.put(f"{path}/pictures", {"order": [second["id"], first["id"]]}).json["revision"]["changes"] == {
        "pictures": [second, first]
    }
    [waiting] = admin.get("/api/admin/projects?waiting=true").json["items"]
    assert waiting["revision"]["changes"] == {"pictures": [second, first]}
    assert admin.put(f"/api/admin/projects/{project_id}/approve").status_code == 200
    assert api.get(path).json["pictures"] == [second, first]
    assert api.get("/api/projects").json["items"][0]["pictures"] == [second, first]
    assert owner.delete(f"{path}/pictures/{first['id']}").status_code == 204
    assert api.get(path).json["pictures"] == [second, first]
    assert owner.get(path).json["revision"]["changes"] == {"pictures": [second]}
    # The owner adds three more to the one that would stay: the list that waits is full, the live one is not.
    for number in range(PICTURES_MAX - 1):
        assert post(owner, project_id, picture(colour=COLOURS[number + 1])).status_code == 201
    assert post(owner, project_id).json["code"] == "too_many"
    assert admin.put(f"/api/admin/projects/{project_id}/reject", {"reason": "No."}).status_code == 200
    revision = owner.get(path).json["revision"]
    assert (len(revision["rejected"]["pictures"]), revision["changes"]) == (PICTURES_MAX, {})
    assert api.get(revision["rejected"]["pictures"][4]["640"]).status_code == 200
    # After a rejection the list begins as the live one again, and a list that is set back is no change.
    again = owner.put(f"{path}/pictures", {"order": [first["id"], second["id"]]}).json["revision"]["changes"]
    assert again == {"pictures": [first, second]}
    assert owner.put(f"{path}/pictures", {"order": [second["id"], first["id"]]}).json["revision"] is None


def test_an_administrator_changes_the_live_list_and_leaves_the_one_that_waits(world, api):
    project_id, owner = owned(world, "live")
    admin = world.caller(world.admin())
    filled(owner, project_id, 1)
    answer = post(admin, project_id, alt="From the desk").json
    assert words(answer) == ["From the desk"]
    assert [each["alt"] for each in answer["revision"]["changes"]["pictures"]] == ["red"]
    assert words(api.get(f"/api/projects/{project_id}").json) == ["From the desk"]


def test_where_no_edit_is_reviewed_pictures_apply_at_once(make_app, world):
    project_id, owner = owned(world, "live")
    owner = Api(make_app(REVIEW_ON_EDIT="never"), owner.token)
    assert words(post(owner, project_id).json) == ["A window"]


def test_a_rejected_project_goes_back_to_the_queue(world):
    project_id, owner = owned(world, "rejected")
    answer = post(owner, project_id).json
    assert (answer["status"], words(answer)) == ("pending", ["A window"])


def test_a_webhook_of_an_approval_has_the_pictures(make_app, world):
    app = make_app(**NOTIFYING)
    project_id, owner = owned(world)
    admin = Api(app, world.caller(world.admin()).token)
    [sent] = filled(owner, project_id, 1)
    assert admin.put(f"/api/admin/projects/{project_id}/approve").status_code == 200
    with app.app_context():
        approved = select(Delivery.payload).where(Delivery.event == "project.approved")
        payloads = [json.loads(each) for each in db.session.scalars(approved)]
    assert [each["data"]["project"]["pictures"] for each in payloads] == [[sent]]


def test_of_two_uploads_at_once_where_four_are_there_one_is_409(app, world, monkeypatch):
    project_id, owner = owned(world, "live")
    admin = world.caller(world.admin())
    filled(owner, project_id, PICTURES_MAX - 1)  # they wait
    for _ in range(PICTURES_MAX - 1):
        world.picture(project_id)  # the live ones
    barrier, made = Barrier(2, timeout=60), pictures.as_picture(picture())

    def decoded(_content, *, by):  # without `by`: two at once of one user are refused
        barrier.wait()
        return made

    monkeypatch.setattr(pictures, "as_picture", decoded)
    for caller in (owner, admin):
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda each: post(each, project_id), (caller, caller)))
        assert sorted(answer.status_code for answer in answers) == [201, 409]
    seen = owner.get(f"/api/projects/{project_id}").json
    assert len(seen["pictures"]) == len(seen["revision"]["changes"]["pictures"]) == PICTURES_MAX


def test_an_unused_picture_is_deleted_after_an_hour_and_no_other(app, world, api):
    (first, one), (second, two), (third, three) = owned(world), owned(world), owned(world, "live")
    [gone, kept] = filled(one, first, 2)
    [shared] = filled(two, second, 1)  # the same red one
    [held] = filled(three, third, 1)
    assert (gone["1280"], gone["id"] == shared["id"]) == (shared["1280"], False)
    for caller, project_id, each in ((one, first, gone), (two, second, shared)):
        assert caller.delete(f"/api/projects/{project_id}/pictures/{each['id']}").status_code == 204

    def purge():
        with app.app_context():
            transaction(lambda: db.session.execute(update(Logo).values(stored_at=now() - 2 * logos.UNUSED_FOR)))
            return transaction(lambda: logos.purge(10))

    assert purge() == 0  # it waits in the revision
    assert three.delete(f"/api/projects/{third}/revision").status_code == 204
    assert purge() == 1
    assert [api.get(each["640"]).status_code for each in (gone, held, kept)] == [404, 404, 200]
    assert one.delete(f"/api/projects/{first}").status_code == 204
    assert (purge(), number_of(app, PictureUse)) == (1, 0)


def test_a_picture_that_is_used_cannot_be_deleted_nor_one_be_named_that_is_not_stored(app, world, database):
    project_id, owner = owned(world, "live")
    [held] = filled(owner, project_id, 1)
    with app.app_context(), pytest.raises(Exception, match=r"(?i)foreign key"):
        transaction(lambda: db.session.execute(Logo.__table__.delete()))
    absent = {**held, "1280": f"/images/{'0' * 64}.webp"}
    with app.app_context(), pytest.raises(Exception, match=r"(?i)foreign key"):
        transaction(lambda: db.session.execute(update(Project).values(pictures=[absent])))


def test_the_uses_of_pictures_follow_each_decision(app, world, database):
    project_id, owner = owned(world, "live")
    admin = world.caller(world.admin())

    def uses():
        with app.app_context():
            query = select(PictureUse.is_held, func.count()).group_by(PictureUse.is_held)
            return dict(db.session.execute(query).all())

    filled(owner, project_id, 2)
    assert uses() == {True: 2}
    assert post(owner, project_id, picture((30, 20), "red")).status_code == 201  # the same picture is used once
    assert uses() == {True: 2}
    assert admin.put(f"/api/admin/projects/{project_id}/approve").status_code == 200
    assert uses() == {False: 2}
    assert post(owner, project_id, picture((30, 20), "blue")).status_code == 201
    assert uses() == {False: 2, True: 3}
    assert admin.put(f"/api/admin/projects/{project_id}/reject").status_code == 200
    assert uses() == {False: 2, True: 3}  # of what was rejected
    assert admin.put(f"/api/admin/projects/{project_id}/unpublish").status_code == 200
    assert uses() == {False: 2}
    assert owner.delete(f"/api/projects/{project_id}").status_code == 204
    assert uses() == {}
