"""What rules and a private directory cost: `python -m bench.rules`, over SQLite and PostgreSQL, on loopback alone.

1. A submission with 50 rules beside one that nothing judges; they take turns.
2. Reads of a private directory by a member beside those of a public one; they take turns.
3. Submissions while a preview reads 100,000 facts.
4. A wave of 5,000 submissions by 2,000 accounts: what one rule holds, rightly and wrongly, and how long it takes to
   clean up.
"""

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from flask import Flask
from sqlalchemy import func, insert, select

from bench.webhooks import BACKENDS, database
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project, Role, RuleFacts, Status, User, now
from directory.services.identity import Caller
from tests.conftest import ENVIRONMENT, build, migrate
from tests.support.factories import Api, World
from tests.support.serving import serving

RULES = "/api/admin/rules"
# The rule of docs/spam.md.
WHEN = [
    {"fact": "account_hours", "is": "<", "value": 24},
    {"fact": "approved", "is": "<", "value": 1},
    {"fact": "links", "is": ">=", "value": 2},
]
PROSE = "A tool that reads what others write, and writes what others read. " * 8
LINKS = "See https://one.example and https://two.example for more. "
SPAMMERS, SPAM, NEWCOMERS, SEEN = 2_000, 5_000, 200, 100


def submission(number: int, category: str, text: str = PROSE) -> dict[str, str]:
    """The body of a submission like no other."""
    page = {"title": f"Project {number}", "tagline": "Reads and writes", "url": f"https://p{number}.example/"}
    return {**page, "description": f"{text}{number}", "category": category}


def cost(app: Flask, _settings: dict[str, str], times: int = 500) -> None:
    """The first; also without rules that are on, where facts are stored all the same."""
    from directory.extras.spam_rules import judging

    world = World(app)
    category, callers, numbers = world.category(), accounts(world, "user", 100), iter(range(10**6))
    words = {"fact": "words", "is": "in", "value": [f"spamword{n}" for n in range(1_000)]}
    for number in range(50):
        when = [{"fact": "submitted_24h", "is": ">=", "value": 0}, words if number % 5 == 0 else WHEN[2]]
        world.rule(state="on", conditions=when, effect="hold")
    ways: dict[str, Any] = {
        "not judged": patch.dict(app.extensions, judge=None),
        "its facts stored": patch.object(judging, "_rules", lambda _print: ()),
        "judged by 50 rules": nullcontext(),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(-20, times):
        for name in sorted(ways, key=lambda name: hash((turn, name))):
            number = next(numbers)
            with ways[name]:
                body, began, used = submission(number, category), time.perf_counter(), time.process_time()
                assert callers[number % 100].post("/api/projects", body).status_code == 201
                if turn >= 0:
                    took[name].append((time.perf_counter() - began, time.process_time() - used))
    for place, unit in enumerate(("ms", "ms of CPU, without PostgreSQL's")):
        base = median(pair[place] for pair in took["not judged"])
        for name, pairs in took.items():
            found = median(pair[place] for pair in pairs)
            say(f"a submission, {name}: {1000 * found:.2f} {unit}, {found / base:.3f}")


def reads(_app: Flask, settings: dict[str, str], times: int = 1_000) -> None:
    """The second. Each directory is served twice: the difference between equal ones is noise."""
    world = World(_app)
    member, projects = world.user(), [world.project(votes=1) for _ in range(100)]
    token = str(world.caller(member).token)
    paths = (
        "/api/projects",
        f"/api/projects/{projects[7]}",
        "/",
        f"/p/{projects[7]}/{world.stored(projects[7])['slug']}",
    )
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        kept: dict[str, http.client.HTTPConnection] = {}
        for name in ("public", "public, again", "private", "private, again"):
            more = {"READS": "members"} if "private" in name else {}
            server = stack.enter_context(serving({**settings, **more}, Path(folder) / name))
            kept[name] = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        for path in paths:
            took: dict[str, list[float]] = {name: [] for name in kept}
            for turn in range(-20, times):
                for name in sorted(kept, key=lambda name: hash((turn, name))):
                    began = time.perf_counter()
                    kept[name].request("GET", path, headers={"Authorization": f"Bearer {token}"})
                    answer = kept[name].getresponse()
                    answer.read()
                    assert answer.status == 200, (path, answer.status)
                    if turn >= 0:
                        took[name].append(1000 * (time.perf_counter() - began))
            say(f"{path}: " + ", ".join(f"{name} {median(each):.3f} ms" for name, each in took.items()))


def previewing(app: Flask, settings: dict[str, str], facts: int = 100_000) -> None:
    """The third."""
    world = World(app)
    category, ada, project = world.category(), world.user(), world.project()
    root, caller = str(world.caller(world.admin()).token), str(world.caller(ada).token)
    values = {"account_hours": 5, "approved": 0, "links": 2}
    row = {"kind": "submission", "project_id": project, "account_id": ada.id, "words": b""}
    with app.app_context():
        for portion in range(facts // 1_000):
            rows = [
                {**row, "facts": {**values, "links": n % 4}, "at": now() - timedelta(minutes=portion)}
                for n in range(1_000)
            ]
            transaction(partial(db.session.execute, insert(RuleFacts), rows))
    numbers = iter(range(10**6))
    with tempfile.TemporaryDirectory() as folder, serving(settings, Path(folder) / "log") as server:
        rule = {"name": "Tried", "on": ["submission"], "when": WHEN, "then": "hold"}
        ended, took = threading.Event(), {"before": [0.0], "during": [0.0]}

        def submitting(name: str, until: Callable[[], bool]) -> None:
            while not until():
                status, seconds = asked(
                    server.port, "POST", "/api/projects", caller, submission(next(numbers), category)
                )
                assert status == 201, status
                took[name].append(1000 * seconds)

        submitting("before", lambda: len(took["before"]) > 50)
        writer = threading.Thread(target=submitting, args=("during", ended.is_set))
        writer.start()
        status, seconds = asked(server.port, "POST", f"{RULES}/preview", root, {"days": 90, "rule": rule})
        ended.set()
        writer.join()
    assert status == 200, status
    say(f"a preview over {facts:,} facts: {seconds:.1f} s")
    for name, each in took.items():
        say(f"submissions {name} it: median {median(each[1:]):.1f} ms, longest {max(each):.0f} ms, of {len(each) - 1}")


def wave(app: Flask, _settings: dict[str, str]) -> None:
    """The fourth. The administrator acts once SEEN of the wave are in the queue."""
    world, chance = World(app), random.Random(50)  # the same wave each time
    category, root = world.category(), world.caller(world.admin())
    members = [world.user() for _ in range(20)]
    for each in members:
        world.project(each)
    spammers, newcomers = accounts(world, "spam", SPAMMERS), accounts(world, "new", NEWCOMERS)
    asked_of = [(each, True) for each in spammers + chance.choices(spammers, k=SPAM - SPAMMERS)]
    asked_of += [(world.caller(each), False) for each in members] + [(each, False) for each in newcomers]
    chance.shuffle(asked_of)
    spam: list[tuple[int, bool, bool]] = []  # of each its id, whether it is held, and whether the rule was there
    fair: list[tuple[int, bool, bool]] = []
    rule_id = 0
    for number, (caller, is_spam) in enumerate(asked_of):
        text = (LINKS if is_spam or number % 10 == 0 else "") + PROSE
        answer = caller.post("/api/projects", submission(number, category, text)).json
        (spam if is_spam else fair).append((answer["id"], answer["review"]["held"], bool(rule_id)))
        if len(spam) == SEEN and not rule_id:
            rule_id = stopping(root)
    late = [held for _, held, ruled in spam if ruled]
    wrong = sum(held for _, held, _ in fair)
    before, missed = len(spam) - len(late), late.count(False)
    say(f"the rule came after {before} of {len(spam)}; of the others it held {sum(late)}, and let in {missed}")
    say(f"held wrongly: {wrong} of {len(fair)} submissions by others")
    matched = timed("preview of the rule", lambda: root.post(f"{RULES}/preview", {"days": 1, "rule": rule()}).json)
    say(f"  it matched {matched['matched']} of {matched['evaluated']}: {matched['by_outcome']}")
    cleaning(app, root, rule_id, [project for project, _, _ in spam])
    with app.app_context():
        waiting = {*db.session.scalars(select(Project.id).where(Project.status == Status.PENDING))}
    left, lost = len(waiting & {each for each, _, _ in spam}), len({each for each, _, _ in fair} - waiting)
    say(f"left of the wave: {left}; decided about others: {lost}")


def rule() -> dict[str, Any]:
    """The rule that an administrator writes."""
    return {"name": "New accounts with links", "on": ["submission"], "when": WHEN, "then": "hold", "reason": None}


def stopping(root: Api) -> int:
    """Write the rule, try it and switch it on; its id."""

    def work() -> int:
        rule_id = int(root.post(RULES, rule()).json["id"])
        assert root.post(f"{RULES}/preview", {"days": 30, "rule": rule()}).status_code == 200
        assert root.put(f"{RULES}/{rule_id}", {"state": "on"}).status_code == 200
        return rule_id

    rule_id: int = timed("the rule is written, tried and switched on (three requests)", work)
    return rule_id


def cleaning(app: Flask, root: Api, rule_id: int, spam: list[int]) -> None:
    """Release what the rule held. Then the console, the command and the bulk each remove a third of the accounts."""
    assert root.put(f"{RULES}/{rule_id}", {"state": "off"}).status_code == 200
    since = {"since": (now() - timedelta(days=1)).isoformat()}

    def again_and_again(path: str, body: Any, member: str) -> str:
        done: list[int] = []
        while not done or done[-1]:
            done.append(root.post(path, body).json[member])
        return f"{sum(done)} in {len(done)} requests"

    say("  " + timed("by rule: undone", lambda: again_and_again(f"{RULES}/{rule_id}/revert", since, "number")))
    match = {"created_from": now().date().isoformat(), "live": False}
    body = {"decision": "suspend", "unpublish": True, "reason": "Spam."}
    by_day = {**body, "match": {**match, "email_domain": "spam0.example"}}
    say("  " + timed("by the console, by day of registration and mail domain: accounts",
                     lambda: again_and_again("/api/admin/users/decisions", by_day, "changed")))  # fmt: skip
    command = ["users", "suspend", "--created-from", match["created_from"], "--email-domain", "spam1.example", "--live",
               "false", "--unpublish", "--reason", "Spam.", "--yes"]  # fmt: skip
    ran = timed("by the command", lambda: app.test_cli_runner().invoke(args=command).output)
    say("  " + ran.strip().splitlines()[-1])
    with app.app_context():
        left = list(
            db.session.scalars(select(Project.id).where(Project.id.in_(spam), Project.status == Status.PENDING))
        )

    def in_bulk() -> str:
        for first in range(0, len(left), 100):
            ids = left[first : first + 100]
            items = root.post(
                "/api/review/projects/decisions", {"decision": "reject", "ids": ids, "reason": "Spam."}
            ).json
            assert {each["status"] for each in items["items"]} == {200}
        return f"{len(left)} in {-(-len(left) // 100)} requests"

    say("  " + timed("in bulk: rejected", in_bulk))


def accounts(world: World, name: str, number: int) -> list[Api]:
    """So many new accounts without a password, a third of them at each of three mail domains."""
    rows = [
        {"username": f"{name}{n}", "email": f"{name}{n}@{name}{n % 3}.example", "password_hash": ""}
        for n in range(number)
    ]
    with world.app.app_context():
        ids = transaction(lambda: list(db.session.scalars(insert(User).returning(User.id), rows)))
        assert len(ids) == number == db.session.scalar(select(func.count()).where(User.id.in_(ids)))
    return [world.caller(Caller(each, "", Role.MEMBER)) for each in ids]


def asked(port: int, method: str, path: str, token: str, body: Any) -> tuple[int, float]:
    """The status of one request with a JSON body, and its seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    began = time.perf_counter()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, time.perf_counter() - began


def timed(what: str, work: Callable[[], Any]) -> Any:
    """The result of some work, whose seconds are printed."""
    began = time.perf_counter()
    result = work()
    say(f"{what}: {time.perf_counter() - began:.1f} s")
    return result


def say(text: str) -> None:
    print(f"   {text}", flush=True)


PARTS: dict[str, Callable[[Flask, dict[str, str]], None]] = {"1": cost, "2": reads, "3": previewing, "4": wave}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("--database", choices=BACKENDS, action="append", help="default: both")
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    given = parser.parse_args()
    for backend in given.database or BACKENDS:
        for number in given.part or PARTS:
            with database(backend) as url:
                print(f"{backend}, {number}:", flush=True)
                migrate(url)
                app = build(url)
                PARTS[number](app, {**ENVIRONMENT, "DATABASE_URL": url, "LOG_LEVEL": "ERROR"})
                with app.app_context():
                    db.engine.dispose()


if __name__ == "__main__":
    main()
