"""Votes of members who return: the last uses of their tokens are recorded with the votes, or neither is."""

import random
import time
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, create_engine, text

from directory.models.base import UtcDateTime
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import voter
from tests.system.chaos.load import Answer, Load, Step
from tests.system.chaos.stage import Person, Stage, stage

BOTH = ("sqlite", "postgresql")
AT = bindparam("at", type_=UtcDateTime())
UNRECORDED = text(
    "SELECT count(*) FROM upvotes v JOIN last_uses l ON l.user_id = v.user_id JOIN tokens t ON t.user_id = v.user_id "
    "WHERE v.created_at >= :at AND (t.last_used_at < :at OR l.seen_at < :at)"
).bindparams(AT)


def age(at: Stage) -> None:
    """Have all tokens be used, and all users be seen, for the last time a day ago."""
    engine = create_engine(at.url)
    with engine.begin() as connection:
        for update in ("tokens SET last_used_at = :at", "last_uses SET seen_at = :at"):
            connection.execute(text(f"UPDATE {update}").bindparams(AT), {"at": datetime.now(UTC) - timedelta(days=1)})
    engine.dispose()


def votes_since(at: Stage, began: datetime) -> tuple[int, int]:
    """The votes that the database has since a time, and those of them whose last use it does not have."""
    engine = create_engine(at.url)
    with engine.connect() as connection:
        count = text("SELECT count(*) FROM upvotes WHERE created_at >= :at").bindparams(AT)
        found = [connection.execute(each, {"at": began}).scalar_one() for each in (count, UNRECORDED)]
    engine.dispose()
    return found[0], found[1]


@scenario(
    "kill -9 of the whole service between votes and the last uses of their tokens",
    "each vote that the database has is a use that it has; acknowledged votes present, count = rows",
    short={"kills": 2},
    long={"kills": 30},
)
def killed_between(kills: int) -> Outcome:
    counted = {}
    for kind in BOTH:
        chance = random.Random(kills)
        with stage(kind) as at:
            counted[kind] = 0
            for number in range(kills):
                age(at)
                began = datetime.now(UTC)
                with Load([voter(at, person, number) for person in at.members], pause=0):
                    time.sleep(chance.uniform(0.03, 0.3))
                    at.kill()
                at.start()
                votes, unrecorded = votes_since(at, began)
                assert unrecorded == 0, f"{unrecorded} of {votes} votes are of tokens that were not used"
                counted[kind] += votes
            at.settle()
    assert all(counted.values()), "no vote was counted before a kill"
    seen = ", ".join(f"{votes} votes on {kind}" for kind, votes in counted.items())
    return Outcome(f"{kills} kills each, {seen}", "all with their last use; nothing wrong by the ledger")


@scenario(
    "tokens revoked while they vote for the first time in a day",
    "no request that begins after the revocation votes: 401",
    short={"tokens": 3},
    long={"tokens": 100},
)
def revoked(tokens: int) -> Outcome:
    refused = voted = 0
    for kind in BOTH:
        with stage(kind) as at:
            for number in range(tokens):
                by = at.members[number % len(at.members)]
                before, after = revoked_under_way(at, by)
                assert {answer.status for answer in after} == {401}, after
                voted += sum(answer.status == 200 for answer in before)
                refused += len(after)
            at.settle()
    return Outcome(f"{tokens} tokens each, {voted:,} votes before", f"0 votes after, {refused:,} requests refused")


def revoked_under_way(at: Stage, by: Person) -> tuple[list[Answer], list[Answer]]:
    """Revoke a token that four callers vote with; the answers to requests before and after the acknowledgement."""
    made = at.ask("POST", "/api/auth/tokens", by, {"name": "short"}).json
    age(at)
    short = Person(by.id, made["token"])
    with Load([caster(at, short, project) for project in at.projects[:4]], pause=0) as load:
        time.sleep(0.05)
        assert at.ask("DELETE", f"/api/auth/tokens/{made['id']}", by).status == 204
        ended = time.monotonic()
        time.sleep(0.1)
    return [each for each in load.answers if each.began < ended], load.since(ended)


def caster(at: Stage, by: Person, project: int) -> Step:
    """Sets the vote for a project."""

    def step() -> Answer:
        answer = at.ask("PUT", f"/api/projects/{project}/upvote", by)
        at.ledger.note("cast", answer.status, user=by.id, project=project)
        return answer

    return step
