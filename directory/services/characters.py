"""Characters by their Unicode properties: which are invisible, how each is folded for search, which look like others.

Python knows a character's category, decomposition, case and name, and not its script. The name begins with the script,
and Unicode never changes a name, so the script is taken from there.
"""

import re
import unicodedata

# Default_Ignorable_Code_Point, which renderers do not show, and the marks of interlinear annotations.
_IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_IGNORED}]")
# Invisible characters that decide how the one before them looks (UAX #31, section 2.3, and emoji sequences, UTS #51).
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_PRESENTATION = "\ufe0e\ufe0f"
_VIRAMA = 9  # the combining class

# Letters of one sound and look that keyboards of Arabic, Persian, Kurdish and Urdu write by different code points.
_SAME_ARABIC = {
    "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u06aa": "\u0643",
    "\u0629": "\u0647", "\u06be": "\u0647", "\u06c1": "\u0647", "\u06d5": "\u0647",
}  # fmt: skip
_NAMED = {
    "THORN": "th",
    "ETH": "d",
    "ENG": "n",
    "SCHWA": "e",
}  # Latin letters that have a name, and how ASCII spells them
_BASE = re.compile(r"((?:LATIN|GREEK|CYRILLIC) SMALL (?:LETTER|LIGATURE) )((?:(?!WITH ).)+?)(?: WITH .*)?")
_FIRST_SIGN, _LAST_SIGN = "\u02b9", "\u02ff"  # of the modifier letters, those that are not small letters
_FIRST_PICTOGRAPH = "\u2190"  # symbols before it are signs of the text, such as those of trade marks
_BLANK = "\u2800"  # of Braille
_FIRST_IDEOGRAPH, _LAST_IDEOGRAPH = "\U00020000", "\U0003fffd"
_MODIFIERS = "\U0001f3fb-\U0001f3ff"  # skin colours

# Letters that look like one of Latin (UTS #39), in lower case and capitals.
_LIKE_LATIN = {
    "CYRILLIC": frozenset("аеорсухіјѕһԁԛԝӏьАВЕКМНОРСТУХІЈЅԌԚԜӀЬҮүѵѴ"),
    "GREEK": frozenset("ονυραικγτΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"),
    "ARMENIAN": frozenset("օոսցհՕՍԼ"),
    "LISU": frozenset("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"),
    "CHEROKEE": frozenset("ᎪᎫᎬᎳᎷᎻᏀᏃᏎᏚᏞᏟᏢᏦᏩᏒᎠᎡᎢᎥ"),
}


def without_invisible(text: str) -> str:
    """The text without the characters that a reader cannot see; those that change how their neighbours look stay."""
    if text.isascii():
        return text
    return _INVISIBLE.sub(lambda found: found[0] if _has_effect(text, found.start()) else "", text)


def fold(text: str) -> str:
    """A text as search compares it: words are joined by one of `-'.`, and separated by a space otherwise.

    Case, width, accents, strokes, ligatures, invisible characters and the digits of other scripts are folded. Marks are
    removed where they are accents or points (those of Latin, Greek, Cyrillic, Hebrew and Arabic); others are letters.
    """
    # Composed again at the end, for Hangul and kana, which the table takes apart.
    return unicodedata.normalize("NFC", text.translate(_FOLDED))


def script(char: str) -> str:
    """The script of a letter, by the first word of its name; empty for what belongs to several."""
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def has_lookalikes(text: str) -> bool:
    """Whether a word of the text mixes Latin with letters that look like it, or may be taken for a Latin word."""
    if text.isascii():
        return False
    letters = [char for char in unicodedata.normalize("NFC", text) if char.isalpha()]
    scripts = {name: {char for char in letters if script(char) == name} for name in _LIKE_LATIN}
    # A text that also has letters of its script that look like no other is of that language, and reads as such.
    if any(own and own <= _LIKE_LATIN[name] for name, own in scripts.items()):
        return True
    return any(_mixes(word) for word in re.findall(r"[^\W\d_]+", text))


def _mixes(word: str) -> bool:
    scripts = {char: script(char) for char in word}
    others = {char for char, name in scripts.items() if char in _LIKE_LATIN.get(name, ())}
    return bool(others) and "LATIN" in scripts.values()


def _has_effect(text: str, at: int) -> bool:
    """Whether the invisible character of the text changes how the text looks."""
    char, before, behind = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return False
    if char in (_NON_JOINER, _JOINER):
        joins = unicodedata.combining(before) == _VIRAMA or (char == _JOINER and _is_pictograph(behind))
        return joins or (char == _NON_JOINER and _is_cursive(before) and _is_cursive(behind))
    if char in _PRESENTATION:
        return _is_pictograph(before) or before in "0123456789#*©®‼⁉™ℹ"
    if "\u180b" <= char <= "\u180f":
        return script(before) == "MONGOLIAN"
    if "\U000e0100" <= char <= "\U000e01ef":
        return script(before) == "CJK"
    # The tags of a flag, such as that of Scotland.
    return "\U000e0020" <= char <= "\U000e007f" and (before == "\U0001f3f4" or "\U000e0020" <= before <= "\U000e007e")


def _is_pictograph(char: str) -> bool:
    return char >= _FIRST_PICTOGRAPH and unicodedata.category(char) in {"So", "Sm", "Sk", "Po", "Pd"} if char else False


def _is_cursive(char: str) -> bool:
    """Whether letters of the script join their neighbours."""
    name = unicodedata.name(char, "") if char else ""
    return name.startswith(("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "PHAGS-PA", "ADLAM"))


class _Folded(dict[int, str]):
    """The folded form of each character, made when it is first needed."""

    def __missing__(self, number: int) -> str:
        self[number] = folded = _folded(chr(number))
        return folded


_FOLDED = _Folded()


def _folded(char: str) -> str:
    category = unicodedata.category(char)
    if _INVISIBLE.match(char) or category == "Cf" or re.match(f"[{_MODIFIERS}]", char):
        return ""
    decomposed = unicodedata.normalize("NFKD", char)
    if decomposed != char:
        # A sign such as that of a trade mark is not the end of its word.
        is_sign = category == "So" and unicodedata.decomposition(char).startswith("<super>")
        return " " if is_sign else "".join(map(_folded, decomposed))
    if category[0] == "M":
        return "" if _is_accent(char) else char
    if _FIRST_IDEOGRAPH <= char <= _LAST_IDEOGRAPH:  # also those that this version of Python does not know
        return char
    if category[0] not in "LN":
        return _separator(char, category)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    lower = char.casefold()
    return _letter(char) if lower == char else "".join(map(_folded, lower))


def _is_accent(mark: str) -> bool:
    """Whether a mark is an accent or a point. Those of all scripts are named "combining", but for those of kana."""
    name = unicodedata.name(mark, "")
    return name.startswith(("COMBINING", "HEBREW", "ARABIC")) and "KATAKANA" not in name


def _separator(char: str, category: str) -> str:
    name = unicodedata.name(char, "")
    if char in ".+#":
        return char
    if _is_apostrophe(name):
        return "'"
    if category == "Pd" and "HYPHEN" in name:
        return "-"
    if category == "So" and char >= _FIRST_PICTOGRAPH and char != _BLANK:
        # Two of the letters of flags are one flag.
        return char if name.startswith("REGIONAL INDICATOR") else f" {char} "
    return " "


def _letter(char: str) -> str:
    """A letter in lower case without its stroke, or as the letters that it joins."""
    if char.isascii():
        return char
    name = unicodedata.name(char, "")
    # Signs of transliterations, such as the half rings of Arabic and the primes of Cyrillic, join as apostrophes do.
    if _is_apostrophe(name) or _FIRST_SIGN <= char <= _LAST_SIGN or name == "LATIN SMALL LETTER SALTILLO":
        return "'"
    if name == "ARABIC TATWEEL":
        return ""
    base = _BASE.fullmatch(name)
    if base is None:
        return _SAME_ARABIC.get(char, char)
    bare = re.sub("^(?:DOTLESS|OPEN) | BAR$", "", base[2])
    if base[1].startswith("LATIN") and (bare in _NAMED or re.fullmatch("[A-Z]{1,2}", bare)):
        return _NAMED.get(bare, bare.lower())
    try:
        plain = unicodedata.lookup(base[1] + base[2])
    except KeyError:
        return char
    return char if plain == char else _folded(plain)


def _is_apostrophe(name: str) -> bool:
    return any(
        kind in name for kind in ("APOSTROPHE", "SINGLE QUOTATION MARK", "PUNCTUATION GERSH", "PUNCTUATION GERESH")
    )
