"""Files of translations: what they say, which of two counts, and what cannot be used."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from directory.language import locales, po
from directory.language.messages import _, ngettext

HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Plural-Forms: {}\\n"\n\n'
GERMAN = HEAD.format("nplurals=2; plural=(n != 1);")


def entry(message: str, *forms: str, many: str = "", before: str = "") -> str:
    """An entry of a file."""
    said = [f'msgstr "{forms[0]}"'] if not many else [f'msgstr[{i}] "{form}"' for i, form in enumerate(forms)]
    return "\n".join(filter(None, [before, f'msgid "{message}"', many and f'msgid_plural "{many}"', *said])) + "\n\n"


def written(folder: Path, *texts: str) -> list[Path]:
    """Files with these texts."""
    paths = [folder / f"{number}.po" for number, _text in enumerate(texts)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_the_later_file_counts_and_guesses_do_not(tmp_path: Path) -> None:
    ours = entry("Yes", "Ja") + entry("No", "Nein") + entry("Maybe", "Vielleicht", before="#, fuzzy")
    votes = entry("{number} vote", "Eine Stimme", "{number} Stimmen", many="{number} votes")
    theirs = entry("No", "Nee") + entry("tools", "Werkzeuge", before='msgctxt "category"') + entry("Later", "")
    german = po.catalogue("de", written(tmp_path, GERMAN + ours + votes, theirs))
    said = [german.say(text) for text in (_("Yes"), _("No"), _("Maybe"), _("Later"), _("tools"))]
    assert said == ["Ja", "Nee", "Maybe", "Later", "tools"]
    assert german.text("tools", "category") == "Werkzeuge"
    counted = [german.say(ngettext("{number} vote", "{number} votes", number)) for number in (0, 1, 2)]
    assert counted == ["0 Stimmen", "Eine Stimme", "2 Stimmen"]
    assert german.locale.day(date(2026, 3, 4)) == "04.03.2026"


def test_english_words_can_be_replaced(tmp_path: Path) -> None:
    votes = entry("{number} project", "{number} tool", "{number} tools", many="{number} projects")
    english = po.catalogue("en", written(tmp_path, votes))
    assert [english.say(ngettext("{number} project", "{number} projects", n)) for n in (1, 2)] == ["1 tool", "2 tools"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (GERMAN + entry("By {name}", "Von"), "6: 'Von' has not the placeholders of 'By {name}'"),
        (GERMAN + entry("By {name}", "Von {nam}"), "6: 'Von {nam}' has not the placeholders of 'By {name}'"),
        (
            GERMAN + entry("All of {name}", "Alle", before='msgctxt "tabs"'),
            "6: 'Alle' has not the placeholders of 'All of {name}'",
        ),
        (GERMAN + entry("{number} vote", "{number}", many="{number} votes"), "6: '{number} vote' has not the plural"),
        (entry("{number} vote", "a", "b", "c", many="{number} votes"), "1: '{number} vote' has not the plural"),
        (HEAD.format("nplurals=2; plural=n;"), "4: 'nplurals=2; plural=n;' is not a plural rule"),
        (HEAD.format("nplurals=2; plural=n/0;"), "4: 'nplurals=2; plural=n/0;' is not a plural rule"),
        (HEAD.format("nplurals=2; plural=import os;"), "4: 'nplurals=2; plural=import os;' is not a plural rule"),
        (HEAD.format("two"), "4: 'two' is not a plural rule"),
        (GERMAN + "msgid Yes\n", "6: is not a line of a .po file"),
        (GERMAN + entry("Yes", "Ja")[:-3], "7: is not a line of a .po file"),
        (GERMAN + 'msgid "Yes"\nmsgid "No"\n', "7: is not a line of a .po file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    [path] = written(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(f"{path}:{fault}")):
        po.catalogue("de", [path])


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    (binary := tmp_path / "a.po").write_bytes(b"msgid \xff")
    for path, fault in ((binary, "is not UTF-8 at byte 6"), (tmp_path, "cannot be read: Is a directory")):
        with pytest.raises(ValueError, match=re.escape(f"{path}: {fault}")):
            po.catalogue("de", [path])


def test_two_files_of_a_language_have_one_number_of_plural_forms(tmp_path: Path) -> None:
    one = entry("{number} vote", "{number}", many="{number} votes")
    paths = written(tmp_path, GERMAN, HEAD.format("nplurals=1; plural=0;") + one)
    with pytest.raises(ValueError, match=r"1\.po:6: '{number} vote' has not the plural forms of the language"):
        po.catalogue("de", paths)


@pytest.mark.parametrize("tag", sorted(path.name for path in po.OURS.iterdir() if path.is_dir()))
def test_our_translations_can_be_used(tag: str) -> None:
    ours = po.catalogue(tag, po.our_files(tag))
    assert ours.locale.name != tag
    assert ours.locale.direction == ("rtl" if tag == "ar" else "ltr")
    # The name of a button has the number that it shows: who speaks to the browser says what is there to read.
    for votes in (1, 2, 3, 11, 100, 1_000_000):
        name = ngettext("Upvote {title}, {number} vote", "Upvote {title}, {number} votes", votes, title="Lamp")
        assert str(votes) in ours.say(name)


@pytest.mark.parametrize(
    ("tag", "day", "numbers"),
    [
        ("en", "Mar 4, 2026", "1,234 1,234,567 -12,345"), ("de", "04.03.2026", "1.234 1.234.567 -12.345"),
        ("es", "4 mar 2026", "1234 1.234.567 -12.345"), ("ja", "2026/03/04", "1,234 1,234,567 -12,345"),
        ("pt-BR", "4 de mar. de 2026", "1.234 1.234.567 -12.345"), ("hi", "4 मार्च 2026", "1,234 12,34,567 -12,345"),
        ("fr-BE", "4 mars 2026", "1\u202f234 1\u202f234\u202f567 -12\u202f345"),
        ("tlh", "Mar 4, 2026", "1,234 1,234,567 -12,345"),
    ],
)  # fmt: skip
def test_days_and_numbers_are_written_as_the_language_does(tag: str, day: str, numbers: str) -> None:
    locale = locales.locale_of(tag)
    assert (locale.day(date(2026, 3, 4)), *map(locale.number, (0, 999))) == (day, "0", "999")
    assert " ".join(map(locale.number, (1234, 1234567, -12345))) == numbers


def test_plain_english_imports_no_reader_of_catalogues() -> None:
    code = "import sys, directory; sys.exit('polib' in sys.modules or 'babel' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ("fr", ["0 projet", "1 projet", "2 projets", "1000000 de projets", "1000001 projets"]),
        ("es", ["0 proyectos", "1 proyecto", "2 proyectos", "1000000 de proyectos", "1000001 proyectos"]),
        ("pt-BR", ["0 projeto", "1 projeto", "2 projetos", "1000000 de projetos", "1000001 projetos"]),
        (
            "ja",
            [
                "0件のプロジェクト",
                "1件のプロジェクト",
                "2件のプロジェクト",
                "1000000件のプロジェクト",
                "1000001件のプロジェクト",
            ],
        ),
    ],
)
def test_a_million_has_a_form_of_its_own_where_the_language_has_one(tag: str, texts: list[str]) -> None:
    ours = po.catalogue(tag, po.our_files(tag))
    numbers = (0, 1, 2, 1_000_000, 1_000_001)
    assert [ours.say(ngettext("{number} project", "{number} projects", number)) for number in numbers] == texts
