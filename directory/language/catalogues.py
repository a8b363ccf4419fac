"""A catalogue: the messages of a language, in place of the English ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from directory.language import locales
from directory.language.messages import END_ISOLATE, ISOLATE, PLACEHOLDER, Message, filled

DEFAULT = "en"


def _one_or_many(number: int) -> int:
    return int(number != 1)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A language by its BCP 47 tag. `texts` has the translations by context and message, one for each plural form.

    `plural` returns the form for a number, and `locale` says how days and numbers are written. Without a translation
    the English message stays.
    """

    tag: str = DEFAULT
    texts: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    plural: Callable[[int], int] = _one_or_many
    locale: locales.Locale = locales.ENGLISH

    def text(self, message: str, context: str = "") -> str:
        """The translation of a message, with its placeholders."""
        return self.texts.get((context, message), (message,))[0]

    def forms(self, message: str, many: str) -> tuple[Sequence[str], Callable[[int], int]]:
        """The forms of a message that depends on a number, and the function that chooses one."""
        translated = self.texts.get(("", message))
        return (translated, self.plural) if translated else ((message, many), _one_or_many)

    def say(self, text: str) -> str:
        """A text in this language: if it is a message, its translation; otherwise the text as it is."""
        if not isinstance(text, Message):
            return text
        if text.many:
            forms, choose = self.forms(text.id, text.many)
            chosen = forms[choose(text.number)]
        else:
            chosen = self.text(text.id, text.context)
        facts = {name: self._value(value) if isinstance(value, str) else value for name, value in text.facts.items()}
        return filled(chosen, facts) if facts else chosen

    def _value(self, value: str) -> str:
        """The text of a placeholder. Mail programs would take an isolate after an address for a part of it."""
        if not self.isolates or value.startswith(("https://", "http://")):
            return self.say(value)
        return f"{ISOLATE}{self.say(value)}{END_ISOLATE}"

    @property
    def isolates(self) -> bool:
        """Whether values, most of which are written from left to right, are kept apart from the text around them."""
        return self.locale.direction == "rtl"


ENGLISH = Catalogue()


def placeholders(text: str) -> set[str]:
    """The names of the placeholders of a text."""
    return {*PLACEHOLDER.findall(text)}


def has_the_placeholders(form: str, message: str, *, is_plural: bool) -> bool:
    """Whether a translation has the placeholders of its message. A form of a plural may leave its number out."""
    present, wanted = placeholders(form), placeholders(message)
    return wanted - ({"number"} if is_plural else set()) <= present <= wanted
