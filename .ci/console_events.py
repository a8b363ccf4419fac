"""Write what the console says of the events, from the table in directory/events.py: python .ci/console_events.py FILE.

The reason by which it knows what the service itself rejected is that of directory/services/service_words.py.
`.ci/web.py schema` runs it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from directory import events
from directory.services import service_words


def text() -> str:
    """The text of the file."""
    table = events.TABLE
    parts = [
        "// What the console says of the events. Made of directory/events.py: python .ci/web.py schema",
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
    ]
    return "\n".join(parts)


def _named(name: str, value: Mapping[str, object] | Sequence[object], end: str = "") -> str:
    return f"export const {name} = {json.dumps(value, ensure_ascii=False, indent=2)}{end};\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
