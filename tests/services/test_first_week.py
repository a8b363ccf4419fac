"""The mail to owners a week after a project went live: once, with votes and the place in the week."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

from flask import Flask

from directory import events
from directory.db.transactions import transaction
from directory.models import now
from directory.services.delivery import first_week
from tests.support.factories import World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.reviewing import outbox


def tell(app: Flask) -> int:
    with app.app_context():
        return transaction(lambda: first_week.tell(9, notify=app.extensions["webhooks"]))


def told(app: Flask) -> list[int]:
    return [body["data"]["project"]["id"] for body in outbox(app) if body["type"] == events.PROJECT_FIRST_WEEK]


def test_an_owner_gets_one_mail_a_week_after_a_project_went_live(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world, at = World(app), now()
        ada, quiet = world.user("ada"), world.user("quiet")
        world.change(ada, email_verified_at=at)
        world.change(quiet, notify=False)
        week = at - timedelta(days=7, minutes=1)
        first, second, down = (world.project(ada, title=title) for title in ("Lamp", "Lantern", "Torch"))
        for project in (first, second, down, world.project(quiet)):
            world.published(project, week)
        for days in (6.9, 14.1):
            world.published(world.project(ada), at - timedelta(days=days))
        for _ in range(2):
            world.vote(second, world.user(), week)
        world.vote(first, world.user(), week)
        assert (tell(app), tell(app)) == (3, 0)
        assert sorted(told(app)) == [first, second, down]
        world.caller(world.admin()).put(f"/api/admin/projects/{down}/unpublish", {"reason": "A dead link."})
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        mails = {each.message["Subject"]: " ".join(each.text.split()) for each in mailbox.taken}
        assert {subject for subject in mails if "week" in subject} == {
            "The first week of “Lamp”", "The first week of “Lantern”",
        }  # fmt: skip
        [lantern] = (text for subject, text in mails.items() if "Lantern" in subject)
        assert "It has 2 votes. It was number 1 of Week" in lantern
        [lamp] = (text for subject, text in mails.items() if "Lamp" in subject)
        assert "It has 1 vote. It was number 2 of Week" in lamp
        assert f"/p/{first}/" in lamp
        assert "Switch such mail off here" in lamp


def test_an_address_that_is_not_confirmed_gets_few_and_no_votes_have_no_place(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        ada = world.user()
        for _ in range(4):
            world.published(world.project(ada), now() - timedelta(days=8))
        assert (tell(app), tell(app)) == (3, 0)
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        texts = [each.text for each in mailbox.taken]
        assert len(texts) == 3
        assert all("It has 0 votes." in text and "number" not in text for text in texts)


def test_several_processes_tell_once_and_without_mail_none_does(make_app: Any, app: Flask) -> None:
    assert tell(app) == 0
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        ada = world.user()
        world.change(ada, email_verified_at=now())
        projects = [world.project(ada) for _ in range(4)]
        for project in projects:
            world.published(project, now() - timedelta(days=8))
        barrier = Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(lambda _number: barrier.wait() >= 0 and tell(app), range(4))) == 4
        assert sorted(told(app)) == projects
