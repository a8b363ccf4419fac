"""Characters: what is invisible, what search folds, and what looks like a letter of another script."""

import unicodedata

import pytest

from directory.services.text.characters import fold, has_lookalikes, script, without_invisible

FOLDED = {
    "Latin": [("Łódź", "lodz"), ("Smørrebrød", "smorrebrod"), ("ISPARTA ısparta İsparta", "isparta isparta isparta"),
              ("ﬁle ŒUVRE æsir Ĳssel", "file oeuvre aesir ijssel"), ("Þórður", "thordur"), ("Đặng ħal Ŧ", "dang hal t"),
              ("Straße", "strasse"), ("Azərbaycan", "azerbaycan"), ("Ɔkɛ", "oke"), ("ＡＢＣ１２", "abc12"),
              ("Ʉnit", "unit"),
              ("ɡoogle ɑlpha", "google alpha"), ("ɢɪᴛ ʜᴜʙ", "git hub"), ("Il·lustració", "il'lustracio"),
              ("Qurʾān ʿAlī Gogolʹ Ḫaʽlab", "qur'an 'ali gogol' ha'lab"), ("Kꞌicheꞌ", "k'iche'")],
    "Greek": [("Ελλάδα", "ελλαδα"), ("Οδυσσεύς ΟΔΥΣΣΕΎΣ", "οδυσσευσ οδυσσευσ"), ("ᾳ", "α")],
    "Cyrillic": [("Ёлка", "елка"), ("Қазақ", "казак"), ("Київ", "киів"), ("Ѝ", "и")],
    "Hebrew": [("שָׁלוֹם", "שלום"), ("צה״ל", "צה'ל"),
               ("בית־ספר", "בית-ספר"),
             ("ייִדיש ײדיש ױ װ", "יידיש יידיש וי וו")],
    "Arabic": [("مُحَمَّد", "محمد"), ("می‌خواهم", "ميخواهم"), ("کتابی", "كتابي"), ("مــدرســة", "مدرسه"), ("زکوٰۃ", "زكوه"),
               ("أإآٱٲا", "اااااا"), ("۱۲٣", "123")],
    "Devanagari": [("मीरा", "मीरा"), ("क़लम", "क़लम"), ("१२", "12"), ("अाम", "आम"), ("ए\u0947", "ऐ")],
    "Bengali": [("বাংলা", "বাংলা"), ("অ\u09beম", "আম"), ("সৎ", "সত্"), ("সত্\u200d", "সত্")],
    "Malayalam": [("അവൻ", "അവന്"), ("അവന്\u200d", "അവന്"), ("ൺർൽൾൿ", "ണ്ര്ല്ള്ക്"), ("പൌരൻ", "പൗരന്")],
    "Tamil": [("தமிழ்", "தமிழ்"), ("ஸ்ரீ ஶ்ரீ", "ஶ்ரீ ஶ்ரீ")],
    "Gurmukhi": [("ੳ\u0a41", "ਉ")],
    "Gujarati": [("અ\u0abe\u0ac7", "ઓ")],
    "Kannada": [("ಉ\u0cbe", "ಊ")],
    "Sinhala": [("අ\u0dcf", "ආ")],
    "Tibetan": [("ཀ\u0f7a\u0f7a", "ཀ\u0f7b")],
    "Thai": [("ภาษาไทย", "ภาษาไทย"), ("ที่๑", "ที่1"),
             ("น้ำ", "น\u0e4d\u0e49า"), ("น\u0e4d\u0e49า", "น\u0e4d\u0e49า"), ("น\u0e49\u0e4dา", "น\u0e4d\u0e49า"),
             ("เเม่", "แม่"), ("ท\u0e48\u0e35", "ท\u0e35\u0e48")],
    "Lao": [("ພາສາ", "ພາສາ"), ("ນ້ຳ", "ນ\u0ecd\u0ec9າ"), ("ນ\u0ecd\u0ec9າ", "ນ\u0ecd\u0ec9າ"),
            ("ເເມ", "ແມ")],
    "Khmer": [("ភាសាខ្មែរ", "ភាសាខ្មែរ"), ("ក្\u178a", "ក្\u178f"), ("ក\u17c1\u17b6", "កោ"), ("ឣ", "អ")],
    "Myanmar": [("မြန်မာ", "မြန်မာ"), ("က\u1036\u102f", "က\u102f\u1036"), ("သြဂုတ်", "ဩဂုတ်")],
    "Han": [("京東", "京東"), ("⼈", "人"), ("\U000323af", "\U000323af")],
    "Kana": [("ｶﾞﾗｽ", "ガラス"), ("カラス", "カラス"), ("ぱ", "ぱ"), ("か゚", "か゚"), ("か゛", "が")],
    "Hangul": [("프로젝트", "프로젝트"), (unicodedata.normalize("NFD", "프로"), "프로")],
    "Georgian": [("საქართველო", "საქართველო"), ("ᲡᲐ", "სა")],
    "Armenian": [("ԵՐԵՎԱՆ", "երեվան"), ("Հայ՚", "հայ'"), ("Ի՞նչ Այո՛", "ինչ այո")],
    "Ethiopic": [("አማርኛ", "አማርኛ")],
    "Cherokee": [("ꮳꮃꭹ", "ᏣᎳᎩ")],
    "signs": [("🚀", " 🚀 "), ("👩🏽‍💻", " 👩  💻 "), ("🇩🇪", "🇩🇪"), ("Java™ Foo®", "java  foo "), ("a\u2800b", "a b"),
              ("a\U0001fac8b", "a \U0001fac8 b"), ("F♯", "f#"),
              ("Don’t ʻOkina", "don't 'okina"), ("e‐mail e‑mail", "e-mail e-mail"),
              ("Wi–Fi wi\u2212fi", "wi-fi wi-fi"), ("Don´t don′t", "don't don't"),
              ("a_b\u00a0c\td", "a b c d"),
              ("so\u00adft zero\u200bwidth word\u2060joiner", "soft zerowidth wordjoiner"), ("5\u20e3", "5")],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [pair for pairs in FOLDED.values() for pair in pairs])
def test_accents_points_and_strokes_are_folded_and_marks_that_are_letters_stay(text: str, expected: str) -> None:
    assert fold(text) == unicodedata.normalize("NFC", expected)
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text)) == fold(text)


def test_every_character_is_folded_and_folding_twice_is_folding_once() -> None:
    for number in range(0x30000):
        if not 0xD800 <= number < 0xE000:
            once = fold(chr(number))
            assert fold(once).split() == once.split(), hex(number)


def test_no_letter_of_one_script_is_folded_to_one_of_another() -> None:
    for number in range(0x2E80):
        char = chr(number)
        for folded in fold(char):
            scripts = {script(char), script(folded)} - {"", "ROMAN"}
            if unicodedata.normalize("NFKD", char) == char and unicodedata.category(char) in {"Ll", "Lu", "Lo"}:
                assert len(scripts) < 2 or folded.isascii(), (hex(number), folded)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("Goo\u00adgle", "Google"), ("Goo\u200bgle", "Google"), ("Goo\u2060gle", "Google"), ("\ufeffGoogle", "Google"),
        ("Goo\u200cgle", "Google"), ("Goo\u200dgle", "Google"), ("Goo\u034fgle\ufe0f", "Google"),
        ("a\u3164b\u200e", "ab"),
        ("\u200c\u200d", ""), ("a\U000e0041", "a"), ("a\u180bb", "ab"), ("a\U000e0100", "a"),
        ("a\U000e0068\U000e0069\U000e007fb", "ab"), ("🚀\U000e0068\U000e0069", "🚀"), ("a\u200d🚀", "a🚀"),
        # They change what is seen.
        ("می\u200cخواهم", "می\u200cخواهم"), ("क्\u200dष", "क्\u200dष"), ("क्\u200cष", "क्\u200cष"),
        ("র\u200d্যাম", "র\u200d্যাম"), ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"), ("👩🏽\u200d💻", "👩🏽\u200d💻"),
        ("👩\u200d💻", "👩\u200d💻"), ("❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"), ("ᠠ\u180b", "ᠠ\u180b"),
        ("葛\U000e0100", "葛\U000e0100"), ("葛\ufe00", "葛\ufe00"), ("a\ufe00", "a"),
        ("\U0001fac8\u200d🔥\ufe0f", "\U0001fac8\u200d🔥\ufe0f"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴\U000e0067\U000e0062\U000e007f"),
    ],
)  # fmt: skip
def test_invisible_characters_are_removed_unless_they_change_what_is_seen(text: str, expected: str) -> None:
    assert without_invisible(text) == expected


@pytest.mark.parametrize(
    ("title", "marked"),
    [
        ("Google", False), ("Gооgle", True), ("Ροlars", True), ("аррӏе", True), ("Mozilla Firеfox", True),
        ("Хор", True), ("Хор и лес", False), ("Яндекс Maps", False), ("μTorrent", False), ("ガラスLab 東京", False),
        ("Ελληνικά Linux", False), ("Գիրք", False), ("Café", False), ("1, 2!", False), ("ᎪᎳ", True),
        ("ꓖꓳꓳꓖꓡꓰ", True), ("Vuеѵ", True), ("ꮯhrome", True), ("Ꮤeb", True), ("ϲode", True), ("Ϳava", True),
        ("Տlack", True), ("Gⲟⲟgle", True), ("ᏣᎳᎩ", False), ("Ⲙⲛⲧⲣⲙⲛⲕⲏⲙⲉ", False),
        # Any other script between Latin letters, and its digits.
        ("Gഠഠgle", True), ("gⵔⵔgle", True), ("g००gle", True), ("Gססgle", True), ("g߀߀gle", True), ("pᴏlаrs", True),
        ("Hawaiʻi", False), ("g１２gle", False), ("1ᵃr", False), ("LinuxのGPU", False), ("PythonกับRust", False),
        ("Git과GitHub", False), ("Web२", False), ("H₂O", False), ("5µm", False),
    ],
)  # fmt: skip
def test_letters_that_look_like_latin_ones_are_marked(title: str, marked: bool) -> None:
    assert has_lookalikes(title) is marked
