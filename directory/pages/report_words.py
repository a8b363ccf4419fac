"""The words for reports, in the form and in the list of a member's own."""

KINDS = {
    "broken_link": "The link does not work",
    "spam": "It is advertising or spam",
    "harmful": "It is harmful or against the law",
    "wrong_facts": "Something that it says is wrong",
    "mine": "It is mine, and I did not submit it",
    "other": "Something else",
}
OUTCOMES = {None: "Open", "acted": "Acted on", "unfounded": "No reason to act"}
