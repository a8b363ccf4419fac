"""The rules for users' text: the characters that it may contain, its stored form, and what is typed for tags."""

import re
import unicodedata

from directory.language.messages import END_ISOLATE, ISOLATE, _
from directory.services.text.characters import without_invisible

#: The form of category slugs and tags; use it with `fullmatch`.
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
#: The form of usernames; use it with `fullmatch`.
USERNAME = re.compile(r"[a-z0-9_-]{3,32}")
_ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
#: The form of e-mail addresses, in lower case. It is permissive: only a mailed link shows that an address works.
EMAIL = re.compile(rf"{_ATOM}(\.{_ATOM})*@{_LABEL}(\.{_LABEL})+")
#: The form of a domain, or of a part of one; use it with `fullmatch`.
DOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
EMAIL_MAX, LOCAL_PART_MAX = 254, 64
CATEGORY_SLUG_MAX = 50
TAG_MAX = 32
PROJECT_SLUG_MAX = 80

# A long run of combining marks makes NFC quadratic: one body of 64 KiB took 0.9 s. Thirty is the limit of
# Unicode's stream-safe text format (UAX #15), and more than any language needs.
_MARKS_MAX = 30
# NFC joins at most four code points into one, so a longer text cannot become short enough.
_NFC_SHRINKS_BY = 4

_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
)
_REFUSED = (
    (re.compile("[\ud800-\udfff]"), _("Must not contain half of a surrogate pair.")),
    # They display text in another order than it is stored, so a link or name can look like another one.
    (re.compile("[\u202a-\u202e\u2066-\u2069]"), _("Must not contain bidirectional overrides or isolates.")),
    # XML does not allow U+FFFE and U+FFFF, so one of them would break the feed.
    (re.compile(f"[{_NONCHARACTERS}]"), _("Must not contain code points that are not characters.")),
)
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]"), _("Must not contain line breaks or control characters.")
_CONTROLS_IN_LINES = (
    re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
    _("Must not contain control characters other than line breaks and tabs."),
)
_SHOWN_NEVER = re.compile("|".join(pattern.pattern for pattern, _reason in (*_REFUSED, _CONTROLS_IN_LINES)))

_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Mn", "Zl", "Zp", "Zs"})
# Fillers and blanks that Unicode classifies as letters or symbols, and characters that renderers do not show.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00013441\U00013442\U0001d159\U000e0000-\U000e0fff]"
)

# In a line of tags as people type it.
_SEPARATORS = re.compile(r"[\s,;\u060c\u3001\uff0c]+")
_JOINTS = re.compile("[_/-]+")
_SIGNS = str.maketrans({".": "", "+": "p", "#": "sharp", "&": "-and-"})
# A host without a scheme: it has a dot, and neither a user nor a scheme before it.
_BARE = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#.]+\.?(:\d+)?(?:[/?#].*)?", re.DOTALL)

# Letters that have an ASCII spelling but that NFKD does not decompose.
_SPELLINGS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})


def clean_text(value: str, *, minimum: int, maximum: int, multiline: bool = False, only_visible: bool = False) -> str:
    """The text as it is stored: `minimum` to `maximum` code points of NFC. Raises ValueError with the reason.

    With `only_visible` invisible characters are removed.
    """
    if len(value) > _NFC_SHRINKS_BY * maximum:
        raise ValueError(_length_reason(minimum, maximum))
    if multiline:
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    text = _normalise(value)
    for pattern, reason in (*_REFUSED, _CONTROLS_IN_LINES if multiline else _CONTROLS):
        if pattern.search(text):
            raise ValueError(reason)
    if only_visible:
        text = _normalise(without_invisible(text))  # again, because letters and accents may now be adjacent
    # After the check of controls, some of which `strip` would remove silently as white space.
    text = text if multiline else text.strip()
    if minimum and not is_visible(text):
        raise ValueError(_("Must not be blank."))
    if not minimum <= len(text) <= maximum:
        raise ValueError(_length_reason(minimum, maximum))
    return text


def without_refused(text: str) -> str:
    """A text of several lines without the characters that `clean_text` refuses: entities make them too."""
    return _SHOWN_NEVER.sub("", text)


def ascii_address(text: str) -> str:
    """An e-mail address as it is stored: in lower case, its domain in ASCII (A-labels). Other text is unchanged.

    So a domain with other letters is one address, however it is typed.
    """
    local, at, domain = text.rpartition("@")
    # The local part is not mapped: mail servers may not treat a mapped one as the same mailbox.
    if not at or not local.isascii() or len(text) > EMAIL_MAX:
        return text
    try:
        return f"{local.lower()}@{ascii_domain(domain)}"
    except UnicodeError:
        return text


def ascii_domain(domain: str) -> str:
    """The domain of an e-mail address as it is stored: in lower case and in ASCII. Raises UnicodeError."""
    if domain.isascii():
        return domain.lower()
    import idna  # only a few addresses need its tables

    return idna.encode(domain, uts46=True).decode("ascii").lower()  # an IDNAError is a UnicodeError


def is_email(value: str) -> bool:
    """Whether this is an e-mail address as it is stored (`ascii_address`)."""
    if not value.isascii() or len(value) > EMAIL_MAX or len(value.partition("@")[0]) > LOCAL_PART_MAX:
        return False
    return EMAIL.fullmatch(value) is not None


def isolated(text: str) -> str:
    """Foreign text as a part of a sentence of ours, which its direction must not turn around.

    Text from right to left is isolated; other text is unchanged.
    """
    turns = any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text)
    return f"{ISOLATE}{text}{END_ISOLATE}" if turns else text


def slugify(title: str) -> str:
    """An ASCII slug of at most 80 characters for a title; "project" if no character of it has an ASCII form."""
    spelled = unicodedata.normalize("NFKD", title.casefold().translate(_SPELLINGS))
    unaccented = "".join(char for char in spelled if not unicodedata.combining(char))
    slug = re.sub("[^a-z0-9]+", "-", unaccented).strip("-")
    return slug[:PROJECT_SLUG_MAX].rstrip("-") or "project"


def _normalise(value: str) -> str:
    """The text in NFC."""
    if value.isascii():
        return value
    _refuse_piled_marks(value)
    text = unicodedata.normalize("NFC", value)
    # Again, because NFC decomposes some characters: a stored text must be valid when it is sent back.
    _refuse_piled_marks(text)
    return text


def _refuse_piled_marks(text: str) -> None:
    """Raise ValueError if more combining marks follow each other than any language needs."""
    run = 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        if run > _MARKS_MAX:
            raise ValueError(_("Must not contain more than {number} combining marks in a row.", number=_MARKS_MAX))


def is_visible(text: str) -> bool:
    """Whether the text has a visible character."""
    return any(unicodedata.category(char) not in _UNSEEN_CATEGORIES and not _UNSEEN.match(char) for char in text)


def _length_reason(minimum: int, maximum: int) -> str:
    if minimum:
        return _("Must be {minimum} to {maximum} characters long.", minimum=minimum, maximum=maximum)
    return _("Must be at most {maximum} characters long.", maximum=maximum)


def typed_tags(line: str) -> list[str]:
    """The tags of a line, which commas or white space separate: each once, in lower case.

    `C++` is cpp, `C#` csharp, `Node.js` nodejs, `.NET` dotnet and `Café` cafe. A tag in another script stays as it is.
    Invisible characters are removed.
    """
    return list(dict.fromkeys(filter(None, map(_tag, _SEPARATORS.split(without_invisible(line))))))


def _tag(typed: str) -> str:
    spelled = unicodedata.normalize("NFKD", typed)
    plain = "".join(char for char in spelled if not unicodedata.category(char).startswith("M")).lower()
    plain = plain.removeprefix("#")
    plain = f"dot{plain[1:]}" if plain.startswith(".") and plain[1:2].isalnum() else plain
    return _JOINTS.sub("-", plain.translate(_SIGNS)).strip("-")


def with_scheme(typed: str) -> str:
    """An address with its scheme: `vim.org` is https://vim.org. Other text is only trimmed."""
    text = typed.strip()
    return f"https://{text}" if _BARE.fullmatch(text) else text
