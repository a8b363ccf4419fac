"""Unicode characters: invisible ones, their folding for search, and letters that look alike.

Python's unicodedata does not have a character's script. But the name begins with the script, and Unicode never changes
a name, so the script is taken from the name.
"""

import re
import unicodedata

from directory.services.text.equal_letters import SAME, usual

# Default_Ignorable_Code_Point, which renderers do not show, and marks of interlinear annotations.
_IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_IGNORED}]")
# Invisible characters that change the look of the one before them (UAX #31, section 2.3; emoji sequences, UTS #51).
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_PRESENTATION = "\ufe0e\ufe0f"
_VIRAMA = 9  # the combining class
_OF_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]*\\Z")

# Latin letters with a name of their own, and their ASCII spelling.
_NAMED = {"THORN": "th", "ETH": "d", "ENG": "n", "SCHWA": "e", "ALPHA": "a"}
_BASE = re.compile(
    r"((?:LATIN|GREEK|CYRILLIC) (?:SMALL (?:LETTER|LIGATURE)|LETTER SMALL CAPITAL) )((?:(?!WITH ).)+?)(?: WITH .*)?"
)
# Signs that people type for an apostrophe; the dots in words of Catalan and of katakana; the voice marks of kana that
# are characters of their own; the marks that Armenian writes within a word; the minus, and the sharp sign of C♯.
_SIGNS = {
    "\u00b4": "'", "\u2032": "'", "\u00b7": "'", "\u2027": "'", "\u30fb": "'", "\u309b": "\u3099",
    "\u309c": "\u309a", "\u055b": "", "\u055c": "", "\u055e": "", "\u2212": "-", "♯": "#",
}  # fmt: skip
_FIRST_SIGN, _LAST_SIGN = "\u02b9", "\u02ff"  # the modifier letters that are not small letters
_FIRST_PICTOGRAPH = "\u2190"  # symbols before it are part of text, such as the trade mark sign
# Unicode keeps these blocks for pictographs (UTS #51), so an unassigned one may be an emoji that Python does not know.
_FIRST_EMOJI, _LAST_EMOJI = "\U0001f000", "\U0001faff"
_BLANK = "\u2800"  # of Braille
_FIRST_IDEOGRAPH, _LAST_IDEOGRAPH = "\U00020000", "\U0003fffd"
_MODIFIERS = "\U0001f3fb-\U0001f3ff"  # skin colours

# Letters, small and capital, that look like a Latin letter (UTS #39), each with that letter, by script.
_LIKE_LATIN = {
    name: dict(zip(letters, latin, strict=True))
    for name, letters, latin in (
        ("CYRILLIC", "аеорсухіјѕһԁԛԝӏьАВЕКМНОРСТУХІЈЅԌԚԜӀЬҮүѵѴ", "aeopcyxijshdqwlbabekmhopctyxijsgqwibyyvv"),
        ("GREEK", "ονυραικγτϲϳϱΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿϜ", "ovupaikytcjpabezhikmnoptyxcjf"),
        ("ARMENIAN", "օոսցհզգՕՍԼՏ", "onughqqouls"),
        ("COPTIC", "ⲟⲣⲥⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ", "opchikmnopctyx"),
        ("LISU", "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "bpdtgkjczfmnlsrvhwxyaeiou"),
        ("CHEROKEE", "ᎪᎫᎬᎳᎷᎻᏀᏃᏎᏚᏞᏟᏢᏦᏩᏒᎠᎡᎢᎥᎩᎽᏂᏏᏔᏕᏙᏧᏳᏴꭰꭵꮃꮓꮪꮯꮩ", "ajewmhgz4slcpkgrdrtiyyhbwsvdgbdiwzscv"),
    )
}
_AS_LATIN = str.maketrans({char: latin for letters in _LIKE_LATIN.values() for char, latin in letters.items()})
_LATIN_LETTER = re.compile("[a-zA-Z\u00c0-\u024f]")
_LIKE = re.compile(f"[{''.join(map(chr, _AS_LATIN))}]")

# Scripts that are written next to Latin words without a space, by the beginnings of names.
_WITHOUT_SPACES = (
    "CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HANGUL", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN",
    "NEW TAI", "TAI ", "JAVANESE", "BALINESE",
)  # fmt: skip


def without_invisible(text: str) -> str:
    """The text without invisible characters, except those that change how their neighbours look."""
    if text.isascii():
        return text
    return _INVISIBLE.sub(lambda match: match[0] if _has_effect(text, match.start()) else "", text)


def fold(text: str) -> str:
    """A text as search compares it. One of `-'.` may join parts of a word; a space separates words.

    Case, width, accents, strokes, ligatures, invisible characters and the digits of other scripts are folded. Accents
    and points (of Latin, Greek, Cyrillic, Hebrew and Arabic) are removed; other marks are kept as letters.
    """
    folded = text.translate(_FOLDED)
    if folded.isascii():
        return folded
    # Composed again at the end, because the table decomposes Hangul and kana.
    return unicodedata.normalize("NFC", usual(folded))


def accents(text: str) -> str:
    """The accents and points that `fold` removes, each with its place among the letters; empty for most texts."""
    if text.isascii():
        return ""
    marks, place = [], 0
    for char in unicodedata.normalize("NFKD", text):
        place += char.isalnum()
        if unicodedata.category(char)[0] == "M" and _is_accent(char):
            marks.append(f"{place}{char}")
    return "".join(marks)


def script(char: str) -> str:
    """The script of a letter: the first word of its name. Empty for a character that is not a letter."""
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def direction(text: str) -> str | None:
    """`ltr` or `rtl`, by the first letter of a text that has a direction; None if there is none."""
    for char in text:
        if (kind := unicodedata.bidirectional(char)) in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return None


def is_symbol(char: str) -> bool:
    """Whether a character is an emoji or another pictograph."""
    category = unicodedata.category(char)
    is_new = category == "Cn" and _FIRST_EMOJI <= char <= _LAST_EMOJI
    return is_new or (category == "So" and char >= _FIRST_PICTOGRAPH and char != _BLANK)


def in_latin(text: str) -> str:
    """The text with the Latin letter in the place of each letter that looks like one."""
    return text.translate(_AS_LATIN)


def has_lookalikes(text: str) -> bool:
    """Whether a word of the text mixes Latin letters with lookalikes, or consists of lookalikes alone."""
    if text.isascii():
        return False
    if _disguised(text):
        return True
    return any(map(_mixes, re.findall(r"[^\W\d_]+", text))) or any(map(_encloses, re.findall(r"[^\W_]+", text)))


def as_read(text: str) -> str:
    """The text with Latin letters for their lookalikes, in words that mix both or consist of lookalikes alone."""
    if _LIKE.search(text) is None:
        return text
    disguised = _disguised(text)

    def read(match: re.Match[str]) -> str:
        word = match[0]
        if not (disguised or _LATIN_LETTER.search(word)) or not _LIKE.search(word):
            return word
        scripts = {script(char) for char in word if char.isalpha()}
        return in_latin(word) if "LATIN" in scripts or scripts <= disguised else word

    return re.sub(r"[^\W_]+", read, text)


def _disguised(text: str) -> set[str]:
    """The scripts of which the text has nothing but letters that look like Latin ones.

    A text that also has other letters of its script can be recognised as that script.
    """
    letters = {char for char in {*unicodedata.normalize("NFC", text)} if char.isalpha()}
    scripts = {name: {char for char in letters if script(char) == name} for name in _LIKE_LATIN}
    return {name for name, own in scripts.items() if own and own <= _LIKE_LATIN[name].keys()}


def _mixes(word: str) -> bool:
    scripts = {char: script(char) for char in word}
    others = {char for char, name in scripts.items() if char in _LIKE_LATIN.get(name, ())}
    return bool(others) and "LATIN" in scripts.values()


def _encloses(word: str) -> bool:
    """Whether characters of another script stand between Latin letters, as in no language that separates words."""
    return re.search("l+f+l", "".join(map(_origin, word))) is not None


def _origin(char: str) -> str:
    """`l` for a Latin letter, `f` for a letter or digit of a foreign script, and `-` for another character."""
    name = unicodedata.name(char, "")
    if char.isascii() or name.startswith("LATIN"):
        return "l" if char.isalpha() else "-"
    is_own = unicodedata.normalize("NFKC", char) == char and unicodedata.category(char) in {"Ll", "Lu", "Lo", "Nd"}
    return "f" if is_own and not name.startswith(_WITHOUT_SPACES) else "-"


def _has_effect(text: str, at: int) -> bool:
    """Whether the invisible character of the text changes how the text looks."""
    char, before, behind = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return False
    if char in (_NON_JOINER, _JOINER) and _is_virama(before):
        return True
    if char == _NON_JOINER:
        return _is_cursive(before) and _is_cursive(behind)
    if char == _JOINER:
        joins_emoji = _is_pictograph(behind) and (_is_pictograph(before) or before in _PRESENTATION)
        # Before a virama the letter ra of Bengali and of Kannada has two forms.
        return joins_emoji or (before.isalpha() and _is_virama(behind))
    if char in _PRESENTATION:
        return _is_pictograph(before) or before in "0123456789#*©®‼⁉™ℹ"
    if "\u180b" <= char <= "\u180f":
        return script(before) == "MONGOLIAN"
    if "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef":
        return script(before) == "CJK"
    # The tags of a flag, such as that of Scotland; elsewhere tags are invisible text.
    return "\U000e0020" <= char <= "\U000e007f" and _OF_FLAG.search(text, 0, at) is not None


def _is_virama(char: str) -> bool:
    return bool(char) and unicodedata.combining(char) == _VIRAMA


def _is_pictograph(char: str) -> bool:
    if not char or char < _FIRST_PICTOGRAPH:
        return False
    return is_symbol(char) or unicodedata.category(char) in {"Sm", "Sk", "Po", "Pd"}


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
    if char in _SIGNS:
        return _SIGNS[char]
    decomposed = unicodedata.normalize("NFKD", char)
    if decomposed != char:
        # A sign such as ™ becomes a space, so that its letters are not added to the word.
        is_sign = category == "So" and unicodedata.decomposition(char).startswith("<super>")
        return " " if is_sign else "".join(map(_folded, decomposed))
    if category[0] == "M":
        return "" if _is_accent(char) else char
    if _FIRST_IDEOGRAPH <= char <= _LAST_IDEOGRAPH:  # includes those that this version of Python does not know
        return char
    if category[0] not in "LN":
        return _separator(char, category)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    lower = char.casefold()
    return _letter(char) if lower == char else "".join(map(_folded, lower))


def _is_accent(mark: str) -> bool:
    """Whether a mark is an accent or a point: its name begins with COMBINING or its script; marks of kana are not."""
    name = unicodedata.name(mark, "")
    return name.startswith(("COMBINING", "HEBREW", "ARABIC")) and "KATAKANA" not in name


def _separator(char: str, category: str) -> str:
    name = unicodedata.name(char, "")
    if char in ".+#":
        return char
    if _is_apostrophe(name):
        return "'"
    if category == "Pd" and re.search("HYPHEN|MAQAF|EN DASH|FIGURE DASH", name):
        return "-"
    if is_symbol(char):
        # A flag is two of these letters, so they stay together.
        return char if name.startswith("REGIONAL INDICATOR") else f" {char} "
    return " "


def _letter(char: str) -> str:
    """A letter in lower case without its stroke, or as the letters that it joins."""
    if char.isascii():
        return char
    name = unicodedata.name(char, "")
    # Signs of transliterations, such as half rings (Arabic) and primes (Cyrillic), join words like apostrophes.
    if _is_apostrophe(name) or _FIRST_SIGN <= char <= _LAST_SIGN or name == "LATIN SMALL LETTER SALTILLO":
        return "'"
    if name == "ARABIC TATWEEL":
        return ""
    base = _BASE.fullmatch(name)
    if base is None:
        return SAME.get(char, char)
    bare = re.sub("^(?:DOTLESS|OPEN|SCRIPT) | BAR$", "", base[2])
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
