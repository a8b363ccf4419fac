"""The service, or its database, ends by SIGKILL in the middle of what it does."""

import random
import signal
import time

from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, reader
from tests.system.chaos.load import REFUSED, Load, until_good
from tests.system.chaos.sqlite_trouble import integrity
from tests.system.chaos.stage import Stage, stage


def done(at: Stage, kills: int, load: Load) -> str:
    """What was done, in words for the table."""
    return f"{kills} kills, {at.ledger.acknowledged():,} writes acknowledged, {cut_off(load):,} requests cut off"


def cut_off(load: Load) -> int:
    """How many requests the service had taken and did not answer."""
    return sum(answer.status is None and answer.type != REFUSED for answer in load.answers)


def killed_over_and_over(at: Stage, kills: int) -> Load:
    """Kill the service repeatedly while all members write, and compare the database with the ledger now and then."""
    chance = random.Random(kills)
    with Load(everybody(at), pause=0.002) as load:
        for number in range(kills):
            time.sleep(chance.uniform(0.05, 0.4))
            at.kill()
            at.start()
            if at.server is None and number % 10 == 0:
                assert integrity(at) == "ok"
    assert cut_off(load) >= kills, f"only {cut_off(load)} were in hand at {kills} kills"
    at.settle()
    return load


@scenario(
    "kill -9 of the whole service in mid-write, on SQLite",
    "acknowledged writes present, integrity ok, count = rows, outbox complete",
    short={"kills": 6},
    long={"kills": 200},
)
def service_on_sqlite(kills: int) -> Outcome:
    with stage("sqlite") as at:
        load = killed_over_and_over(at, kills)
        at.kill()
        assert integrity(at) == "ok"
        at.settle()
        return Outcome(done(at, kills + 1, load), "integrity ok; nothing wrong by the ledger")


@scenario(
    "kill -9 of the whole service in mid-write, on PostgreSQL",
    "acknowledged writes present, count = rows, outbox complete",
    short={"kills": 4},
    long={"kills": 20},
)
def service_on_postgresql(kills: int) -> Outcome:
    with stage("postgresql") as at:
        load = killed_over_and_over(at, kills)
        return Outcome(done(at, kills, load), "nothing wrong by the ledger")


@scenario(
    "kill -9 of PostgreSQL in mid-write",
    "acknowledged writes present, count = rows, outbox complete; good again within 1 s of its recovery",
    short={"kills": 2},
    long={"kills": 15},
)
def postgresql(kills: int) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        back = []
        with Load(everybody(at), pause=0.002) as load:
            for _ in range(kills):
                time.sleep(0.7)
                at.server.stop(signal.SIGKILL)
                at.server.start()
                back.append(until_good(reader(at, at.members[7])))
        at.settle()
        assert max(back) < 1, f"{max(back):.1f} s until it was good again"
        return Outcome(
            done(at, kills, load),
            f"nothing wrong by the ledger; good again after {max(back) * 1000:.0f} ms",
        )
