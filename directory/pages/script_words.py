"""What the scripts of the pages say: a page that is not in plain English has the translations for them."""

from collections.abc import Mapping, Sequence

import orjson
from markupsafe import Markup, escape

from directory.language.catalogues import Catalogue
from directory.language.messages import Message, _, ngettext

READING: Sequence[Message] = (
    _("Voted"), _("Upvote"), ngettext("Upvote {title}, {number} vote", "Upvote {title}, {number} votes", 1),
    _("Your vote was not counted."), _("Your vote was not withdrawn."),
    _("You are offline, or the service does not answer."), _("The service answered with status {status}."),
    _("The address of this page is copied."), _("Theme: system"), _("Theme: light"), _("Theme: dark"),
    _("Previous picture"), _("Next picture"), _("Close"), _("Passkeys work at {address}, not at this address."),
    _("No passkey was used. You can try again, or sign in by your password."),
    _("This device has a passkey for your account already."),
    _("Your browser or password manager made no passkey that can be used: {reason}"),
)  # fmt: skip
FORMS: Sequence[Message] = (
    *READING, _("No passkey was used. You can try again."), _("This browser cannot add a passkey at this address."),
    _("An address of numbers has no passkeys. Open this page, and sign in, at {address}."), _("Copied."),
    _("Your browser did not copy it. Mark it, and copy it yourself."), _("Write"), _("Preview"),
    _("As the page will show it"), _("Loading…"), _("There is no description yet."),
    _("The preview cannot be shown."), _("Your draft is stored in this browser."), _("Discard the draft"),
    _("How it will look"), _("Title"), _("Your tagline"), _("The chosen logo"),
    _("A logo is a PNG, JPEG or WebP picture. Save this one as a PNG."),
    _("This file is larger than 1 MB. Save it smaller, and choose it again."), _("Stored as: {tags}"),
    _("In review"), _("Rejected"), _("It is here already"), _("You can vote for it instead of submitting it again."),
    _("A project with this repository is here already"), _("It may be the same project under another address."),
    _("Filled in. Look at each field."), _("The website says nothing for the empty fields."),
    _("Similar projects"), _("You sent this on {day}: {link}open it{end}."),
)  # fmt: skip
OF_ENTRY = {"reading": READING, "forms": FORMS}


def translated(language: Catalogue) -> Mapping[str, Markup]:
    """The words of each entry in a language, as JSON in HTML: a text by its English one, or its forms of a plural."""
    if not language.texts:
        return {}
    return {entry: escape(orjson.dumps(dict(_pairs(language, words))).decode()) for entry, words in OF_ENTRY.items()}


def _pairs(language: Catalogue, words: Sequence[Message]) -> list[tuple[str, str | list[str]]]:
    pairs: list[tuple[str, str | list[str]]] = []
    for message in words:
        if message.many:
            forms, _choose = language.forms(message.id, message.many)
            pairs.append((message.id, [*forms]))
        elif (text := language.text(message.id)) != message.id:
            pairs.append((message.id, text))
    if language.locale.between != " ":
        pairs.append((" ", language.locale.between))
    return pairs
