"""Prometheus metrics: what is counted, and that nothing is where they are off."""

import json
import os
import re
import subprocess
import sys
import time
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse
from sqlalchemy import text, update

from directory.db import clock
from directory.db.transactions import transaction
from directory.extensions import db, limiter
from directory.http import hooks, metrics, stored_metrics
from directory.models import AuditEntry, Delivery, MailLink, Review, Session, now
from directory.runtime import housekeeping
from directory.services import build
from directory.services.delivery.schedule import DeliveryPolicy
from tests.support.factories import Api, World
from tests.support.outbox import endpoint, put
from tests.support.receiver import SECRET
from tests.support.waiting import until

DAY = 24 * 3600
# One process of several: it makes as many requests and faults as it is told, and prints what a scrape of it says.
PROCESS = """
import sys
from tests.conftest import build
from tests.support.factories import Api
api = Api(build(sys.argv[1], METRICS_ENABLED="true"))
for _ in range(int(sys.argv[2])):
    api.get("/healthz")
for _ in range(int(sys.argv[3])):
    api.app.extensions["metrics"].count("GET", "none", 500, 5.1)
print(api.get("/metrics").text)
"""


@pytest.fixture
def app(make_app):
    """An application that is measured."""
    return make_app(METRICS_ENABLED="true")


@pytest.fixture
def scrape(api):
    """The samples of a scrape by name and labels."""
    return lambda: samples(api.get("/metrics").text)


def samples(text):
    return {(s.name, *sorted(s.labels.items())): s.value for family in parse(text) for s in family.samples}


def requests(found, **labels):
    return found.get(("directory_requests_total", *sorted(labels.items())), 0)


def test_metrics_are_off_by_default(make_app):
    answer = Api(make_app()).get("/metrics")
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_the_library_is_not_imported_where_metrics_are_off(tmp_path):
    program = (
        "from tests.conftest import build; import sys; build(sys.argv[1]); print('prometheus_client' in sys.modules)"
    )
    assert run(program, f"sqlite:///{tmp_path}/x.db").strip() == "False"


def test_a_scrape_is_in_the_text_format_and_not_cacheable(api):
    answer = api.get("/metrics")
    assert answer.content_type.startswith("text/plain; version=")
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_scrape_names_the_build(scrape):
    version, commit = build.VERSION, build.commit() or ""
    assert scrape()["directory_build_info", ("commit", commit), ("version", version)] == 1


def test_requests_are_counted_by_method_route_and_status(api, world, scrape):
    project_id = world.project()
    for path in (f"/api/projects/{project_id}", "/api/projects/99", "/api/projects/98"):
        api.get(path)
    api.post("/api/projects", {})
    found = scrape()
    route = "/api/projects/<id:project_id>"
    assert requests(found, method="GET", route=route, status="200") == 1
    assert requests(found, method="GET", route=route, status="404") == 2
    assert requests(found, method="POST", route="/api/projects", status="401") == 1
    assert found["directory_request_seconds_count", ("method", "GET"), ("route", route)] == 3
    assert found["directory_request_seconds_sum", ("method", "GET"), ("route", route)] > 0


def test_the_first_fault_is_an_increase(app, api, scrape, monkeypatch):
    before = scrape()

    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(metrics.Metrics, "page", fail)
    assert api.get("/metrics").status_code == 500
    monkeypatch.undo()
    assert (before["directory_faults_total",], scrape()["directory_faults_total",]) == (0, 1)


@pytest.mark.parametrize("path", ["/healthz", "/api/categories"])
def test_the_first_answer_that_took_too_long_is_an_increase(api, scrape, monkeypatch, path):
    before = scrape()
    clock = count(time.perf_counter() + 6, 6)
    monkeypatch.setattr(hooks, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert api.get(path).status_code == 200
    monkeypatch.undo()
    after = scrape()
    assert (before["directory_late_total",], after["directory_late_total",]) == (0, 1)
    assert after["directory_faults_total",] == 0


def test_a_cached_answer_is_counted_too(api, scrape):
    for _ in range(3):
        api.get("/api/categories")
    assert requests(scrape(), method="GET", route="/api/categories", status="200") == 3


@pytest.mark.response_cache
def test_cacheable_responses_are_counted_by_where_they_came_from(api, world, scrape):
    def counted():
        found = scrape()
        return [found["directory_cache_responses_total", ("source", source)] for source in ("stored", "made")]

    assert counted() == [0, 0]
    for _ in range(3):
        api.get("/api/categories")
    assert counted() == [2, 1]
    world.category()
    api.get("/api/categories")
    assert counted() == [2, 2]


def test_memory_is_that_of_the_process_or_0_where_the_system_does_not_tell(scrape, monkeypatch, tmp_path):
    assert 10 * 2**20 < scrape()["directory_memory_bytes",] < 2**33
    monkeypatch.setattr(metrics, "MEMORY", tmp_path / "none")
    assert scrape()["directory_memory_bytes",] == 0


def test_a_process_that_answers_measures_its_memory_every_few_seconds(app, api, monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(metrics, "monotonic", lambda: next(clock))
    sizes = iter(range(1, 100))
    monkeypatch.setattr(metrics, "resident_bytes", lambda: next(sizes))
    for _ in range(6):
        api.get("/healthz")
    assert 1 < app.extensions["metrics"].memory._value.get() < 6


def test_the_queue_of_review_is_measured(app, world, scrape):
    names = ("directory_pending_projects",), ("directory_oldest_pending_seconds",)
    assert [scrape()[name] for name in names] == [0, 0]
    first, _, _ = (world.project(status=status) for status in ("pending", "pending", "live"))
    with app.app_context():
        waits = update(Review).where(Review.project_id == first).values(place=ago(900))
        transaction(lambda: db.session.execute(waits))
    found = scrape()
    assert found[names[0]] == 2
    assert 900 <= found[names[1]] < 1000


def test_a_project_that_waits_for_its_owner_is_not_in_the_queue(app, api, world, scrape):
    project = world.project(status="pending")
    world.caller(world.admin()).post(f"/api/admin/projects/{world.project()}/unpublish", {"reason": "Broken link."})
    with app.app_context():
        taken_down = update(Review).where(Review.project_id != project)
        transaction(lambda: db.session.execute(taken_down.values(place=ago(900))))
    found = scrape()
    assert found["directory_pending_projects",] == 1
    assert found["directory_oldest_pending_seconds",] < 900


def test_a_revision_waits_as_a_submission_does(app, world, scrape):
    with app.app_context():
        about = {"project_id": world.project(), "kind": "changes", "turn": "reviewers", "category_id": 1}
        waiting = Review(**about, changes={}, since=ago(900), place=ago(900))
        transaction(lambda: db.session.add(waiting))
    assert 900 <= scrape()["directory_oldest_pending_seconds",] < 1000


def test_active_people_who_may_review_are_counted(world, scrape):
    world.category("tools")
    found = [scrape()["directory_reviewers",]]
    people = [world.admin(), world.reviewer(), world.reviewer("tools")]
    world.user()
    found.append(scrape()["directory_reviewers",])
    for person, change in ((people[1], {"role": "member"}), (people[2], {"status": "suspended"})):
        assert world.caller(people[0]).put(f"/api/admin/users/{person.id}", change).status_code == 200
        found.append(scrape()["directory_reviewers",])
    assert found == [0, 3, 2, 1]


def test_each_receiver_has_its_age_and_one_that_waits_for_nothing_has_0(make_app):
    receivers = [{"url": f"https://{name}.example/hook", "secret": SECRET} for name in ("one", "two")]
    app = make_app(METRICS_ENABLED="true", WEBHOOK_ENDPOINTS=json.dumps(receivers))
    with app.app_context():
        one, two = app.extensions["webhooks"]
        change(put(one)[0], created_at=ago(7200))
    found = samples(Api(app).get("/metrics").text)
    name = "directory_oldest_delivery_seconds"
    assert 7200 <= found[name, ("endpoint", one.name)] < 7300
    assert found[name, ("endpoint", two.name)] == 0


def test_accounts_are_counted_by_status(world, scrape):
    world.user()
    world.user(status="suspended")
    found = scrape()
    assert [found["directory_accounts", ("status", status)] for status in ("active", "suspended")] == [1, 1]


EXPIRED = {
    "session": lambda user: Session(user_id=user, token_hash="x", user_agent="", created_at=ago(30 * DAY + 900)),
    "link": lambda user: MailLink(
        user_id=user, purpose="reset", email="", nonce="x", token_hash="x", expires_at=ago(900)
    ),
    "entry": lambda user: AuditEntry(action="user.signed_out", user_id=user, at=ago(10 * DAY + 900)),
}


@pytest.mark.parametrize("kind", EXPIRED)
def test_the_age_of_the_first_expired_row_is_measured_until_it_is_deleted(make_app, kind):
    app = make_app(METRICS_ENABLED="true", AUDIT_RETENTION="10")
    user = World(app).user().id

    def overdue():
        return samples(Api(app).get("/metrics").text)["directory_overdue_purge_seconds",]

    with app.app_context():
        transaction(lambda: db.session.add(EXPIRED[kind](user)))
    assert 900 <= overdue() < 1000
    housekeeping.tidy(app, DeliveryPolicy())
    assert overdue() == 0


def test_a_delivery_that_is_kept_too_long_is_overdue(app, scrape):
    with app.app_context():
        put(endpoint("https://example.org/"), 1, state="dead", settled_at=ago(90 * DAY + 900))
    assert 900 <= scrape()["directory_overdue_purge_seconds",] < 1000


def test_the_start_read_only_and_the_clock_are_measured(make_app, monkeypatch):
    monkeypatch.setattr(clock, "skew", lambda: -3.5)
    before = time.time()
    found = samples(Api(make_app(METRICS_ENABLED="true", READ_ONLY="true")).get("/metrics").text)
    assert (found["directory_read_only",], found["directory_clock_skew_seconds",]) == (1, -3.5)
    assert before <= found["directory_start_time_seconds",] <= time.time()
    found = samples(Api(make_app(METRICS_ENABLED="true")).get("/metrics").text)
    assert found["directory_read_only",] == 0


def test_connections_to_postgresql_are_measured_by_state(app, scrape, database):
    def connections():
        found = scrape()
        states = ("active", "idle", "in_transaction", "unknown")
        return [found["directory_database_connections", ("state", state)] for state in states]

    most = scrape()["directory_database_connections_max",]
    if database.backend == "sqlite":
        assert (connections(), most) == ([0, 0, 0, 0], 0)
        return
    assert connections()[0] >= 1  # the one that asks
    assert most >= 20
    with app.app_context(), db.engine.connect() as connection:
        open_one = connection.execution_options(isolation_level="READ COMMITTED")
        with open_one.begin():
            open_one.execute(text("SELECT 1"))
            assert connections()[2] >= 1


def test_requests_to_unknown_paths_make_no_series(api, scrape):
    for path in ("/a", "/b", "/api/projects/0"):
        api.get(path)
    api.call("BREW", "/c")
    found = scrape()
    assert requests(found, method="GET", route="none", status="404") == 3
    assert requests(found, method="other", route="none", status="404") == 1


def test_votes_are_counted_by_what_they_leave(world, scrape):
    member, project_id = world.caller(world.user()), world.project()
    path = f"/api/projects/{project_id}/upvote"
    for call in (member.post, member.post, member.put, member.delete, member.post):
        assert call(path).status_code == 200
    member.post("/api/projects/99/upvote")
    assert member.call("POST", f"/votes/{project_id}", data={"vote": "cast"}).status_code == 303
    found = scrape()
    assert found["directory_votes_total", ("vote", "cast")] == 4
    assert found["directory_votes_total", ("vote", "withdrawn")] == 2


def test_submissions_and_decisions_are_those_of_the_log(world, scrape):
    for status in ("pending", "live", "live", "rejected"):
        project_id = world.project(status=status)
    admin = world.caller(world.admin())
    admin.put(f"/api/admin/projects/{project_id}/reject")  # again, which decides nothing
    found = scrape()
    assert found["directory_submissions_total",] == 4
    decisions = {labels[0][1]: value for (name, *labels), value in found.items() if name == "directory_decisions_total"}
    assert decisions == {"approved": 2, "rejected": 1, "unpublished": 0}


def test_the_outbox_is_counted_by_state(make_app):
    endpoint = {"WEBHOOK_URL": "https://example.org/hook", "WEBHOOK_SECRET": "whsec_" + "a" * 43 + "="}
    app = make_app(METRICS_ENABLED="true", **endpoint)
    world = World(app)
    project_id = world.project(status="pending")
    world.caller(world.admin()).put(f"/api/admin/projects/{project_id}/approve")
    found = samples(Api(app).get("/metrics").text)
    states = {state: found["directory_deliveries", ("state", state)] for state in ("pending", "delivered", "dead")}
    assert states == {"pending": 1, "delivered": 0, "dead": 0}


def test_the_ages_of_the_oldest_and_the_overdue_delivery_are_measured(app, scrape):
    receiver = endpoint("https://example.org/")
    oldest = "directory_oldest_delivery_seconds", ("endpoint", receiver.name)
    ages = oldest, ("directory_overdue_delivery_seconds",)
    assert scrape()[ages[1]] == 0
    with app.app_context():
        waits, leased, later = (put(receiver)[0] for _ in range(3))
        change(waits, created_at=ago(900), next_attempt_at=ago(300))
        change(leased, next_attempt_at=ago(600), leased_until=ago(-30), lease_token="x")
        change(later, next_attempt_at=ago(-7200))
    found = scrape()
    assert 900 <= found[ages[0]] < 1000
    assert 300 <= found[ages[1]] < 400
    with app.app_context():
        change(leased, leased_until=ago(10))
    assert 600 <= scrape()[ages[1]] < 700


def test_the_age_of_the_oldest_transaction_that_writes_is_measured(app, scrape, database):
    name = ("directory_oldest_transaction_seconds",)
    assert scrape()[name] == 0
    if database.backend == "sqlite":  # where no other process's transaction can be asked about
        return
    with app.app_context(), db.engine.connect() as connection:
        open_one = connection.execution_options(isolation_level="READ COMMITTED")
        with open_one.begin():
            open_one.execute(text("SELECT 1"))
            assert scrape()[name] == 0
            open_one.execute(text("SELECT pg_current_xact_id()"))
            until(lambda: scrape()[name] > 0)
    assert scrape()[name] == 0


def ago(seconds):
    return now() - timedelta(seconds=seconds)


def change(delivery_id, **values):
    transaction(lambda: db.session.execute(update(Delivery).where(Delivery.id == delivery_id).values(values)))


def test_without_a_database_only_its_own_metrics_are_missing(make_app, monkeypatch):
    api = Api(make_app(METRICS_ENABLED="true"))

    def away(*_, **__):
        raise TimeoutError

    monkeypatch.setattr(stored_metrics.health, "ledger", away)
    api.get("/healthz")
    found = samples(api.get("/metrics").text)
    assert requests(found, method="GET", route="/healthz", status="200") == 1
    assert not [key for key in found if key[0] in ("directory_deliveries", "directory_submissions_total")]


@pytest.mark.parametrize("away", [False, True])
def test_a_limiter_that_lost_its_storage_shows(scrape, monkeypatch, away):
    monkeypatch.setattr(limiter, "_storage_dead", away)
    assert scrape()["directory_ratelimit_fallback",] == away


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_several_processes_answer_as_one(database, tmp_path):
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    first, second = (samples(run(PROCESS, database.url, *counts, env=environ)) for counts in (("2", "0"), ("3", "1")))
    assert requests(first, method="GET", route="/healthz", status="200") == 2
    assert requests(second, method="GET", route="/healthz", status="200") == 5
    assert second["directory_submissions_total",] == 0
    for name in ("directory_faults_total", "directory_late_total"):
        assert (first[name,], second[name,]) == (0, 1)


def run(program, *arguments, env=None):
    done = subprocess.run([sys.executable, "-c", program, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.sub("^{.*$", "", done.stdout, flags=re.MULTILINE)
