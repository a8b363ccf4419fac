"""The words for reports, in the form and in the list of a member's own."""

from directory.language.messages import _

KINDS = {
    "broken_link": _("The link does not work"),
    "spam": _("It is advertising or spam"),
    "harmful": _("It is harmful or against the law"),
    "wrong_facts": _("Something that it says is wrong"),
    "mine": _("It is mine, and I did not submit it"),
    "other": _("Something else"),
}
OUTCOMES = {None: _("Open"), "acted": _("Acted on"), "unfounded": _("No reason to act")}
