"""Write what the console says of events and of states: python .ci/console_events.py FILE.

The words are those of the tables in directory/events.py and directory/services/turn_words.py; the reason by which the
console knows what the service itself rejected is that of directory/services/service_words.py. `.ci/web.py schema` runs
it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from directory import events
from directory.models import Asked, Outcome, Turn
from directory.services import service_words, turn_words

STATES = {"live": Outcome.APPROVED, "pending": Turn.REVIEWERS, "rejected": Outcome.REJECTED}
TURNS = {"review": Turn.REVIEWERS, **{each.value: each for each in (*Asked, Turn.APPEAL)}}


def text() -> str:
    """The text of the file."""
    table = events.TABLE
    parts = [
        "// What the console says of events and states. Made of the tables of the service: python .ci/web.py schema",
        'import type { Schemas } from "./client.ts";',
        "",
        "/** What each event is called. */",
        _named("labels: Record<string, string>", {each: each.label for each in table}),
        "/** What the log says, of some by case. */",
        _named(
            'sentences: Record<Schemas["Audit"]["action"], string | Readonly<Record<string, string>>>',
            {each: each.sentence for each in events.LOGGED},
        ),
        "/** What somebody did, behind the name. */",
        _named("did: Record<string, string>", {each: each.did for each in table if each.did}),
        "/** The same by the kind of the entry in the thread. */",
        _named("didInThread", {each.kind: each.did for each in table if each.kind}, " as const"),
        "/** The events that are delivered, in the order of the API. */",
        _named("delivered: readonly string[]", events.DELIVERED),
        "/** The events of decisions about projects, and about changes of them. */",
        _named("decided", events.DECIDED, " as const"),
        _named("decidedChanges", {each.decision: each for each in table if each.of_changes}, " as const"),
        "/** The edits of owners. */",
        _named("edits: readonly string[]", [each for each in table if each.is_edit]),
        "/** The reason of a rejection that the service made, because the time for an answer had passed. */",
        f"export const timePassed = /^{service_words.TIME_PASSED.pattern}$/;\n",
        "/** What each state of a project is called. */",
        _named("states", _badges(STATES), " as const"),
        "/** What each turn of a review is called; if it is the owner's, by what the owner was asked. */",
        _named("turns", {**_badges(TURNS), "held": turn_words.HELD}, " as const"),
        "/** The sentences for a project that waits for its owner: those with a date, then those without. */",
        _named("withOwner", [*turn_words.FOR_OTHERS.texts, *turn_words.FOR_OTHERS.undated], " as const"),
    ]
    return "\n".join(parts)


def _badges(states: Mapping[str, Turn | Asked | Outcome]) -> dict[str, str]:
    """The words for some states of a submission, by the names that the console has for them."""
    return {name: turn_words.TABLE[state, False].badge for name, state in states.items()}


def _named(name: str, value: Mapping[str, object] | Sequence[object], end: str = "") -> str:
    return f"export const {name} = {json.dumps(value, ensure_ascii=False, indent=2)}{end};\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
