"""Mail in the outbox: delivered at least once, as webhooks are, given up, sent again by hand. On both databases."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.logs import JsonFormatter
from directory.models import Delivery, User, now
from directory.services.delivery import deliverer as module
from directory.services.delivery.channels import MailServer
from directory.services.delivery.deliverer import Deliverer
from directory.services.delivery.mail import templates
from tests.conftest import ENVIRONMENT, Database
from tests.support import deliverers
from tests.support.factories import Api, World
from tests.support.mailbox import PASSWORD, Mailbox, hang
from tests.support.outbox import attempts, delivery_thread, put, quick, row, send_all, states
from tests.support.receiver import SECRET, Receiver
from tests.support.waiting import until

PATH = "/api/admin/webhooks"
AT_ONCE = (0.0,) * 10


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox(auth=True) as one:
        yield one


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    return make_app(**mailbox.settings)  # type: ignore[no-any-return]


@pytest.fixture
def mail(app: Flask) -> MailServer:
    [found] = app.extensions["webhooks"]
    assert isinstance(found, MailServer)
    return found


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("grace"))


def queue(app: Flask, mail: MailServer, user_id: int, **columns: Any) -> int:
    """A test mail to a user, in the outbox."""
    payload = json.dumps({"type": "webhook.test", "data": {"user": {"id": user_id}}})
    with app.app_context():
        [made] = put(mail, **{"event": "webhook.test", "payload": payload, **columns})
    return made


def state(app: Flask, delivery_id: int) -> tuple[str, int]:
    with app.app_context():
        return row(delivery_id).state, len(attempts(delivery_id))


def test_the_mail_server_is_listed_among_the_endpoints_without_its_password(admin: Api, mailbox: Mailbox) -> None:
    answer = admin.get(f"{PATH}/endpoints")
    words = (
        "appeal_reversed", "appeal_upheld", "approved", "changes_requested", "closing", "edit_approved",
        "edit_rejected", "first_week", "link_dead", "message", "picked", "rejected", "returned", "unpublished",
    )  # fmt: skip
    events = [f"project.{word}" for word in words]
    nothing = {"pending": 0, "delivered": 0, "dead": 0}
    here = f"127.0.0.1:{mailbox.port}"
    assert answer.json["items"] == [
        {"name": "mail", "host": here, "format": "mail", "events": events, "deliveries": nothing}
    ]


def test_a_test_from_the_console_goes_to_the_administrator_who_asked(
    app: Flask, mail: MailServer, admin: Api, mailbox: Mailbox
) -> None:
    made = admin.post(f"{PATH}/endpoints/mail/test")
    assert made.status_code == 202
    assert mailbox.taken == []
    assert send_all(delivery_thread(app, mail, quick())) == 1

    [taken] = mailbox.taken
    assert taken.to == ["grace@example.org"]
    shown = admin.get(f"{PATH}/deliveries?endpoint=mail").json["items"][0]
    assert (shown["state"], shown["event"], [try_["status"] for try_ in shown["attempts"]]) == (
        "delivered", "webhook.test", [250],
    )  # fmt: skip
    assert str(taken.message["Message-ID"]) == f"<{shown['webhook_id']}@example.net>"
    assert "grace@example.org" not in json.dumps(shown)


def test_a_mailbox_that_does_not_exist_ends_a_mail_at_once(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox
) -> None:
    mailbox.script = {"RCPT": "550 5.1.1 user unknown"}
    made = queue(app, mail, world.user("ada").id)
    assert send_all(delivery_thread(app, mail, quick(delays=AT_ONCE))) == 1
    assert state(app, made) == ("dead", 1)


def test_ten_tries_are_made_then_it_is_dead_and_sent_again_by_hand_under_the_same_id(
    app: Flask, world: World, mail: MailServer, admin: Api, mailbox: Mailbox
) -> None:
    mailbox.script = {"RCPT": "550 5.7.1 relaying denied"}
    made = queue(app, mail, world.user("ada").id)
    thread = delivery_thread(app, mail, quick(delays=AT_ONCE))
    assert send_all(thread) == 10
    assert state(app, made) == ("dead", 10)

    mailbox.script = {}
    assert admin.post(f"{PATH}/deliveries/{made}/redeliver").status_code == 202
    assert send_all(thread) == 1
    assert state(app, made) == ("delivered", 11)
    with app.app_context():
        name = row(made).webhook_id
    assert str(mailbox.taken[0].message["Message-ID"]) == f"<{name}@example.net>"


def test_a_mail_server_that_hangs_holds_up_no_webhook(make_app: Any, world: World, mailbox: Mailbox) -> None:
    mailbox.script = {"EHLO": hang}
    user = world.user("ada")
    with Receiver() as receiver:
        app = make_app(**mailbox.settings, WEBHOOK_URL=receiver.url, WEBHOOK_SECRET=SECRET)
        hook, mail = app.extensions["webhooks"]
        queue(app, mail, user.id)
        deliverer = Deliverer(app.app_context, [mail, hook], quick(deadline=0.5))
        deliverer.start()
        try:
            until(lambda: mailbox.asked["EHLO"] > 0)
            with app.app_context():
                put(hook, 5)
            receiver.wait(lambda found: len(found.accepted()) == 5)
            assert mailbox.taken == []
        finally:
            deliverer.stop()


def test_a_message_whose_deliverer_died_is_sent_again_when_its_lease_ends(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox
) -> None:
    made = queue(app, mail, world.user("ada").id)
    assert delivery_thread(app, mail, quick()).turn() is not None  # sent, and never written down
    assert send_all(delivery_thread(app, mail, quick())) == 0
    with app.app_context():
        past = {"leased_until": now() - timedelta(seconds=1)}
        transaction(lambda: db.session.execute(update(Delivery).where(Delivery.id == made).values(past)))
    assert send_all(delivery_thread(app, mail, quick())) == 1

    assert state(app, made) == ("delivered", 1)
    first, second = (str(taken.message["Message-ID"]) for taken in mailbox.taken)
    assert first == second


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"payload": "{}"}, "no message can be made of it: KeyError"),
        ({"payload": "no JSON"}, "no message can be made of it: JSONDecodeError"),
        ({"event": "project.deleted"}, "there is no text for project.deleted"),
    ],
)
def test_what_no_message_can_be_made_of_is_given_up_at_once_and_holds_up_nothing(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox, columns: dict[str, str], why: str
) -> None:
    ada = world.user("ada")
    first, second = queue(app, mail, ada.id, **columns), queue(app, mail, ada.id)
    send_all(delivery_thread(app, mail, quick()))
    assert (state(app, first), state(app, second)) == (("dead", 1), ("delivered", 1))
    with app.app_context():
        assert attempts(first)[0].error == why


def test_a_suspended_member_gets_no_mail(app: Flask, world: World, mail: MailServer, mailbox: Mailbox) -> None:
    made = queue(app, mail, world.user("ada", status="suspended").id)
    send_all(delivery_thread(app, mail, quick()))
    assert (mailbox.taken, state(app, made)) == ([], ("dead", 1))


def test_the_message_is_composed_by_one_statement_whose_connection_is_given_back_before_it_is_sent(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox
) -> None:
    queue(app, mail, world.user("ada").id)
    held: list[int] = []

    async def look(_mailbox: Mailbox) -> None:
        with app.app_context():
            held.append(db.engine.pool.checkedout())  # type: ignore[attr-defined]

    mailbox.script = {"EHLO": look}
    send_all(delivery_thread(app, mail, quick()))
    assert held[0] == 0


def test_probes_and_metrics_tell_mail_from_webhooks(make_app: Any, world: World, mailbox: Mailbox) -> None:
    app = make_app(**mailbox.settings, WEBHOOK_URL="https://h.example/", WEBHOOK_SECRET=SECRET, METRICS_ENABLED="true")
    hook, mail = app.extensions["webhooks"]
    queue(app, mail, 1, created_at=now() - timedelta(seconds=900))
    queue(app, mail, 1, state="dead", attempts=10, settled_at=now())
    with app.app_context():
        put(hook, 3, created_at=now() - timedelta(seconds=100))
    checks = Api(app).get("/readyz").json["checks"]
    assert 900 <= checks["mail"]["oldest_undelivered_seconds"] < 1000
    assert 100 <= checks["webhooks"]["oldest_undelivered_seconds"] < 200

    text = Api(app).get("/metrics").text
    found = dict(
        line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(("directory_mails", "directory_del"))
    )
    assert {name: int(float(value)) for name, value in found.items()} == {
        'directory_mails{state="pending"}': 1,
        'directory_mails{state="delivered"}': 0,
        'directory_mails{state="dead"}': 1,
        'directory_mails{state="refused"}': 0,
        'directory_deliveries{state="pending"}': 3,
        'directory_deliveries{state="delivered"}': 0,
        'directory_deliveries{state="dead"}': 0,
    }
    ages = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("directory_oldest_"))
    assert 900 <= float(ages["directory_oldest_mail_seconds"]) < 1000
    [age] = [float(value) for name, value in ages.items() if name.startswith("directory_oldest_delivery_seconds{")]
    assert 100 <= age < 200


@pytest.mark.parametrize(("reply", "given_up", "age"), [
    ("550 5.1.1 user unknown", "refused", 0),
    ("450 4.1.2 domain not found", "refused", 0),
    ("552 5.3.4 message too big", "refused", 0),
    ("550 5.7.1 relaying denied", "dead", 900),
    ("451 4.3.0 out of disk", "dead", 900),
])  # fmt: skip
def test_an_invented_mailbox_is_not_counted_as_a_fault_of_the_mail_server(
    make_app: Any, world: World, mailbox: Mailbox, reply: str, given_up: str, age: int
) -> None:
    mailbox.script = {"RCPT": reply}
    app = make_app(**mailbox.settings, METRICS_ENABLED="true")
    [mail] = app.extensions["webhooks"]
    queue(app, mail, world.user("ada").id, created_at=now() - timedelta(seconds=900))
    try_once(app, mail)
    assert age <= measured(app)["directory_oldest_mail_seconds"] < age + 100
    make_due(app)
    send_all(delivery_thread(app, mail, quick(delays=AT_ONCE)))
    counted = {word: measured(app)[f'directory_mails{{state="{word}"}}'] for word in ("pending", "dead", "refused")}
    assert counted == {"pending": 0, "dead": 0, "refused": 0, given_up: 1}


def test_the_last_try_decides_whether_a_mail_waits_for_the_server(
    make_app: Any, world: World, mailbox: Mailbox
) -> None:
    app = make_app(**mailbox.settings, METRICS_ENABLED="true")
    [mail] = app.extensions["webhooks"]
    queue(app, mail, world.user("ada").id, created_at=now() - timedelta(seconds=900))
    for reply, age in (("450 4.2.0 greylisted", 0), ("451 4.3.0 out of disk", 900), ("450 4.2.0 greylisted", 0)):
        mailbox.script = {"RCPT": reply}
        make_due(app)
        try_once(app, mail)
        assert age <= measured(app)["directory_oldest_mail_seconds"] < age + 100


def try_once(app: Flask, mail: MailServer) -> None:
    """Try what is due, once: the next try is an hour later."""
    send_all(delivery_thread(app, mail, quick(delays=(0.0,) + (3600.0,) * 9)))


def make_due(app: Flask) -> None:
    with app.app_context():
        pending = update(Delivery).where(Delivery.state == "pending")
        transaction(lambda: db.session.execute(pending.values(next_attempt_at=now() - timedelta(seconds=1))))


def measured(app: Flask) -> dict[str, float]:
    """The values of a scrape by name and labels."""
    lines = (line for line in Api(app).get("/metrics").text.splitlines() if line.startswith("directory_"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_no_line_of_the_log_holds_an_address_or_a_password(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    mailbox.script = lambda step, number: "451 ada@example.org: later" if step == "RCPT" and number == 1 else None
    queue(app, mail, world.user("ada").id)
    with caplog.at_level("DEBUG"), caplog.at_level("DEBUG", "directory"):
        send_all(delivery_thread(app, mail, quick(delays=AT_ONCE)))

    lines = [JsonFormatter().format(record) for record in caplog.records if record.name != "mail.log"]
    told = [(line["message"], line["status"]) for line in map(json.loads, lines) if line["logger"] == module.log.name]
    assert told == [("mail failed, to be tried again", 451), ("mail delivered", 250)]
    assert "ada@example.org" not in "".join(lines)
    assert PASSWORD not in "".join(lines)


@pytest.mark.faults
@pytest.mark.slow
def test_mail_is_delivered_at_least_once_while_deliverers_are_killed(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox, database: Database
) -> None:
    settings = {**ENVIRONMENT, **mailbox.settings, "DATABASE_URL": database.url, "LOG_LEVEL": "ERROR"}
    mailbox.script = lambda step, number: "451 later" if step == "RCPT" and number % 5 == 0 else None
    ada = world.user("ada")
    options, queued = ("--count", 2, "--kill-every", 0.2, "--deadline", 2, "--slack", 0.2, "--delay", 0), 0
    with deliverers.running(settings, *options) as fleet:
        killed_by = time.monotonic() + 1
        while queued < 15 or time.monotonic() < killed_by:
            queue(app, mail, ada.id)
            queued += 1
            until(lambda at_least=queued - 5: states(app).get("delivered", 0) >= at_least, within=60)
        until(lambda: states(app) == {"delivered": queued}, within=60)

    assert fleet.kills > 0
    assert len({str(taken.message["Message-ID"]) for taken in mailbox.taken}) == queued


@pytest.mark.faults
def test_a_mail_server_that_comes_back_gets_what_waited(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox
) -> None:
    made = queue(app, mail, world.user("ada").id)
    accepting = threading.Event()

    def script(step: str, _number: int) -> Callable[..., Any] | None:
        return None if accepting.is_set() or step != "DATA" else killed

    async def killed(one: Mailbox) -> None:
        await one.hang_up()

    mailbox.script = script
    thread = delivery_thread(app, mail, quick(delays=(0.0, 0.0, *AT_ONCE)))
    done = thread.turn()
    assert done is not None
    assert (done[1].status, done[1].error) == (None, "connection closed without an answer")
    accepting.set()
    thread.turn(done)
    assert len(mailbox.taken) == 1
    assert state(app, made)[1] == 1


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_mail_is_in_the_language_of_its_recipient_else_of_the_site(make_app: Any, mailbox: Mailbox) -> None:
    app = make_app(**mailbox.settings, SITE_LANGUAGE="de", SITE_LANGUAGES="de,en,ja")
    world, [mail] = World(app), app.extensions["webhooks"]
    for name, language in (("ada", "ja"), ("bob", None), ("eve", "en"), ("jo", "fr")):  # a language that is gone
        user = world.user(name)
        with app.app_context():
            transaction(lambda user=user, tag=language: db.session.execute(
                update(User).where(User.id == user.id).values(language=tag)
            ))  # fmt: skip
        queue(app, mail, user.id)
        send_all(delivery_thread(app, mail, quick()))
    found = [(taken.message["Content-Language"], taken.message["Subject"]) for taken in mailbox.taken]
    wanted = [
        (tag, templates.test(mail.site, mail.languages.catalogue(tag)).subject) for tag in ("ja", "de", "en", "de")
    ]
    assert found == wanted
    assert len({*found}) == 3


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_mail_of_a_site_in_one_other_language_names_it(make_app: Any, mailbox: Mailbox) -> None:
    app = make_app(**mailbox.settings, SITE_LANGUAGE="de")
    [mail] = app.extensions["webhooks"]
    queue(app, mail, World(app).user("ada").id)
    send_all(delivery_thread(app, mail, quick()))
    assert [taken.message["Content-Language"] for taken in mailbox.taken] == ["de"]


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_mail_of_a_site_in_english_alone_does_not_name_it(
    app: Flask, world: World, mail: MailServer, mailbox: Mailbox
) -> None:
    queue(app, mail, world.user("ada").id)
    send_all(delivery_thread(app, mail, quick()))
    assert [taken.message["Content-Language"] for taken in mailbox.taken] == [None]
