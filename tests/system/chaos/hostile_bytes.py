"""Members who send pictures, Markdown and passkeys that are made to be costly; what others are answered meanwhile."""

import http.client
import time
from collections.abc import Iterator
from functools import cache
from itertools import cycle

from tests.services.test_markdown import HOSTILE as TEXTS
from tests.services.test_pictures import HOSTILE as PICTURES
from tests.support.extras import rows
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import toggler
from tests.system.chaos.load import Answer, Load, Step, expect, expect_within, slowest, statuses
from tests.system.chaos.paced import reader
from tests.system.chaos.stage import Person, Stage, stage


@cache
def pictures() -> list[bytes]:
    """The pictures, made once."""
    return [make() for make in PICTURES.values()]


def uploader(at: Stage, by: Person, project: int) -> Step:
    """Sends costly pictures as the logo of a project."""
    assert at.service is not None
    port, chosen = at.service.port, cycle(pictures())
    headers = {"Authorization": f"Bearer {by.token}", "Content-Type": "image/png"}

    def step() -> Answer:
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("PUT", f"/api/projects/{project}/logo", next(chosen), headers)
            status = connection.getresponse().status
            return Answer(began, time.monotonic() - began, status, None, "")
        finally:
            connection.close()

    return step


def writer(at: Stage, by: Person) -> Step:
    """Has costly Markdown rendered, which is never the same twice."""
    texts = cycle(TEXTS.values())
    numbers = iter(range(10**9))
    return lambda: at.ask("POST", "/api/markdown", by, {"text": f"{next(numbers)} {next(texts)}"[:10_000]})


def describer(at: Stage, by: Person, project: int) -> Step:
    """Stores costly Markdown as the description of a project."""
    texts = cycle(TEXTS.values())
    return lambda: at.ask("PUT", f"/api/projects/{project}", by, {"description": next(texts)[:10_000]})


def _hostile(at: Stage) -> Iterator[Step]:
    for number, person in enumerate(at.members[:3]):
        yield uploader(at, person, at.projects[number])
        yield writer(at, person)
        yield describer(at, person, at.projects[number])
    for make in rows("hostile").values():
        yield make(at)


@scenario(
    "Hostile bytes: pictures, Markdown and passkeys that are made to be costly",
    "votes and /healthz go on; what is sent is done, refused, or 503 within the deadline",
    short={"seconds": 5, "within": 5.0},
    long={"seconds": 60, "within": 4.0},
)
def hostile_bytes(seconds: float, within: float) -> Outcome:
    seen = []
    for kind in ("sqlite", "postgresql"):
        with stage(kind, RATELIMIT_ENABLED="false") as at:
            assert at.service is not None
            votes = [toggler(at, person, number) for number, person in enumerate(at.members[3:])]
            with (
                reader(at.service.port, "/healthz") as living,
                Load(_hostile(at)) as hostile,
                Load(votes) as voting,
                living.beside(),
            ):
                time.sleep(seconds)
            expect(voting.answers, 200)
            expect_within(voting.answers, within, 0.99)
            expect(hostile.answers, 200, 422, 503)
            at.settle()
            seen.append(
                f"{kind}: {len(voting.answers):,} votes, longest {slowest(voting.answers):.1f} s; /healthz longest "
                f"{max(living.waits) * 1000:.0f} ms; hostile {statuses(hostile.answers)}"
            )
    return Outcome(f"{2 * seconds:.0f} s of ten hostile callers together with five voters", ". ".join(seen))
