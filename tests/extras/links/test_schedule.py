"""Who looks at what and when, and what everybody reads of it, with a site on loopback and no waiting."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.links import hosts, schedule, states, worker
from directory.extras.links.hosts import Turns
from directory.extras.links.transport import HostBusy
from directory.models import Delivery, LinkCheck, LinkHost, Project, now
from directory.services import kept_links
from directory.services.clock import timestamp
from directory.services.delivery.leases import Lease
from directory.services.delivery.mail import messages
from directory.services.review import moderation
from tests.extras.links.looks import ON, Directory
from tests.extras.links.site import Site, asking, until
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.reviewing import ENDPOINT

DAY = timedelta(days=1)


def test_a_submission_is_looked_at_at_once_and_owner_and_reviewers_read_what_was_seen(
    directory: Directory, site: Site
) -> None:
    world, ada = directory.world, directory.world.user("ada")
    project = world.project(ada, "pending", url=site.url(), repository_url=site.url("/permanent"))
    owner, reviewer = world.caller(ada), world.caller(world.admin())
    path, unseen = f"/api/projects/{project}", {"url": None, "repository_url": None}
    assert owner.get(path).json["links"] == unseen
    version = owner.get(path).json["version"]
    assert directory.look() == 1
    assert directory.look() == 0
    seen = owner.get(path).json["links"]
    assert seen == reviewer.get("/api/review/projects").json["items"][0]["links"]
    assert {name: [each[k] for k in ("state", "status", "final_url", "dead")] for name, each in seen.items()} == {
        "url": ["ok", 200, None, False], "repository_url": ["moved", 200, site.url("/new"), False],
    }  # fmt: skip
    assert {*seen["url"]} == {*states.SHOWN}
    assert owner.get(path).json["version"] == version
    world.approve(project, world.admin(), required=1)
    shown = Api(directory.app).get(path).json
    assert "links" not in shown
    assert (shown["dead_since"], shown["repository"]) == (None, None)
    [listed] = owner.get("/api/projects").json["items"]
    assert listed["links"] == seen


def test_an_edit_and_waiting_changes_are_looked_at_and_what_they_replace_is_forgotten(
    directory: Directory, site: Site
) -> None:
    world, ada = directory.world, directory.world.user("ada")
    project = world.project(ada, url=site.url("/404"))
    for _ in range(3):
        directory.look_again(project)
    owner, path = world.caller(ada), f"/api/projects/{project}"
    assert owner.get(path).json["links"]["url"]["dead"] is True
    assert owner.get(path).json["dead_since"] is not None
    world.revise(project, ada, url=site.url("/permanent"), tagline="Another")
    assert owner.get(path).json["revision"]["links"] is None
    assert directory.look() == 1
    shown = owner.get(path).json
    assert shown["revision"]["links"]["url"]["state"] == "moved"
    assert shown["links"]["url"]["state"] == "gone"
    assert directory.row(project).is_dead
    world.approve(project, world.admin(), required=1)
    shown = owner.get(path).json
    assert (shown["revision"], shown["links"]["url"], shown["dead_since"]) == (None, None, None)
    assert directory.look() == 1
    assert owner.get(path).json["links"]["url"]["state"] == "moved"
    assert (directory.row(project).is_dead, directory.row(project).has_moved) == (False, True)
    site.asked.clear()
    world.revise(project, ada, tagline="A third")
    assert directory.look() == 1  # the project, but none of its links
    assert not site.asked


def test_what_was_seen_of_an_address_that_changed_meanwhile_is_forgotten(directory: Directory, site: Site) -> None:
    project = directory.world.project(status="pending", url=site.url("/404"))
    [watch] = directory.take()
    change = update(Project).where(Project.id == project).values(url=site.url())
    directory.run(lambda: db.session.execute(change))
    worker.look(directory.app, watch, asking())
    assert directory.row(project).looks == {}
    assert directory.look() == 1
    assert directory.row(project).looks["url"]["state"] == "ok"


def test_a_project_that_is_no_longer_watched_has_no_turn_and_one_that_is_lost_changes_nothing(
    directory: Directory, site: Site
) -> None:
    world, ada = directory.world, directory.world.user("ada")
    rejected = world.project(ada, "rejected", url=site.url("/1"))
    assert directory.look() == 0
    assert directory.row(rejected) is None
    assert directory.run(lambda: schedule.add([rejected])) == []
    project = world.project(ada, "pending", url=site.url("/2"))
    [watch] = directory.take()
    assert directory.take() == []  # it is leased
    lost = update(LinkCheck).values(lease_token="another")
    directory.run(lambda: db.session.execute(lost))
    worker.look(directory.app, watch, asking())
    assert directory.row(project).looks is None
    with directory.app.app_context():
        transaction(lambda: moderation.decide(project, "reject", by=None, notify=[], terms=moderation.Terms("No.")))
    late = update(LinkCheck).values(lease_token=watch.token)
    directory.run(lambda: db.session.execute(late))
    worker.look(directory.app, watch, asking())
    assert directory.row(project).looks == {}


def test_projects_without_a_turn_get_one_and_turns_are_spread(directory: Directory) -> None:
    ids = [directory.world.project() for _ in range(3)] + [directory.world.project(status="rejected")]
    directory.run(lambda: db.session.query(LinkCheck).delete())
    assert directory.run(lambda: schedule.plan(7)) == 3
    assert directory.run(lambda: schedule.plan(7)) == 0
    due = [directory.row(each).due_at for each in ids[:3]]
    assert len({*due}) == 3
    assert all(now() < each <= now() + 7 * DAY for each in due)
    assert directory.row(ids[3]) is None
    assert directory.look() == 0


def test_what_was_submitted_or_changed_goes_before_what_has_been_due_for_long(directory: Directory, site: Site) -> None:
    world, ada = directory.world, directory.world.user("ada")
    live = [world.project(ada, url=site.url(f"/{number}")) for number in range(3)]
    late = update(LinkCheck).values(due_at=now() - 30 * DAY)
    directory.run(lambda: db.session.execute(late))
    new = world.project(ada, "pending", url=site.url("/new"))
    world.revise(live[2], ada, url=site.url("/changed"))
    assert {watch.project_id for watch in directory.take(2)} == {new, live[2]}


def test_times_that_a_wrong_clock_or_another_setting_left_do_not_stick(directory: Directory, site: Site) -> None:
    project = directory.world.project(url=site.url())
    directory.look_again(project)
    hour, year = timedelta(hours=1), timedelta(days=365)
    looks = directory.row(project).looks
    looks["url"]["due"] = timestamp(now() + year)

    def change(**values: Any) -> None:
        directory.run(lambda: db.session.execute(update(LinkCheck).values(values)))

    change(due_at=now() + year, looks=looks)
    assert directory.run(lambda: schedule.plan(7)) == 1
    assert now() < directory.row(project).due_at <= now() + 7 * DAY
    assert directory.run(lambda: schedule.plan(7)) == 0
    site.asked.clear()
    change(due_at=now(), leased_until=now() + hour)
    assert directory.look() == 1
    assert len(site.asked) == 1
    clock = Clock()
    turns = Turns(directory.app.app_context, clock.pause, clock)
    turns("a.example:443")
    turns("b.example:443")(86_400.0)
    clock.at -= year
    turns("a.example:443")
    turns("b.example:443")
    assert clock.waited == []


def test_whoever_asks_with_the_time_of_before_takes_nothing_that_is_leased(directory: Directory) -> None:
    """The time is read first, and another may read it later and be quicker."""
    project, at = directory.world.project(status="pending"), now()
    assert [watch.project_id for watch in directory.run(lambda: schedule.take(9, at))] == [project]
    assert directory.run(lambda: schedule.take(9, at - timedelta(minutes=1))) == []


def test_of_several_who_take_at_once_each_project_is_taken_once(directory: Directory) -> None:
    ids = [directory.world.project(status="pending") for _ in range(6)]
    barrier, taken = Barrier(4), list[int]()

    def take() -> None:
        barrier.wait()
        for _ in range(6):
            taken.extend(watch.project_id for watch in directory.take(1))

    threads = [Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == ids


@pytest.fixture
def mailing(make_app: Any, mailbox: Mailbox) -> Directory:
    hook = {**ENDPOINT, "name": "hook", "events": ["project.link_dead"]}
    mail = {**mailbox.settings, "SITE_URL": "http://localhost"}
    return Directory(make_app(**ON, **mail, WEBHOOK_ENDPOINTS=json.dumps([hook])))


def test_a_link_that_dies_is_told_once_each_time(mailing: Directory, site: Site) -> None:
    world, ada = mailing.world, mailing.world.user("ada")
    world.change(ada, email_verified_at=now())
    project = world.project(ada, title="Lamp", url=site.url("/dies"), repository_url=site.url("/404"))

    def told() -> list[tuple[str, str]]:
        wanted = select(Delivery).where(Delivery.event == events.PROJECT_LINK_DEAD).order_by(Delivery.id)
        rows = mailing.run(lambda: [(r.endpoint, json.loads(r.payload)) for r in db.session.scalars(wanted)])
        return [(endpoint, payload["data"]["link"]["field"]) for endpoint, payload in rows]

    site.pages["/dies"] = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
    for _ in range(4):
        mailing.look_again(project)
    both = [("hook", "url"), ("mail", "url"), ("hook", "repository_url"), ("mail", "repository_url")]
    assert sorted(told()) == sorted(both)
    del site.pages["/dies"]
    mailing.look_again(project)
    assert Api(mailing.app).get(f"/api/projects/{project}").json["dead_since"] is None
    site.pages["/dies"] = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
    for _ in range(3):
        mailing.look_again(project)
    assert sorted(told()) == sorted([*both, ("hook", "url"), ("mail", "url")])
    [server] = [each for each in mailing.notify if each.format == "mail"]
    query = select(Delivery).where(Delivery.endpoint == "mail", Delivery.payload.contains('"field":"url"'))
    mail = mailing.run(lambda: db.session.scalars(query).first())
    lease = Lease(mail.id, mail.webhook_id, mail.event, mail.payload, 0, "", now())
    text = mailing.run(lambda: messages.of_lease(lease, server).content.get_content())
    assert site.url("/dies") in text
    assert "The reason" not in text


def test_the_worker_looks_at_what_is_due_in_threads_of_its_own_until_it_is_to_stop(
    directory: Directory, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setattr(worker, "LAST", 0.1)
    failures = list[str]()
    monkeypatch.setattr(worker, "log_failure", lambda _log, text, *_a, **_o: failures.append(text))
    [run] = directory.app.extensions["workers"]
    ids = [directory.world.project(status="pending", url=site.url(f"/{n}")) for n in range(3)]
    stopping = Event()
    thread = Thread(target=run, args=(stopping,))
    monkeypatch.setattr(hosts, "PATIENCE", 60.0)
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(milliseconds=10))
    thread.start()
    until(lambda: all((directory.row(each).looks or {}).get("url") for each in ids))
    broken: Any = lambda *_: 1 / 0  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "waiting", broken)
        until(lambda: "no look at the links that are due" in failures)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "look", broken)
        directory.world.project(status="pending", url=site.url("/more"))
        until(lambda: "a look at links failed" in failures)
    stopping.set()
    thread.join()


def test_it_looks_at_eight_projects_at_once_at_most(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL", 0.02)
    begun, ending = list[int](), Event()

    def look(_app: Any, watch: schedule.Watch, _asking: Any) -> None:
        begun.append(watch.project_id)
        ending.wait()

    monkeypatch.setattr(worker, "look", look)
    ids = [directory.world.project(status="pending") for _ in range(10)]
    looking = worker.Worker(directory.app)
    try:
        assert [looking.turn(asking()) for _ in ids] == [1] * 8 + [0] * 2
        until(lambda: len(begun) == 8)
    finally:
        ending.set()
    until(lambda: looking.turn(asking()) == 1)


def test_the_worker_does_nothing_while_the_service_only_reads(make_app: Any) -> None:
    app = make_app(**ON, READ_ONLY="true")
    assert worker.Worker(app).turn(asking()) == 0


def test_it_asks_in_the_name_of_the_site(make_app: Any) -> None:
    named = worker.asking_of(make_app(**ON, SITE_NAME="Füchse", SITE_URL="https://foxes.example"))
    assert (named.agent, named.internal) == ("Fchse (+https://foxes.example)", True)
    assert worker.asking_of(make_app(LINK_CHECKS="on", SITE_NAME="項目")).agent == "Project-Directory"


class Clock:
    """A clock that goes only by what waits."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 3, tzinfo=UTC)
        self.waited = list[float]()

    def __call__(self) -> datetime:
        return self.at

    def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.at += timedelta(seconds=seconds)


def test_a_host_is_asked_by_one_at_a_time_a_second_apart_and_left_alone_as_long_as_it_asks(
    directory: Directory,
) -> None:
    clock = Clock()
    turns = Turns(directory.app.app_context, clock.pause, clock)
    release = turns("a.example:443")
    turns("a.example:80")(0)  # another port is another host
    with pytest.raises(HostBusy) as busy:
        turns("a.example:443")
    assert 0 < busy.value.seconds <= 1
    release(0)
    turns("a.example:443")(0)
    waited = [*clock.waited]
    with pytest.raises(HostBusy):
        turns("a.example:443", 0.4)  # who has less time does not wait
    assert clock.waited == waited
    began = clock.at
    turns("a.example:443")(120.0)
    assert clock.at - began <= timedelta(seconds=1)
    with pytest.raises(HostBusy) as busy:
        turns("a.example:443")
    assert 118 < busy.value.seconds <= 120
    clock.at += timedelta(seconds=120)
    turns("a.example:443")(9_999_999.0)  # to a day at most
    clock.at += DAY
    turns("a.example:443")
    clock.at += hosts.HELD  # who held it is gone
    turns("a.example:443")


def test_hosts_are_forgotten_after_a_while(directory: Directory) -> None:
    for host, ago in (("a", 600), ("b", 1), ("c", 600)):
        free = {"next_at": now() - timedelta(seconds=ago), "leased_until": now() + DAY if host == "c" else None}
        directory.run(lambda host=host, free=free: db.session.add(LinkHost(host=host, **free)))
    assert directory.run(lambda: kept_links.purge_hosts(10)) == 1
    assert directory.run(lambda: kept_links.purge_hosts(10)) == 0
    assert directory.run(lambda: db.session.scalar(select(func.count()).select_from(LinkHost))) == 2


def test_a_busy_host_is_asked_later(directory: Directory, site: Site) -> None:
    project = directory.world.project(status="pending", url=site.url("/1"), repository_url=site.url("/2"))

    def busy(_host: str, _left: float) -> Any:
        raise HostBusy(30.0)

    [watch] = directory.take()
    worker.look(directory.app, watch, asking(turn=busy))
    assert timedelta(seconds=25) < directory.row(project).due_at - now() <= timedelta(seconds=30)
    assert "url" not in directory.row(project).looks


def test_the_metrics_count_looks_and_dead_links(make_app: Any, site: Site) -> None:
    directory = Directory(make_app(**ON, METRICS_ENABLED="true"))
    project = directory.world.project(url=site.url("/404"))
    for _ in range(3):
        directory.look_again(project)
    text = Api(directory.app).get("/metrics").text
    assert 'directory_link_checks_total{state="gone"} 3.0' in text
    assert "directory_links_dead 1.0" in text


def test_while_it_is_off_nothing_is_asked_and_answers_say_nothing(make_app: Any, site: Site) -> None:
    directory = Directory(make_app(**ON))
    project = directory.world.project(directory.world.user("ada"), url=site.url("/404"))
    for _ in range(3):
        directory.look_again(project)
    app = make_app()
    assert app.extensions["workers"] == []
    world = World(app)
    admin = world.caller(world.admin())
    world.project(status="pending")
    for caller in (Api(app), admin):
        shown = caller.get(f"/api/projects/{project}").json
        assert (shown["dead_since"], shown["repository"], shown.get("links")) == (None, None, None)
    assert directory.look() == 0
    off = app.test_cli_runner().invoke(args=["links", "check"])
    assert (off.exit_code, off.stderr.splitlines()[-1]) == (
        1, "Error: LINK_CHECKS is off: nothing makes a request to the outside",
    )  # fmt: skip


def test_the_command_looks_at_what_is_due_or_at_what_is_named(
    directory: Directory, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(0))
    runner = directory.app.test_cli_runner()
    project = directory.world.project(status="pending", url=site.url("/404"), repository_url=site.url("/404"))
    due = runner.invoke(args=["links", "check"])
    assert due.exit_code == 0
    assert due.stdout.splitlines()[1].split() == [str(project), "url", "gone", "404", site.url("/404")]
    assert due.stdout.endswith("1 project looked at\n")
    directory.run(lambda: db.session.query(LinkCheck).delete())
    monkeypatch.setattr(schedule, "AT_ONCE", 1)
    assert runner.invoke(args=["links", "check"]).stdout == "0 projects looked at\n"  # it has its turn, which is later
    site.asked.clear()
    named = runner.invoke(args=["links", "check", str(project)])
    assert (named.exit_code, named.stdout.splitlines()[-1], len(site.asked)) == (0, "1 project looked at", 1)
    unknown = runner.invoke(args=["links", "check", "999"])
    assert (unknown.exit_code, unknown.stderr.splitlines()[-1]) == (1, "Error: there is no project 999")


def test_what_a_forge_says_of_a_repository_is_shown_to_everybody(
    make_app: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(0))
    forges = [{"url": site.url(""), "kind": "forgejo"}]
    directory = Directory(make_app(**ON, FORGES=json.dumps(forges)))
    ada = directory.world.user("ada")
    project = directory.world.project(ada, url=site.url(), repository_url=site.url("/ada/lamp"))
    site.pages["/api/v1/repos/ada/lamp"] = b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"stars_count": 4}'
    assert directory.look() == 1
    path = f"/api/projects/{project}"
    shown = Api(directory.app).get(path).json["repository"]
    assert (shown["stars"], shown["license"], {*shown}) == (
        4, None,
        {"license", "stars", "archived", "fork", "language", "created_at", "pushed_at", "checked_at"},
    )  # fmt: skip
    assert Api(directory.app).get("/api/projects").json["items"][0]["repository"] == shown
    done = directory.app.test_cli_runner().invoke(args=["links", "check", str(project)])
    assert "forge" not in done.stdout
    directory.world.revise(project, ada, repository_url=None)
    directory.world.approve(project, directory.world.admin(), required=1)
    assert Api(directory.app).get(path).json["repository"] is None


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_says_since_when_a_website_is_dead_and_an_import_passes_over_it(
    directory: Directory, site: Site, form: str
) -> None:
    world = directory.world
    world.category("tools")
    project = world.project(world.admin("boss"), title="Lamp", category="tools", url=site.url("/404"))
    for _ in range(3):
        directory.look_again(project)
    since = Api(directory.app).get(f"/api/projects/{project}").json["dead_since"]
    runner = directory.app.test_cli_runner(catch_exceptions=False)
    text = runner.invoke(args=["export", "--format", form]).stdout
    row = json.loads(text) if form == "jsonl" else next(csv.DictReader(io.StringIO(text)))
    assert row["dead_since"] == since
    directory.run(lambda: db.session.execute(delete(Project)))
    imported = runner.invoke(args=["import", "-", "--format", form], input=text)
    assert imported.stdout == "imported 1, unchanged 0, refused 0\n"
    [kept] = directory.run(lambda: db.session.execute(select(Project.title, Project.dead_since, Project.links)).all())
    assert tuple(kept) == ("Lamp", None, None)
