"""What the service itself writes into threads, and gives as the reason of a rejection.

It is stored in English, as all messages are known by their English text, and said in the language of the reader: `said`
finds the message and its values in what is stored. A text that was ever stored stays here.
"""

import re

from directory.language.messages import Message, _, ngettext

TIME_PASSED = re.compile(r"No answer within (\d{1,9}) days?\.")
BY_DECISION = _("The appeal has ended without an outcome, because the reviewers made another decision.")
BY_EDIT = _("The appeal has ended without an outcome, because the project was edited.")
BY_WITHDRAWAL = _("The appeal has ended without an outcome, because the changes were withdrawn.")
RETURNED = _(
    "A rule of this site had held this for a closer look, or rejected it. That was undone: it is in the review queue "
    "again, at its old place."
)
_SENTENCES: dict[str, Message] = {text: text for text in (BY_DECISION, BY_EDIT, BY_WITHDRAWAL, RETURNED)}


def time_passed(days: int) -> Message:
    """The reason of a rejection of what was not answered within so many days."""
    return ngettext("No answer within {number} day.", "No answer within {number} days.", days)


def said(text: str) -> str:
    """A text of the service as the message that it is; another one as it is."""
    match = TIME_PASSED.fullmatch(text)
    return time_passed(int(match[1])) if match else _SENTENCES.get(text, text)
