"""PostgreSQL goes away and comes back."""

import signal
import time

from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, reader, toggler
from tests.system.chaos.load import Load, expect, expect_within, slowest, statuses, until_good, waited
from tests.system.chaos.postgresql_mute import many_callers, ready, siege
from tests.system.chaos.stage import stage


@scenario(
    "PostgreSQL restarts under load",
    "0 failed requests once it is up, nothing acknowledged lost",
    short={"restarts": 1},
    long={"restarts": 10},
)
def restarted(restarts: int) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        failed = 0
        with Load(everybody(at)) as load:
            for _ in range(restarts):
                time.sleep(0.5)
                at.server.stop()
                at.server.start()
                up = time.monotonic()
                time.sleep(1)
                failed += sum(not answer.good for answer in load.since(up))
        assert failed == 0, f"{failed} requests failed after it was up: {statuses(load.answers)}"
        at.settle()
        return Outcome(
            f"{restarts} restarts, {len(load.answers):,} requests", f"0 failed after; {statuses(load.answers)}"
        )


@scenario(
    "PostgreSQL is down",
    "503 within 50 ms for what needs it, /healthz 200, /readyz 503; the first good answer within 1 s of its return",
    short={"times": 1, "seconds": 1.0, "half_within": 0.5},
    long={"times": 4, "seconds": 4.0, "half_within": 0.05},
)
def down(times: int, seconds: float, half_within: float) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        asked = [reader(at), reader(at, at.members[0]), toggler(at, at.members[1])]
        back, refused = [], []
        for _ in range(times):
            assert all(step().good for step in asked)
            at.server.stop(signal.SIGQUIT)
            with Load(asked) as load:
                time.sleep(seconds)
                assert at.ask("GET", "/healthz").status == 200
                assert at.ask("GET", "/readyz").status == 503
            refused += load.answers
            at.server.start()
            back += [until_good(step) for step in asked]
        expect(refused, 503)
        assert {answer.type for answer in refused} == {"application/problem+json"}
        expect_within(refused, half_within, 0.5)
        expect_within(refused, 1)
        assert max(back) < 1, f"{max(back):.2f} s until it was good again"
        at.settle()
        return Outcome(
            f"down {times} x {seconds:.0f} s, {len(refused):,} requests",
            f"{statuses(refused)}, half of them within {waited(refused, 0.5) * 1000:.0f} ms, all within "
            f"{slowest(refused) * 1000:.0f} ms; good again after {max(back) * 1000:.0f} ms",
        )


@scenario(
    "The connections to PostgreSQL are reset under load, and each new one",
    "503 within 5 s, /healthz 200; 0 failed requests once it lets in again, nothing acknowledged lost",
    short={"times": 1, "seconds": 1.5},
    long={"times": 5, "seconds": 4.0},
)
def reset(times: int, seconds: float) -> Outcome:
    with stage("postgresql", proxied=True) as at:
        assert at.proxy is not None
        refused = failed = 0
        with siege(at, many_callers(at)) as held:
            for _ in range(times):
                time.sleep(1)
                cut = time.monotonic()
                at.proxy.set("reset")
                time.sleep(seconds)
                assert ready(at)().status == 503
                refused += sum(answer.status == 503 for answer in held.load.since(cut))
                at.proxy.set("pass")
                up = time.monotonic()
                time.sleep(1)
                failed += sum(not answer.good for answer in held.load.since(up))
        assert refused >= times, f"{refused} requests refused in {times} times"
        assert failed == 0, f"{failed} requests failed after it let in again: {held}"
        at.settle()
        return Outcome(f"reset {times} x {seconds:.0f} s, {held.done()}", f"{held}; 0 failed after")
