"""Messages in English that can be translated where they are written into an answer, a page or a mail.

A message is a string: its English text. So it can be logged, compared and joined by code that knows no language, but
what is made of it by joining is not translated any more. Placeholders have names, as in "Give at most {number} tags.";
a message has no HTML. `_`, `ngettext` and `pgettext` take constants only: `.ci/messages.py` collects them for the
translators.
"""

import re
from typing import Self

PLACEHOLDER = re.compile(r"\{(\w+)\}")
CATEGORY, SITE = "category", "site"  # the contexts of the operator's own texts
ISOLATE, END_ISOLATE = "\u2068", "\u2069"  # the text between them has a direction of its own (UAX #9: FSI, PDI)


class Message(str):
    """A text with the message that it was made of, its `id`, and the values of its placeholders.

    `many` is the plural of a message that depends on a number, otherwise empty. `context` distinguishes
    messages with the same English text.
    """

    __slots__ = ("context", "facts", "id", "many", "number")
    context: str
    id: str
    many: str
    number: int
    facts: dict[str, object]

    def __new__(
        cls, message: str, many: str = "", number: int = 1, facts: dict[str, object] | None = None, context: str = ""
    ) -> Self:
        """The message, or for another number than one `many`."""
        facts = facts or {}
        chosen = message if number == 1 or not many else many
        new = super().__new__(cls, filled(chosen, facts) if facts else chosen)
        new.id, new.many, new.number, new.facts, new.context = message, many, number, facts, context
        return new

    def filled(self, **facts: object) -> "Message":
        """The message with values for its placeholders: for a message of a table, which has none of them yet."""
        return Message(self.id, self.many, self.number, {**self.facts, **facts}, self.context)

    def __str__(self) -> str:
        """The message itself, not a copy that cannot be translated: `str(error)` returns what it was raised with."""
        return self


def filled(text: str, facts: dict[str, object]) -> str:
    """A text with values in the place of its placeholders."""
    return PLACEHOLDER.sub(lambda match: str(facts[match[1]]) if match[1] in facts else match[0], text)


def _(message: str, /, **facts: object) -> Message:
    """A message."""
    return Message(message, facts=facts)


def pgettext(context: str, message: str, /, **facts: object) -> Message:
    """A message whose English text has several meanings. The context names the meaning; only translators see it."""
    return Message(message, facts=facts, context=context)


def of_operator(context: str, text: str) -> Message:
    """A text that the operator wrote and may translate in a catalogue of their own."""
    return Message(text, context=context)


def ngettext(message: str, many: str, number: int, /, **facts: object) -> Message:
    """A message that depends on a number, which is also the value of {number}."""
    return Message(message, many, number, {"number": number, **facts})
