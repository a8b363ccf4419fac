"""flask seed without numbers: the demo directory."""

import random
from datetime import datetime, timedelta
from typing import Any
from zipfile import ZipFile

import pytest
from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from bench import drawings
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import (
    AuditEntry,
    Category,
    FieldDefinition,
    Project,
    ProjectField,
    Report,
    Review,
    Status,
    Upvote,
    User,
    now,
)
from directory.services.accounts import accounts
from directory.services.accounts.passwords import verify_password
from directory.services.data import demo, seeding, under_way
from directory.services.identity import Caller
from tests.conftest import ENVIRONMENT
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def run(app: Flask) -> Any:
    """Runs `flask seed …`."""
    return lambda *arguments: seed(app, *arguments)


def seed(app: Flask, *arguments: str) -> Any:
    return app.test_cli_runner(catch_exceptions=False).invoke(args=["seed", *arguments])


def scalar(app: Flask, query: Any) -> Any:
    with app.app_context():
        return db.session.scalar(query)


def size(app: Flask, model: Any, *conditions: Any) -> Any:
    return scalar(app, select(func.count()).select_from(model).where(*conditions))


def test_the_demo_is_a_directory_in_use(app: Flask, run: Any, api: Api) -> None:
    result = run()
    assert result.exit_code == 0
    first = result.output.splitlines()[0]
    assert first.startswith("Seeded 12 categories, 181 users, 63 projects (51 live, 8 pending, 4 rejected) and ")
    assert size(app, Upvote) == int(first.split()[-2].replace(",", ""))
    assert api.get("/api/projects").json["pagination"]["total"] == 51
    top = [p["upvotes"] for p in api.get("/api/projects?sort=upvotes&limit=51").json["items"]]
    assert top[0] > 3 * top[5] > 0
    assert sum(top) > 1_000
    assert len(set(top)) > 20
    projects = api.get("/api/projects?limit=100").json["items"]
    logos = [project["logo"]["256"] for project in projects if project["logo"]]
    assert len(set(logos)) == len(logos) > 0.8 * len(projects)
    assert api.get(logos[0]).content_type == "image/webp"
    [flask, *_] = api.get("/api/projects?q=flask").json["items"]
    assert api.get("/api/projects?q=databse").json["suggestions"] == ["database"]
    assert (flask["title"], flask["author"]) == ("Flask", "Pallets")
    assert size(app, FieldDefinition) == 3
    assert size(app, ProjectField, ProjectField.field == "license") == 63


def test_some_projects_have_pictures_which_are_served_and_say_that_they_belong_to_the_demo(run: Any, api: Api) -> None:
    run()
    projects = api.get("/api/projects?limit=100").json["items"]
    lists = [project["pictures"] for project in projects if project["pictures"]]
    assert len(projects) > len(lists) >= 30
    assert {len(pictures) for pictures in lists} == {1, 2, 3}
    for picture in (picture for pictures in lists for picture in pictures):
        assert picture["alt"].startswith("A drawing for the demo: ")
        assert (picture["width"], picture["height"]) == drawings.SIZE
        assert api.get(picture["640"]).content_type == "image/webp"
    new = api.get("/").text.partition('class="shelf"')[2].partition("</section>")[0]
    cards = new.split("<li")[1:]
    # A card without a picture shows the letters of its project in the same place.
    assert {('class="picture"' in card) + ("data-letters=" in card) for card in cards} == {1}
    assert 'class="picture"' in new


def test_each_kind_of_drawing_is_used_and_is_the_same_each_time() -> None:
    pictures = [picture for project in demo.data("demo")["projects"] for picture in project.get("pictures", ())]
    assert {picture["drawing"] for picture in pictures} == drawings.KINDS.keys()
    for kind in drawings.KINDS:
        assert drawings.drawn(kind, "#0b6b62") == drawings.drawn(kind, "#0b6b62")
    assert drawings.drawn("bars", "#0b6b62") != drawings.drawn("bars", "#a8552f")


def test_all_that_the_demo_names_is_drawn_and_nothing_else() -> None:
    projects = demo.data("demo")["projects"]
    names = {name for project in projects for name in demo.logo_names(project["title"])}
    names |= {demo.picture_name(each) for project in projects for each in project.get("pictures", ())}
    with ZipFile(demo.DRAWN) as drawn:
        assert set(drawn.namelist()) == names
    assert demo.DRAWN.stat().st_size < 450_000
    small, large = drawings.made_logo("Flask")
    assert drawings.made_logo("Flask") == (small, large) != drawings.made_logo("Django")


def test_the_demo_has_what_is_new_picked_asked_held_appealed_and_reported(
    app: Flask, run: Any, api: Api, world: World
) -> None:
    run()
    newest = [item["published_at"] for item in api.get("/api/projects?limit=3").json["items"]]
    ages = [now() - datetime.fromisoformat(at) for at in newest]
    assert ages[0] < timedelta(hours=2)
    assert ages[1] < timedelta(days=1) < ages[2]
    picks = api.get("/api/projects?picked=true").json["items"]
    assert len(picks) == demo.PICKS
    assert len({each["upvotes"] for each in picks}) == demo.PICKS
    assert [each["picked"]["at"] for each in picks] == sorted((each["picked"]["at"] for each in picks), reverse=True)
    with app.app_context():
        reviewer = accounts.find("admin")
        assert reviewer is not None
    admin = world.caller(Caller(reviewer.id, "admin", "admin"))
    waits = admin.get("/api/review/summary").json
    assert (waits["held"], waits["waiting_for_appeal"], waits["messages"]) == (1, 1, 3)
    [held] = admin.get("/api/review/projects?held=true").json["items"]
    assert f"rule:{under_way.RULE}" in held["warnings"]
    assert size(app, Report, Report.outcome.is_(None)) == 1
    asked = admin.get("/api/review/projects?waiting_for=owner").json["items"]
    assert [each["review"]["waiting_for"] for each in asked] == ["owner"]
    thread = admin.get(f"/api/review/projects/{asked[0]['id']}/messages").json["items"]
    assert [(each["from"], each["kind"]) for each in thread] == [
        ("reviewers", "changes_requested"), ("owner", "message"),
    ]  # fmt: skip


def test_counters_ranks_tags_and_search_are_right_afterwards(app: Flask, run: Any) -> None:
    run()
    result = app.test_cli_runner().invoke(args=["recount", "--check"])
    assert result.exit_code == 0, result.output


def test_the_two_passwords_shown_are_those_of_the_administrator_and_a_member(run: Any, api: Api) -> None:
    rows = [line.split() for line in run().output.splitlines()[-2:]]
    for (username, password, role), expected in zip(rows, ("admin", "member"), strict=True):
        answer = api.post("/api/auth/login", {"login": username, "password": password})
        assert answer.status_code == 200
        assert answer.json["role"] == role == expected


def test_passwords_are_random_and_only_those_that_are_shown_let_somebody_in(app: Flask) -> None:
    stories = [demo.compose(1), demo.compose(1)]
    passwords = [person.password for story in stories for person in story.people]
    assert len(set(passwords)) == 2 * 181
    with app.app_context():
        transaction(lambda: seeding.plant(stories[0]))
        for n, person in enumerate(stories[0].people):
            user = accounts.find(person.username)
            assert user is not None
            if n < demo.SHOWN:
                assert verify_password(user.password_hash, person.password)
            else:
                assert user.password_hash == ""


def test_one_seed_tells_one_story_and_another_a_different_one() -> None:
    def told(number: int) -> list[Any]:
        submissions = demo.compose(number).submissions
        return [
            (s.fields["title"], s.owner.username, s.status, s.reason, sorted(voter.username for voter, _ in s.votes))
            for s in submissions
        ]

    assert told(7) == told(7)
    assert told(7) != told(8)


def test_no_two_runs_share_more_than_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    random.seed(1)
    first = demo.compose(3).people[0].password
    random.seed(1)
    assert demo.compose(3).people[0].password != first


def test_everything_happened_in_its_order_and_before_now(app: Flask, run: Any) -> None:
    run()
    owner, voter = aliased(User), aliased(User)
    with app.app_context():
        for at, joined in db.session.query(Project.created_at, owner.created_at).join(
            owner, owner.id == Project.owner_id
        ):
            assert joined < at
        votes = select(Upvote.created_at, Project.published_at, voter.created_at)
        votes = votes.join(Project, Project.id == Upvote.project_id).join(voter, voter.id == Upvote.user_id)
        for voted, published, joined in db.session.execute(votes):
            assert published <= voted
            assert joined <= voted
        moments = (Project.updated_at, Project.published_at, Upvote.created_at, User.created_at, AuditEntry.at)
        for moment in moments:
            assert db.session.scalar(select(func.max(moment))) < now()
        published = list(db.session.scalars(select(Project.published_at).where(Project.status == Status.LIVE)))
        assert (max(published) - min(published)).days > 100


def test_the_log_tells_of_every_submission_and_decision(app: Flask, run: Any) -> None:
    run()
    with app.app_context():
        admin = accounts.find("admin")
        assert admin is not None
        entries = list(db.session.scalars(select(AuditEntry).order_by(AuditEntry.id)))
        assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
        by_project: dict[Any, list[AuditEntry]] = {}
        for entry in entries:
            if entry.action in {"project.submitted", "project.approved", "project.rejected"}:
                by_project.setdefault(entry.project_id, []).append(entry)
        projects = list(db.session.scalars(select(Project)))
        reasons = dict(db.session.execute(select(Review.project_id, Review.reason)).all())
        assert by_project.keys() == {project.id for project in projects}
        for project in projects:
            submitted, *decided = by_project[project.id]
            assert submitted.action == "project.submitted"
            assert (submitted.actor_id, submitted.at) == (project.owner_id, project.submitted_at)
            assert [entry.to_state for entry in decided] == ([] if project.status == "pending" else [project.status])
            for entry in decided:
                assert entry.actor_id == admin.id
                assert entry.reason == reasons.get(project.id)
                assert entry.waited_seconds == (entry.at - submitted.at).total_seconds() > 0


def test_rejections_have_their_reasons(app: Flask, run: Any) -> None:
    run()
    with app.app_context():
        reasons = list(db.session.scalars(select(Review.reason).where(Review.outcome.is_not(None))))
    assert sorted(reasons) == sorted(demo.REASONS)


@pytest.mark.parametrize("maker", ["user", "project"])
def test_if_empty_leaves_a_directory_alone_that_holds_anything(app: Flask, run: Any, world: World, maker: str) -> None:
    getattr(world, maker)()
    before = size(app, User)
    result = run("--if-empty")
    assert (result.exit_code, result.output) == (0, "Nothing seeded: the directory is not empty.\n")
    assert size(app, User) == before


def test_if_empty_seeds_an_empty_directory(app: Flask, run: Any) -> None:
    assert run("--if-empty").exit_code == 0
    assert size(app, Project) == 63


def test_projects_that_are_there_keep_the_demo_out(app: Flask, run: Any, world: World) -> None:
    world.project()
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: There are projects already: use --force to add to them.\n"
    assert size(app, Project) == 1


def test_a_forced_second_run_adds_nothing(app: Flask, run: Any) -> None:
    run()
    before = [size(app, model) for model in (Project, User, Upvote, Category, AuditEntry)]
    result = run("--force")
    expected = "Seeded 0 categories, 0 users, 0 projects (0 live, 0 pending, 0 rejected) and 0 votes.\n"
    assert (result.exit_code, result.output) == (0, expected)
    assert [size(app, model) for model in (Project, User, Upvote, Category, AuditEntry)] == before


def test_fields_that_are_there_keep_those_of_the_demo_out(app: Flask, run: Any, world: World) -> None:
    name = world.field("license")
    run()
    assert scalar(app, select(FieldDefinition.name)) == name
    assert size(app, FieldDefinition) == 1
    assert size(app, ProjectField) == 0


def test_an_administrator_who_is_there_stays_and_has_decided_nothing(app: Flask, run: Any, world: World) -> None:
    admin = world.admin("admin")
    result = run()
    assert result.exit_code == 0
    assert result.output.splitlines()[-1].split()[2] == "member"
    with app.app_context():
        user = accounts.find("admin")
        assert user is not None
        assert verify_password(user.password_hash, PASSWORD)
    assert size(app, AuditEntry, AuditEntry.actor_id == admin.id) == 0


def test_an_address_of_the_demo_that_somebody_has_leaves_all_as_it_was(app: Flask, run: Any) -> None:
    with app.app_context():
        transaction(lambda: accounts.register("someone", "anneke_v@example.org", "x"))
    result = run()
    assert (result.exit_code, result.stderr) == (1, "Error: This username or e-mail address is taken.\n")
    assert size(app, Category) == 0
    assert size(app, Project) == 0


def test_production_is_seeded_by_force_alone(make_app: Any) -> None:
    app = make_app(**{**ENVIRONMENT, "APP_ENV": "production"})
    refused = seed(app)
    assert (refused.exit_code, refused.stderr) == (
        1,
        "Error: This is production (APP_ENV): use --force to seed anyway.\n",
    )
    passed = seed(app, "--if-empty")
    assert (passed.exit_code, passed.output) == (0, "Nothing seeded: this is production (APP_ENV).\n")
    assert size(app, User) == 0
    assert seed(app, "--force").exit_code == 0
    assert size(app, Project) == 63


def test_the_categories_alone_are_a_start_in_production_too(app: Flask, run: Any, world: World) -> None:
    world.category("databases", "Our own")
    app.config["APP_ENV"] = "production"
    assert run("--categories").output.splitlines()[-1] == "Added 11 categories."
    assert [size(app, model) for model in (Category, Project, User)] == [12, 0, 0]
    assert scalar(app, select(Category.name).where(Category.slug == "databases")) == "Our own"
    assert run("--categories").output.splitlines()[-1] == "Added 0 categories."
    assert run("--categories", "--force").exit_code == 2
