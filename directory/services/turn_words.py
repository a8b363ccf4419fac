"""What people read about a review: one table of sentences, by whose turn it is and how it came to that.

The pages, the form of an edit and the mails look them up here, and the console gets them from here.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from directory.language.messages import Message, _, ngettext, pgettext
from directory.models import Asked, Outcome, Turn, now
from directory.services import analytics
from directory.services.catalog.periods import MONTHS
from directory.services.turns import Standing


class Words(NamedTuple):
    """A state: in a word, as a heading, and what follows from it.

    `undated` are the texts without a date by which the owner has to answer.
    """

    badge: Message
    title: Message
    texts: tuple[Message, ...] = ()
    undated: tuple[Message, ...] = ()

    def said(self, until: datetime | None) -> list[Message]:
        """The texts, with the date."""
        if until is None:
            return [*(self.undated or self.texts)]
        return [text.filled(date=instant(until)) for text in self.texts]


_IN_REVIEW, _REJECTED, _REJECTED_CHANGES = _("In review"), _("Rejected"), pgettext("changes", "Rejected")
_PROJECT_WAITS, _CHANGES_WAIT = _("This project is waiting for review"), _("Changes are waiting for review")
_AS_APPROVED = _("Until then visitors see the project as it was approved.")
_ASKED, _ASK = _("Changes asked for"), _("The reviewers ask for changes")
_WAS_LIVE = _("It was taken down before. Visitors do not see it.")
_BY = _("Give it back to the reviewers by {date}, with an edit or an answer. Otherwise it is rejected.")
_EVER = _("Give it back to the reviewers with an edit or an answer.")
_AGAIN = (_("Change it, and send it again."),)
_APPEAL = Words(
    _("Appeal"),
    _("A decision about this project is looked at again"),
    (_("Another reviewer upholds or reverses the decision. An edit meanwhile ends the appeal without an outcome."),),
)
# By whose turn it is, how it came to its owner, or the outcome; and whether it is about changes of a live project.
TABLE: dict[tuple[Turn | Asked | Outcome, bool], Words] = {
    (Turn.REVIEWERS, False): Words(_IN_REVIEW, _PROJECT_WAITS),
    (Turn.RULE, False): Words(
        _IN_REVIEW,
        _PROJECT_WAITS,
        (
            _(
                "A rule of this site holds it out of the queue for a closer look by a reviewer, for 14 days at most. "
                "Until it is approved visitors do not see it."
            ),
        ),
    ),
    (Asked.CHANGES, False): Words(_ASKED, _ASK, (_BY,), (_EVER,)),
    (Asked.UNPUBLISHED, False): Words(_("Taken down"), _("This project was taken down"), (_BY,), (_EVER,)),
    (Turn.APPEAL, False): _APPEAL,
    (Outcome.APPROVED, False): Words(_("Live"), _("This project is in the directory")),
    (Outcome.REJECTED, False): Words(_REJECTED, _("This project was rejected"), _AGAIN),
    (Outcome.BY_RULE, False): Words(_REJECTED, _("A rule of this site rejected this project"), _AGAIN),
    (Outcome.BY_TIME, False): Words(_REJECTED, _("This project was rejected, because no answer came in time"), _AGAIN),
    (Turn.REVIEWERS, True): Words(_IN_REVIEW, _CHANGES_WAIT, (_AS_APPROVED,)),
    (Turn.RULE, True): Words(
        _IN_REVIEW,
        _CHANGES_WAIT,
        (
            _("A rule of this site holds them out of the queue for a closer look by a reviewer, for 14 days at most."),
            _AS_APPROVED,
        ),
    ),
    (Asked.CHANGES, True): Words(
        _ASKED,
        _ASK,
        (
            _(
                "Give your changes back to the reviewers by {date}, with an edit or an answer. Otherwise they are "
                "rejected, and the project stays as it is."
            ),
        ),
        (_("Give your changes back to the reviewers with an edit or an answer. Until then nothing changes."),),
    ),
    (Turn.APPEAL, True): _APPEAL,
    (Outcome.REJECTED, True): Words(_REJECTED_CHANGES, _("The last changes were not accepted")),
    (Outcome.BY_RULE, True): Words(_REJECTED_CHANGES, _("A rule of this site rejected the last changes")),
    (Outcome.BY_TIME, True): Words(
        _REJECTED_CHANGES, _("The last changes were rejected, because no answer came in time")
    ),
}
HELD = "Held"  # by a rule, to reviewers alone
# To those who are not the owner, of what waits for its owner.
FOR_OTHERS = Words(_ASKED, _ASK, (_("It waits for its owner until {date}."),), (_("It waits for its owner."),))


def words_of(standing: Standing) -> Words:
    """The words of a state."""
    words = TABLE[standing.asked or standing.turn or standing.outcome or Outcome.APPROVED, standing.of_changes]
    if standing.asked is Asked.CHANGES and standing.was_live and not standing.of_changes:
        return words._replace(texts=(_WAS_LIVE, *words.texts), undated=(_WAS_LIVE, *words.undated))
    return words


def instant(at: datetime) -> Message:
    """An instant in words, to the minute."""
    at = at.astimezone(UTC)
    facts = {"day": at.day, "month": MONTHS[at.month - 1], "year": at.year, "time": f"{at:%H:%M}"}
    return _("{day} {month} {year}, {time} UTC").filled(**facts)


def review_takes() -> Message | None:
    """How long the reviews of the last 30 days took; None without any."""
    seconds = analytics.median_wait(now() - timedelta(days=30))
    if seconds is None:
        return None
    hours = math.ceil(seconds / 3600) or 1
    if hours <= 48:
        return ngettext(
            "Half of the latest reviews took up to {number} hour.",
            "Half of the latest reviews took up to {number} hours.",
            hours,
        )
    return ngettext(
        "Half of the latest reviews took up to {number} day.",
        "Half of the latest reviews took up to {number} days.",
        math.ceil(hours / 24),
    )
