"""Mail about messages of reviewers: one for what is unread of a thread, and at most one in ten minutes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Delivery, User, now
from directory.services.delivery import leases
from directory.services.delivery.channels import MailServer
from directory.services.delivery.outbox import BETWEEN_MAILS
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as one:
        yield one


class Thread:
    """A project whose owner has a confirmed address, and what reviewers write to them."""

    def __init__(self, app: Flask, mailbox: Mailbox) -> None:
        self.app, self.mailbox, self.world = app, mailbox, World(app)
        ada = self.world.user("ada")
        self.world.change(ada, email_verified_at=now())
        self.owner, self.admin = self.world.caller(ada), self.world.caller(self.world.admin())
        self.project = self.world.project(ada, "pending")
        [found] = app.extensions["webhooks"]
        assert isinstance(found, MailServer)
        self.server = found

    def write(self, *texts: str, by: Api | None = None, **more: Any) -> None:
        for text in texts:
            path = f"/api/review/projects/{self.project}/messages"
            assert (by or self.admin).post(path, {"text": text, **more}).status_code == 201

    def rows(self) -> list[tuple[str, bool]]:
        """The state of each mail about messages, and whether it is due only when ten minutes have passed."""
        with self.app.app_context():
            columns = select(Delivery.state, Delivery.next_attempt_at).where(Delivery.event == events.PROJECT_MESSAGE)
            found = db.session.execute(columns.order_by(Delivery.id)).all()
        return [(state, due > now() + BETWEEN_MAILS - timedelta(minutes=1)) for state, due in found]

    def send(self) -> list[str]:
        """The texts of the mails that are sent now."""
        before = len(self.mailbox.taken)
        send_all(delivery_thread(self.app, self.server, quick()))
        return [taken.text for taken in self.mailbox.taken[before:]]

    def pass_ten_minutes(self) -> None:
        values = {name: getattr(Delivery, name) for name in ("next_attempt_at", "settled_at")}
        with self.app.app_context():
            for row in db.session.scalars(select(Delivery)):
                for name in values:
                    at = getattr(row, name)
                    setattr(row, name, at and at - BETWEEN_MAILS)
            db.session.commit()


@pytest.fixture
def thread(make_app: Any, mailbox: Mailbox) -> Thread:
    return Thread(make_app(**mailbox.settings), mailbox)


def test_what_is_written_before_a_mail_is_sent_is_one_mail(thread: Thread) -> None:
    thread.write("First.", "Second.", "Third.")
    thread.write("A note.", internal=True)
    assert thread.rows() == [("pending", False)]
    [mail] = thread.send()
    assert "First.\n\nSecond.\n\nThird." in mail
    assert "A note." not in mail


def test_the_next_mail_comes_ten_minutes_later_with_what_came_since_and_is_unread(thread: Thread) -> None:
    thread.write("First.")
    assert len(thread.send()) == 1
    thread.write("Second.", "Third.")
    assert (thread.rows(), thread.send()) == ([("delivered", False), ("pending", True)], [])
    thread.pass_ten_minutes()
    [mail] = thread.send()
    assert ("First." in mail, "Second.\n\nThird." in mail) == (False, True)
    thread.pass_ten_minutes()
    thread.pass_ten_minutes()
    thread.write("Fourth.")
    assert thread.rows()[-1] == ("pending", False)


def test_what_the_owner_has_read_is_in_no_mail(thread: Thread) -> None:
    thread.write("First.", "Second.")
    items = thread.owner.get(f"/api/projects/{thread.project}/messages").json["items"]
    path = f"/api/projects/{thread.project}/messages/read"
    thread.owner.put(path, {"up_to": items[0]["id"]})
    [mail] = thread.send()
    assert ("First." in mail, "Second." in mail) == (False, True)
    thread.write("Third.")
    thread.owner.put(path, {"up_to": 2**62})
    thread.pass_ten_minutes()
    assert (thread.send(), [state for state, _ in thread.rows()]) == ([], ["delivered", "dead"])


def test_what_is_written_while_a_mail_is_being_sent_is_in_the_next_one_alone(thread: Thread) -> None:
    thread.write("First.")
    with thread.app.app_context():
        assert transaction(lambda: leases.take("mail", quick())) is not None
    thread.write("Second.", "Third.")
    assert thread.rows() == [("pending", False), ("pending", True)]
    with thread.app.app_context():  # who was sending has died
        transaction(lambda: db.session.execute(update(Delivery).values(lease_token=None, leased_until=None)))
    [mail] = thread.send()
    assert ("First." in mail, "Second." in mail) == (True, False)
    thread.pass_ten_minutes()
    [mail] = thread.send()
    assert ("First." in mail, "Second.\n\nThird." in mail) == (False, True)


def test_of_many_reviewers_in_two_processes_who_write_at_once_one_mail_is_made(
    thread: Thread, make_app: Any, mailbox: Mailbox
) -> None:
    other = make_app(**mailbox.settings)
    callers = [thread.world.caller(thread.world.reviewer()) for _ in range(8)]
    callers = [each if number % 2 else Api(other, each.token) for number, each in enumerate(callers)]

    def write(number: int) -> None:
        thread.write(f"Message {number}.", f"Message {number + 100}.", by=callers[number])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert thread.rows() == [("pending", False)]
    [mail] = thread.send()
    assert all(f"Message {number}." in mail and f"Message {number + 100}." in mail for number in range(8))


def test_mail_of_two_threads_and_of_decisions_does_not_wait(thread: Thread) -> None:
    thread.write("First.")
    thread.project = thread.world.project(thread.world.user("bob"), "pending")
    with thread.app.app_context():
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))
    thread.write("Second.")
    asking = f"/api/review/projects/{thread.project}/request-changes"
    assert thread.admin.put(asking, {"message": "A licence?"}).status_code == 200
    assert thread.rows() == [("pending", False)] * 2
    assert len(thread.send()) == 3


def test_reviewers_write_ten_times_as_many_messages_as_owners(make_app: Any) -> None:
    world = World(make_app(RATELIMIT_ENABLED="true", RATELIMIT_MESSAGES="1 per hour"))
    ada, judge = world.user(), world.caller(world.reviewer())
    project = world.project(ada, "pending")
    path = f"/api/review/projects/{project}/messages"
    answers = [judge.post(path, {"text": "Look.", "internal": number % 2 == 0}) for number in range(11)]
    assert [answer.status_code for answer in answers] == [201] * 10 + [429]
    assert '"reviewer_messages-3600s";q=10;w=3600' in answers[-1].headers["RateLimit-Policy"]
    assert judge.put(f"/api/review/projects/{project}/request-changes", {"message": "Why?"}).status_code == 200
    assert world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "Here."}).status_code == 201


def test_a_request_for_changes_that_was_erased_is_not_sent(thread: Thread) -> None:
    path = f"/api/review/projects/{thread.project}"
    assert thread.admin.put(f"{path}/request-changes", {"message": "A secret."}).status_code == 200
    [entry] = thread.admin.get(f"{path}/messages").json["items"]
    thread.admin.delete(f"/api/admin/messages/{entry['id']}")
    assert thread.send() == []
    with thread.app.app_context():
        assert [*db.session.scalars(select(Delivery.state))] == ["dead"]
