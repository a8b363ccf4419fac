"""How the databases answer the hot statements: by an index in the wanted order, reading and sorting no whole table."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import Connection, event, insert, select, text

from directory.db.transactions import transaction
from directory.errors import Invalid
from directory.extensions import db
from directory.models import (
    Delivery,
    LinkPurpose,
    MailLink,
    Message,
    Project,
    Session,
    Token,
    User,
    now,
)
from directory.services import audit, day_counts, health
from directory.services.accounts import mail_links, sessions
from directory.services.catalog import facets, periods, queries, readers, search, search_counts
from directory.services.delivery.channels import Webhook
from directory.services.review import deadlines, takedown
from tests.support import servers
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, ORDERS_BY_VOTES, USER_ORDERS
from tests.support.sized import SizedPostgresql, SizedSqlite

SIZE = 3_000
HOUR = timedelta(hours=1)
ENDPOINT = Webhook("target", "https://example.org/", "slack", frozenset({"project.rejected"}))


class Plans(list[tuple[str, Any]]):
    """The statements that ran, with their parameters."""

    def note(self, _conn: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith(("SELECT", "WITH", "DELETE", "INSERT")):
            self.append((statement, parameters))

    def explained(self, *, is_small: bool = False) -> list[str]:
        """The plan of each. Of small tables PostgreSQL would read the whole and sort it: then as of large ones."""
        how = "EXPLAIN" if db.engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
        with db.engine.connect() as connection:
            if is_small and how == "EXPLAIN":
                connection.exec_driver_sql("SET enable_seqscan = off; SET enable_bitmapscan = off")
            rows = [_explained(connection, f"{how} {sql}", given) for sql, given in self]
            if is_small and how == "EXPLAIN":
                connection.exec_driver_sql("RESET enable_seqscan; RESET enable_bitmapscan")
        return ["\n".join(str(row[-1]) for row in plan) for plan in rows]


def _explained(connection: Connection, sql: str, given: Any) -> list[Any]:
    if "$1" not in sql:
        return list(connection.exec_driver_sql(sql, given).fetchall())
    cursor = psycopg.RawCursor(connection.connection.dbapi_connection)
    rows = cursor.execute(sql, given).fetchall()
    # The plan for these values, and the generic one that PostgreSQL may use instead.
    cursor.execute("SET plan_cache_mode = force_generic_plan")
    cursor.execute(sql.replace("EXPLAIN", "PREPARE generic AS", 1))
    rows += cursor.execute(f"EXPLAIN EXECUTE generic({', '.join(['NULL'] * len(given))})").fetchall()
    cursor.execute("DEALLOCATE generic")
    cursor.execute("RESET plan_cache_mode")
    return rows


def plans(app: Flask, caller: Api, path: str) -> list[str]:
    """The plans of what a request asks the database, all but who calls."""
    caller.get(path)  # the token's first use is written
    noted = Plans()
    with app.app_context():
        engine = db.engine
        event.listen(engine, "before_cursor_execute", noted.note)
        answer = caller.get(path, headers={"If-None-Match": '"another"', "Cookie": "no=session"})
        event.remove(engine, "before_cursor_execute", noted.note)
        assert answer.status_code == 200, answer.json
        return [plan for plan, (sql, _) in zip(noted.explained(), noted, strict=True) if "token_hash" not in sql]


@pytest.fixture(scope="module")
def migrated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SizedSqlite | SizedPostgresql]:
    """In place of the empty database: one with SIZE projects, its statistics gathered."""
    made: SizedSqlite | SizedPostgresql
    if request.param == "sqlite":
        made = SizedSqlite(tmp_path_factory.mktemp("sized"), SIZE)
    else:
        with servers.or_skip():
            made = SizedPostgresql(SIZE)
    yield made
    made.drop()


@pytest.fixture
def app(make_app: Any) -> Flask:
    """Without the response cache, so that every request asks the database."""
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


@pytest.fixture
def many(app: Flask) -> Flask:
    """The application over a directory of some size."""
    return app


def test_every_hot_list_walks_an_index_that_is_in_its_order(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    category = admin.get("/api/categories").json["items"][0]["slug"]
    paths = [f"/api/projects?sort={sort}{narrow}" for sort in ORDERS
             for narrow in ("", f"&category={category}", "&page=3")]  # fmt: skip
    paths += ["/api/admin/projects", "/api/admin/projects?status=pending"]
    for path in [*paths, *(_by_cursor(admin, path) for path in paths)]:
        page = plans(many, admin, path)[0]
        _reads_no_whole(page, path)
        assert ("ix_standings_" in page) == any(f"sort={sort}" in path for sort in ORDERS_BY_VOTES), (path, page)
        assert "Merge" not in page, (path, page)  # with all projects, as they stand in an index
        for found in _found(page):
            assert "TEMP B-TREE" not in found, (path, page)
            assert "Sort" not in found, (path, page)
        # What is sorted afterwards is the page.
        assert page.count("TEMP B-TREE") <= 1, (path, page)
        sorted_rows = [int(rows) for rows in re.findall(r"Sort +\(cost=\S+ rows=(\d+)", page)]
        assert len(sorted_rows) == len(re.findall(r"Sort +\(", page)), (path, page)
        assert max(sorted_rows, default=0) <= 21, (path, page)


# PostgreSQL reads a table of this size whole where a join costs less so.
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_related_projects_are_found_without_reading_a_table(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    project = admin.get("/api/projects?sort=upvotes").json["items"][0]["id"]
    plan = plans(many, admin, f"/api/projects/{project}/related")[-1]
    _reads_no_whole(plan, "related")
    assert not re.search(r"SCAN (project_tags|standings|projects|project_search_brief$)|BLOOM", plan), plan


def _found(page: str) -> list[str]:
    """The parts of a page's plan, one for each time that it was planned, that find what stands on it."""
    if "SCAN found" in page:
        return [page.split("SCAN found")[0]]
    parts, below = [], None
    for line in page.splitlines():
        depth = len(line) - len(line.lstrip())
        if below is not None and depth > below:
            parts[-1] += f"{line}\n"
        elif line.lstrip(" ->").startswith("Limit"):
            below = depth
            parts.append("")
        else:
            below = None
    assert parts, page
    return parts


def test_a_page_looks_up_what_it_shows_and_not_what_it_skips(many: Flask, world: World) -> None:
    """The votes of the viewer too: of a hundred thousand votes only those of the page are read."""
    admin = world.caller(world.admin())
    for path in ("/api/projects?page=9", "/api/projects?sort=upvotes&page=9", "/api/admin/projects?page=2"):
        page = plans(many, admin, path)[0]
        for found in _found(page):
            assert not re.search("categories|users|upvotes", found.replace("_upvotes_", "")), (path, page)
        for line in page.splitlines():
            if "pk_upvotes" in line or "upvotes USING" in line:
                assert "user_id=? AND project_id=?" in line or "rows=1 " in line, (path, page)


def _by_cursor(caller: Api, path: str) -> str:
    sep = "&" if "?" in path else "?"
    path = path.replace("&page=3", "") + f"{sep}limit=2"
    cursor = caller.get(path).json["pagination"]["next_cursor"]
    return f"{path}&cursor={cursor}" if cursor else path


def test_the_users_list_walks_an_index_and_looks_up_the_figures_of_its_page_alone(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    for sort in USER_ORDERS:
        page, figures, *_ = plans(many, admin, f"/api/admin/users?sort={sort}&limit=5")
        assert "Seq Scan on users" not in page, page
        assert re.search(r"SCAN \w+ USING|Index", page), page
        assert "TEMP B-TREE" not in page, page
        assert "Sort" not in page, page
        if sort != "submissions":  # the five who submit most have a fifth of all projects here
            _reads_no_whole(figures, sort)


def test_a_user_and_the_latest_entries_are_looked_up_in_indexes(many: Flask, world: World) -> None:
    root = world.admin()
    admin = world.caller(root)
    for _ in range(30):
        world.project(root, "pending")
    for plan in plans(many, admin, f"/api/admin/users/{root.id}"):
        _reads_no_whole(plan, "a user")
        for table in ("audit_entries", "users"):
            assert f"Seq Scan on {table}" not in plan, plan
            assert not re.search(rf"SCAN {table}(?! USING)", plan), plan


def test_a_scrape_reads_the_queue_and_the_project_that_has_waited_longest_in_an_index(many: Flask) -> None:
    noted = Plans()
    with many.app_context():
        gauges = {name: gauge.count() for name, gauge in many.extensions["gauges"].items()}
        event.listen(db.engine, "before_cursor_execute", noted.note)
        health.ledger(db.engine, 30, gauges=gauges)
        event.remove(db.engine, "before_cursor_execute", noted.note)
        of_queue = [plan for plan, (sql, _) in zip(noted.explained(), noted, strict=True) if "FROM reviews" in sql]
    assert len(of_queue) == 2 + ("directory_appeals_open" in gauges)
    for plan in of_queue:
        _reads_no_whole(plan, "the queue")


def test_a_takedown_finds_its_projects_in_an_index(many: Flask, world: World) -> None:
    admin, spammer = world.admin(), world.user()
    world.project(spammer, category="tools")
    noted = Plans()
    with many.app_context():
        event.listen(db.engine, "before_cursor_execute", noted.note)
        transaction(lambda: takedown.take_down(spammer.id, by=admin, notify=[ENDPOINT], reason=None))
        event.remove(db.engine, "before_cursor_execute", noted.note)
        found, shown, *_ = noted.explained()
    for plan in (found, shown):
        _reads_no_whole(plan, "a takedown")


def test_threads_and_what_waits_for_owners_or_on_appeals_are_found_in_indexes(many: Flask, world: World) -> None:
    root, ada = world.admin(), world.user()
    admin, owner, waits = world.caller(root), world.caller(ada), world.project(ada, "pending")
    world.appeal(world.project(ada, "rejected"), ada)
    entry = {"at": now(), "sender": "reviewers", "kind": "message", "text": "x" * 200}
    with many.app_context():
        ids, owners = zip(*db.session.execute(select(Project.id, Project.owner_id)), strict=True)
        db.session.execute(
            insert(Message),
            [{**entry, "project_id": id, "unread_by": owners[n] if n % 9 else None} for n, id in enumerate(ids)],
        )
        db.session.commit()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
    for caller, path in (
        (owner, "/api/session"), (owner, f"/api/projects/{waits}/messages"),
        (admin, f"/api/review/projects/{waits}/messages"), (admin, "/api/admin/projects?waiting_for=owner"),
        (admin, "/api/review/projects?answered=true"), (admin, "/api/review/summary"),
        (admin, "/api/review/projects?answered=true&status=live&category=tools&sort=upvotes"),
        (admin, "/api/admin/projects?waiting_for=owner&category=tools&sort=upvotes"),
        (admin, "/api/admin/projects?waiting=true"), (admin, "/api/admin/projects?waiting_for=appeal"),
        (admin, "/api/admin/projects?waiting_for=appeal&category=tools&sort=upvotes"), (owner, f"/mine/{waits}"),
    ):  # fmt: skip
        for plan in plans(many, caller, path):
            _reads_no_whole(plan, path)
            assert "Seq Scan on messages" not in plan, (path, plan)
            assert not re.search(r"SCAN messages(?! USING)", plan), (path, plan)
    noted = Plans()
    with many.app_context():
        event.listen(db.engine, "before_cursor_execute", noted.note)
        assert deadlines.close(10, notify=[]) == 0
        event.remove(db.engine, "before_cursor_execute", noted.note)
        for plan in noted.explained():
            _reads_no_whole(plan, "the closing")


def test_deliveries_are_narrowed_by_indexes_that_are_in_their_order(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    names = [f"endpoint-{n % 7}" for n in range(2_000)]
    with many.app_context():
        for n, name in enumerate(names):
            facts = {"webhook_id": f"msg_{n}", "event": f"project.{n % 5}", "project_id": n % 9}
            db.session.add(Delivery(endpoint=name, payload=f'{{"type": "{"x" * 1500}"}}', **facts))
        db.session.commit()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE deliveries" if db.engine.name == "postgresql" else "ANALYZE")
        many.extensions["webhooks"][:] = [Webhook(names[0], "https://example.org/", "slack", frozenset())]
    for query in ("endpoint=endpoint-3", "endpoint=none", "event=project.approved", "project_id=7", "state=dead"):
        page, *_attempts = plans(many, admin, f"/api/admin/webhooks/deliveries?limit=5&{query}")
        assert not re.search(r"Seq Scan|SCAN (?!\S+ USING)|Sort|TEMP B-TREE", page), (query, page)
    [counted] = plans(many, admin, "/api/admin/webhooks/endpoints")
    assert "ix_deliveries_endpoint_id_state" in counted, counted
    assert "Seq Scan" not in counted, counted


def test_the_queue_looks_up_the_records_of_its_page_alone(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    queue = "/api/admin/projects?waiting=true&first_time=true&limit=5"
    for path in ("/api/admin/projects?limit=5", "/api/admin/projects?status=pending&limit=5", queue):
        found = plans(many, admin, path)[1:]
        for plan in found:
            _reads_no_whole(plan, path)
    assert any("ix_projects_url_key" in plan for plan in found), found


def test_a_reviewer_of_some_categories_reads_no_whole_table(many: Flask, world: World) -> None:
    slugs = [each["slug"] for each in Api(many).get("/api/categories").json["items"]]
    by = world.caller(world.reviewer(*slugs[:2]))
    for query in ("?waiting=true", "?status=pending", "?status=live", "?status=live&sort=upvotes", ""):
        path = f"/api/review/projects{query}{'&' if query else '?'}limit=5"
        for plan in plans(many, by, path):
            _reads_no_whole(plan, path)


def test_the_log_is_narrowed_by_an_index_that_is_in_its_order(many: Flask, world: World) -> None:
    """Also where statistics say that a filter finds much, as they do of users: few entries are about one."""
    admin, bob = world.caller(world.admin()), world.user()
    project = world.project(bob, "rejected")
    about = {
        "action": "'user.status_changed', at, actor_id, user_id, project_id",
        "project_id": f"'project.edited', at, actor_id, user_id, {project}",
        "user_id": f"'user.role_changed', at, actor_id, {bob.id}, NULL",
        "actor_id": f"'project.edited', at, {bob.id}, NULL, project_id",
    }
    paths = {
        "/api/admin/audit?action=user.status_changed": "action",
        f"/api/admin/audit?project_id={project}": "project_id",
        f"/api/admin/audit?user_id={bob.id}": "user_id",
        f"/api/admin/audit?actor_id={bob.id}": "actor_id",
        f"/api/admin/audit?actor_id={bob.id}&action=project.edited": "actor_id",
        f"/api/admin/audit?user={bob.username}": "user_id",
        f"/api/admin/audit?actor={bob.username}&q=project": "actor_id",
        f"/api/admin/audit?actor_id={bob.id}&since=2020-01-01": "actor_id",
        "/api/admin/audit?since=2020-01-01": "at",
        "/api/admin/audit?until=2999-01-01&q=project": "at",
        f"/api/projects/{project}/timeline?": "project_id",
    }
    with many.app_context(), db.engine.connect() as connection:
        for columns in about.values():
            connection.exec_driver_sql(
                "INSERT INTO audit_entries (action, at, actor_id, user_id, project_id) "
                f"SELECT {columns} FROM audit_entries WHERE id <= 1500"
            )
        connection.commit()
        connection.exec_driver_sql("ANALYZE")
    for path, narrowed in paths.items():
        for each in (path, _by_cursor(admin, path)):
            page = plans(many, admin, each)[-1]
            assert f"ix_audit_entries_{narrowed}_id" in page, (each, page)
            assert "Seq Scan on audit_entries" not in page, (each, page)
            assert "Seq Scan on users" not in page, (each, page)
            # What is narrowed further is a bounded part of an index, which PostgreSQL may sort.
            assert "TEMP B-TREE" not in page, (each, page)
            assert "Sort" not in page or ("&" in each and "Bitmap" in page), (each, page)


def test_a_search_of_the_log_reads_a_bounded_part_of_it_and_no_whole_table(
    many: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = world.caller(world.admin())
    monkeypatch.setattr(audit, "READ_AT_ONCE", 500)
    for query in ("imports=false", "q=none", "q=none&since=2020-01-01", "q=%C5%81"):
        path = f"/api/admin/audit?{query}"
        for each in (path, _by_cursor(admin, path)):
            for plan in plans(many, admin, each):
                # SQLite scans the log in the order of its key as far as the limit goes; PostgreSQL may sort a bounded
                # part of it.
                assert not re.search(r"Seq Scan|SCAN (?!audit_entries)|TEMP B-TREE", plan), (each, plan)
                assert "Sort" not in plan or "Bitmap" in plan, (each, plan)


def test_a_search_among_the_entries_of_one_user_reads_a_part_of_their_index(
    many: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite uses the first column alone of a comparison of rows, and would read all entries of the user."""
    admin, bob = world.caller(world.admin()), world.user()
    with many.app_context(), db.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO audit_entries (action, at, actor_id, project_id) "
            f"SELECT 'project.edited', at, {bob.id}, project_id FROM audit_entries WHERE id <= 1500"
        )
    monkeypatch.setattr(audit, "READ_AT_ONCE", 500)
    page = plans(many, admin, f"/api/admin/audit?actor_id={bob.id}&q=none")[-1]
    assert re.search(r"actor_id=\? AND id>\?|\(actor_id = .*\(id >= ", page), page


def test_no_list_counts_the_users(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    for query, but in ("", []), ("&role=admin&status=active", []), ("&role=member&status=active", ["reviewers"]):
        totals = plans(many, admin, f"/api/admin/users?limit=5{query}")[-1 - len(but) :]
        assert re.findall(r"(?:on|SCAN|SEARCH) (user_counts)", totals[0]) == ["user_counts"], totals
        assert re.findall(r"(?<!ON )\bix_users_(\w+)", "".join(totals)) == but, totals


def test_the_dashboard_reads_of_votes_and_log_only_its_days(many: Flask, world: World) -> None:
    world.vote(world.project(), world.user())
    admin = world.caller(world.admin())
    with many.app_context():
        transaction(day_counts.close)  # as the housekeeping does each day
    for plan in plans(many, admin, "/api/admin/analytics?days=1"):
        for table in ("upvotes", "audit_entries"):
            assert f"Seq Scan on {table}" not in plan, plan
            assert f"SCAN {table}\n" not in f"{plan}\n", plan


def _reads_no_whole(plan: str, path: str) -> None:
    for table in ("projects", "standings", "upvotes"):
        assert f"Seq Scan on {table}" not in plan, (path, plan)
        for line in plan.splitlines():
            assert line != f"SCAN {table}", (path, plan)


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_vote_writes_no_index_of_the_projects(app: Flask, world: World) -> None:
    project, voter = world.project(), world.user()
    # A row's new version that is "hot" is found by the index entries of the old one.
    done = text(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables "
        "WHERE relname IN ('projects', 'standings') ORDER BY relname"
    )
    with app.app_context(), db.engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        vote = text("SELECT now_upvotes FROM vote(:project, :voter, 'toggle', now())")
        before = connection.execute(done).all()  # by this connection, not yet told to the server
        assert connection.scalar(vote, {"project": project, "voter": voter.id}) == 1
        after = connection.execute(done).all()
        spent = [tuple(now - then for now, then in zip(*both, strict=True)) for both in zip(after, before, strict=True)]
        assert spent == [(1, 1), (1, 0)]
        connection.rollback()


def test_one_project_and_its_total_scan_no_table(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    pending = admin.get("/api/admin/projects?status=pending").json["items"][0]["id"]
    live = admin.get("/api/projects").json["items"][0]["id"]
    for path in (f"/api/projects/{pending}", f"/api/projects/{live}", "/api/projects", "/api/projects?q=qqqqq"):
        for plan in plans(many, admin, path):
            _reads_no_whole(plan, path)
    # The total comes with the page: the counters of the few categories are all that is summed.
    assert len(plans(many, admin, "/api/projects")) == 1


def test_callers_and_projects_are_looked_up_by_their_keys_indexes_alone_and_together(many: Flask) -> None:
    """Together by a plan that is right however many there are: a join of all was once a walk through all users."""
    with many.app_context():
        people = list(db.session.scalars(select(User.id)))
        for n, user in enumerate(people * 10):
            db.session.add(Token(user_id=user, name="x", token_hash=f"{n:064}"))
            db.session.add(Session(user_id=user, user_agent="x", token_hash=f"{n:064}"))
        db.session.commit()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
        hashes = [f"{n:064}" for n in (7, 8, 9)]
        noted = Plans()
        event.listen(db.engine, "before_cursor_execute", noted.note)
        for credentials in (sessions._FIND_BY_TOKEN, sessions._FIND_BY_COOKIE):
            alone = [credentials.one(each) for each in hashes]
            assert None not in alone
            assert credentials.all([(each,) for each in hashes]) == alone
        event.remove(db.engine, "before_cursor_execute", noted.note)
        live = list(db.session.scalars(select(Project.id).where(Project.status == "live").limit(3)))
        event.listen(db.engine, "before_cursor_execute", noted.note)
        assert [row and row[0] for row in queries.live().all([(each,) for each in (*live, 10**9)])] == [*live, None]
        event.remove(db.engine, "before_cursor_execute", noted.note)
        for plan in noted.explained():
            for table in ("users", "tokens", "sessions", "projects"):
                assert f"Seq Scan on {table}" not in plan, plan
                assert f"SCAN {table}" not in plan, plan
            assert "Merge" not in plan, plan
            assert "Hash" not in plan, plan


def test_mailed_links_are_looked_up_by_indexes_alone(many: Flask, world: World) -> None:
    someone = world.user()
    with many.app_context():
        links = [
            {
                "user_id": someone.id if n % 50 == 0 else None,
                "purpose": "reset",
                "email": "",
                "nonce": "",
                "token_hash": f"{n:064}",
            }
            for n in range(3_000)
        ]
        at = {"created_at": now(), "expires_at": now() + HOUR}
        transaction(lambda: db.session.execute(insert(MailLink), [{**link, **at} for link in links]))
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
        noted = Plans()
        event.listen(db.engine, "before_cursor_execute", noted.note)
        with suppress(Invalid):
            mail_links.find(LinkPurpose.RESET, "no token")
        db.session.scalars(select(MailLink.id).where(MailLink.user_id == someone.id)).all()
        db.session.scalars(select(MailLink.id).where(MailLink.expires_at < now() - HOUR).limit(5)).all()
        event.remove(db.engine, "before_cursor_execute", noted.note)
        by_token, by_user, by_age = noted.explained()
    for plan, index in ((by_token, "token_hash"), (by_user, "user_id"), (by_age, "expires_at")):
        assert f"mail_links_{index}" in plan or f"{index}=?" in plan or f"{index}<?" in plan, plan
        _reads_no_whole(plan, index)


def test_members_and_their_votes_are_looked_up_by_indexes_alone(many: Flask) -> None:
    with many.app_context():
        members = list(db.session.scalars(select(User.id).where(User.role == "member")))
        for n, user in enumerate(members * 10):
            db.session.add(Token(user_id=user, name="x", token_hash=f"{n:064}", last_used_at=now()))
            db.session.add(Session(user_id=user, user_agent="x", token_hash=f"{n:064}"))
        db.session.commit()
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
        live = list(db.session.scalars(select(Project.id).where(Project.status == "live").limit(20)))
        page = ",".join(map(str, live))
        noted = Plans()
        event.listen(db.engine, "before_cursor_execute", noted.note)
        owners = ",".join(str(members[20 + n % 2]) for n in range(len(live)))
        for each, shown in ((readers.votes(db.engine.dialect.name), (page, owners)), (readers.projects(), (live[0],))):
            asked = [(f"{n:064}", "", *shown) if n % 2 else ("", f"{n:064}", *shown) for n in range(20, 28)]
            together = each.all(asked)
            assert [row and row[0] for row in together] == members[20:28]
            assert [each.all([values])[0] for values in asked[:2]] == together[:2]
        event.remove(db.engine, "before_cursor_execute", noted.note)
        for plan in noted.explained():
            for table in ("users", "tokens", "sessions", "upvotes", "projects"):
                assert f"Seq Scan on {table}" not in plan, plan
                assert not re.search(rf"SCAN ({table}|reader)\b", plan), plan
            assert "Merge" not in plan, plan
            assert "Hash" not in plan, plan
            assert re.search(r"\(user_id=\? AND project_id=\?\)|user_id = .*\) AND \(project_id = ", plan), plan


def test_a_search_goes_to_the_index_of_words_in_every_order(many: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    world.project(title="Xylophone")
    owner = admin.get("/api/projects?q=xylophone").json["items"][0]["owner"]["username"]
    for order in ("", *(f"&sort={each}" for each in ORDERS), f"&sort=newest&owner={owner}"):
        for plan in plans(many, admin, f"/api/projects?q=xylophone{order}"):
            if plan.startswith("Result"):
                continue  # the functions that count, see tests/services/test_search_many.py
            assert "ix_project_search_document" in plan or "VIRTUAL TABLE INDEX" in plan, plan
            assert "VIRTUAL TABLE INDEX 0:=" not in plan, plan  # a search for each project
            _reads_no_whole(plan, order)


def test_the_lists_of_a_period_and_the_shelf_read_its_range_of_an_index(many: Flask, world: World) -> None:
    admin, day = world.caller(world.admin()), now().date() - timedelta(days=60)
    for sort in ORDERS:
        for kind in (periods.DAY, periods.WEEK, periods.MONTH):
            path = f"/api/projects?sort={sort}&published={periods.containing(day, kind)}"
            found = plans(many, admin, path)
            for plan in found:
                _reads_no_whole(plan, path)
            assert any("listed_at" in plan for plan in found), (path, found)
    for path in ("/", "/best"):
        for plan in plans(many, Api(many), path):
            if "listed_at" in plan:
                _reads_no_whole(plan, path)


def test_several_tags_facets_and_what_is_near_are_found_by_indexes_and_no_table_is_read_whole(
    many: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets.stored, "most", 0)  # they are counted again
    admin = world.caller(world.admin())
    rare, other = (each["tag"] for each in admin.get("/api/tags?limit=100").json["items"][-2:])
    owner, name = world.user(), "Xylophone quokka"
    for _ in range(2):
        world.project(owner, title=name, tags=[rare, other])
    category = admin.get("/api/categories").json["items"][0]["slug"]
    lists = [f"/api/projects?tag={rare},{other}&sort={sort}" for sort in ORDERS]
    narrowed = (
        "tag=xylo",
        f"tag={rare},{other}",
        f"category={category}&tag={rare}",
        f"owner={owner.username}",
        "q=quokka",
    )
    paths = [*lists, *(f"/api/projects/facets?{each}" for each in narrowed), "/api/projects?q=quokka+xylophone+none"]
    for path in paths:
        for plan in plans(many, admin, path):
            if not plan.startswith("Result"):  # the functions that count, see tests/services/test_search_many.py
                _reads_no_whole(plan, path)
                assert "Seq Scan on project_tags" not in plan, (path, plan)
                assert "SCAN project_tags" not in plan, (path, plan)


def test_the_total_of_a_tag_is_a_counter_and_a_frequent_one_is_looked_up_in_memory(
    many: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "LOOK", 0)
    monkeypatch.setattr(facets.stored, "most", 0)
    tag = Api(many).get("/api/tags?limit=1").json["items"][0]["tag"]
    found = plans(many, Api(many), f"/api/projects?tag={tag}")
    assert any("tag_counts" in plan for plan in found)
    assert not any(plan.startswith("Aggregate") for plan in found)
    monkeypatch.setattr(search, "MOST", 10)
    monkeypatch.setattr(search_counts, "SPARE", 10)
    for path in (f"tag={tag}", f"tag={tag}&q=was"):  # a word of half the projects: see bench/names.py
        found = plans(many, Api(many), f"/api/projects/facets?{path}")
        counted = [plan for plan in found if "project_tags" in plan and "listed_at" in plan]
        assert counted, path
        for plan in counted:
            assert "hashed SubPlan" in plan or "LIST SUBQUERY" in plan, (path, plan)
            assert "ix_projects_status_listed_at_id" in plan, (path, plan)
