"""The rules for text: what is refused, what is changed, what is left alone."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directory.services.text.rules import LOCAL_PART_MAX, PROJECT_SLUG_MAX, SLUG, clean_text, is_email, slugify
from tests.support import cpu


def line(value: str, minimum: int = 1, maximum: int = 100) -> str:
    return clean_text(value, minimum=minimum, maximum=maximum)


def lines(value: str, minimum: int = 0, maximum: int = 100) -> str:
    return clean_text(value, minimum=minimum, maximum=maximum, multiline=True)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("Prove it", "Prove it"),
        ("  Prove it \u00a0\u3000", "Prove it"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("\u212bngstr\u00f6m", "\u00c5ngstr\u00f6m"),
        ("a  b", "a  b"),
        ('<b>"it\'s" & more</b>', '<b>"it\'s" & more</b>'),
        ("\u05d0\u200f!", "\u05d0\u200f!"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        (
            "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        ("\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd", "\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd"),
        ("0", "0"),
        ("\u20ac", "\u20ac"),
        ("\U0001f600", "\U0001f600"),
        ("\ue000", "\ue000"),
    ],
)
def test_a_line_is_stored_trimmed_and_composed(sent, stored):
    assert line(sent) == stored


CONTROLS = [chr(point) for point in (*range(0x20), *range(0x7F, 0xA0))]


@pytest.mark.parametrize("char", [*CONTROLS, "\u2028", "\u2029"], ids=ascii)
@pytest.mark.parametrize("shape", ["a{}b", "{}ab", "ab{}", "{}"])
def test_a_line_holds_no_controls_not_even_at_its_ends(char, shape):
    with pytest.raises(ValueError, match="line breaks or control characters"):
        line(shape.format(char))


@pytest.mark.parametrize("char", [char for char in CONTROLS if char not in "\t\n\r"], ids=ascii)
def test_a_long_text_holds_no_controls_but_line_breaks_and_tabs(char):
    with pytest.raises(ValueError, match="control characters other than"):
        lines(f"a{char}b")


@pytest.mark.parametrize("point", [0xD800, 0xDBFF, 0xDC00, 0xDFFF], ids=hex)
@pytest.mark.parametrize("clean", [line, lines])
def test_half_a_surrogate_pair_is_refused(clean, point):
    with pytest.raises(ValueError, match="surrogate"):
        clean(f"a{chr(point)}b")


@pytest.mark.parametrize("point", [*range(0x202A, 0x202F), *range(0x2066, 0x206A)], ids=hex)
@pytest.mark.parametrize("clean", [line, lines])
def test_bidirectional_overrides_are_refused(clean, point):
    with pytest.raises(ValueError, match="bidirectional"):
        clean(f"a{chr(point)}b")


@pytest.mark.parametrize(
    "point", [0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x1FFFF, 0x8FFFF, 0x10FFFE, 0x10FFFF], ids=hex
)
@pytest.mark.parametrize("clean", [line, lines])
def test_code_points_that_are_no_characters_are_refused(clean, point):
    with pytest.raises(ValueError, match="not characters"):
        clean(f"a{chr(point)}b")


@pytest.mark.parametrize("char", ["\ufdcf", "\ufdf0", "\ufffd", "\U0001fffd", "\U0010fffd"], ids=ascii)
def test_their_neighbours_are_taken(char):
    assert line(f"a{char}b") == f"a{char}b"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("", ""),
        ("   ", "   "),
        ("  a\n\tb  \n", "  a\n\tb  \n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb", "a\nb"),
        ("a\r\r\nb\n\r", "a\n\nb\n\n"),
        ("a\u2028b\u2029", "a\u2028b\u2029"),
        ("**bold** <i>\u0065\u0301</i>", "**bold** <i>\u00e9</i>"),
    ],
)
def test_a_long_text_is_stored_as_given_but_for_line_endings(sent, stored):
    assert lines(sent) == stored


UNSEEN = [
    "\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180e", "\u180f",
    "\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\u2063", "\u2065", "\u206a", "\u2800", "\u3164",
    "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\ufff9", "\u0301", "\U0001d159", "\U000e0001",
    "\U000e0020", "\U000e0100", "\U000e01ef", "\U000e0fff", " ", "\u00a0", "\u2003", "\u3000",
]  # fmt: skip


@pytest.mark.parametrize("char", UNSEEN, ids=ascii)
def test_what_nobody_can_see_is_blank_and_beside_a_letter_is_not(char):
    for clean in (line, lines):
        with pytest.raises(ValueError, match="blank"):
            clean(f" {char}{char} ", minimum=1)
    assert "x" in line(f"{char}x")


def test_all_of_them_together_and_nothing_at_all_are_blank_too():
    for value in ("", "".join(UNSEEN), "\n\t \n"):
        with pytest.raises(ValueError, match="blank"):
            lines(value, minimum=1)
    with pytest.raises(ValueError, match="blank"):
        line("")


def test_where_nothing_is_asked_for_blank_is_fine():
    assert line("  ", minimum=0) == ""
    assert lines("\u200b") == "\u200b"


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("ab", False),
        ("abc", True),
        ("abcde", True),
        ("abcdef", False),
        ("  abcde  ", True),
        ("  ab  ", False),
        ("e\u0301" * 5, True),
        ("e\u0301" * 6, False),
        ("\u1f82" * 5, True),
        (unicodedata.normalize("NFD", "\u1f82") * 5, True),
        ("\U0001f600" * 5, True),
        ("\U0001f600" * 6, False),
        ("\ufb2c\ufb2c", False),
        ("a" * 1_000_000, False),
    ],
)
def test_length_counts_code_points_as_stored(value, fits):
    if fits:
        assert 3 <= len(line(value, 3, 5)) <= 5
    else:
        with pytest.raises(ValueError, match="Must be 3 to 5 characters long"):
            line(value, 3, 5)


def test_line_endings_count_once():
    assert lines("\r\n" * 5, maximum=5) == "\n" * 5
    with pytest.raises(ValueError, match="Must be at most 5 characters long"):
        lines("\r\n" * 6, maximum=5)


def test_thirty_marks_in_a_row_are_taken_and_no_more():
    assert lines("x" + "\u0327" * 30) == "x" + "\u0327" * 30
    with pytest.raises(ValueError, match="combining marks"):
        lines("x" + "\u0327" * 31)


def test_marks_that_composition_takes_apart_count_as_stored():
    with pytest.raises(ValueError, match="combining marks"):
        lines("x" + "\u0344" * 16)


def test_marks_in_an_order_that_is_dear_to_sort_cost_nothing():
    with cpu.at_most(0.2), pytest.raises(ValueError, match="combining marks"):
        lines("a" + "\u0315\u0300" * 16_000, maximum=10_000)


@settings(deadline=None)
@given(st.text(st.characters()), st.booleans())
def test_what_is_stored_passes_unchanged_when_it_is_sent_back(value, multiline):
    try:
        stored = clean_text(value, minimum=0, maximum=200, multiline=multiline)
    except ValueError:
        return
    assert clean_text(stored, minimum=0, maximum=200, multiline=multiline) == stored
    assert unicodedata.is_normalized("NFC", stored)
    stored.encode("utf-8")


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Plausible", "plausible"),
        ("  Hello, World!  ", "hello-world"),
        ("Hello\u2014World", "hello-world"),
        ("Cr\u00e8me Br\u00fbl\u00e9e", "creme-brulee"),
        ("Stra\u00dfe", "strasse"),
        ("B\u0142\u0105d \u00d8l \u00c6on \u0152uvre \u00deorn \u0110", "blad-ol-aeon-oeuvre-thorn-d"),
        ("\uff26\uff35\uff2c\uff2c \u2460", "full-1"),
        ("\u6771\u4eac Go", "go"),
        ("\u6771\u4eac", "project"),
        ("!!!", "project"),
        ("", "project"),
        ("C++ / C#", "c-c"),
        ("a--b__c", "a-b-c"),
        ("x" * 100, "x" * 80),
        ("x" * 79 + " yy", "x" * 79),
        ("\u0130stanbul", "istanbul"),
    ],
)
def test_a_title_becomes_a_slug(title, slug):
    assert slugify(title) == slug


@settings(deadline=None)
@given(st.text(st.characters()))
def test_every_title_becomes_a_valid_slug(title):
    slug = slugify(title)
    assert SLUG.fullmatch(slug)
    assert len(slug) <= PROJECT_SLUG_MAX
    assert slugify(slug) == slug


@pytest.mark.parametrize("slug", ["a", "7", "dev-tools", "a-b-c", "x1"])
def test_slugs_are_lower_case_words_joined_by_single_hyphens(slug):
    assert SLUG.fullmatch(slug)


@pytest.mark.parametrize("slug", ["", "-", "-a", "a-", "a--b", "A", "a b", "a_b", "\u00e9", "a\n", "\u0661"])
def test_nothing_else_is_a_slug(slug):
    assert not SLUG.fullmatch(slug)


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("ada@example.org", True),
        (f"{'a' * LOCAL_PART_MAX}@example.org", True),
        (f"{'a' * (LOCAL_PART_MAX + 1)}@example.org", False),
        (f"ada@{'example.' * 32}org", False),
        ("\u212aate@example.org", False),
        ("ada@example", False),
        ("ada", False),
    ],
)
def test_what_is_an_address_and_what_is_none(address, is_one):
    assert is_email(address) is is_one
