"""Cards: the pictures of projects in previews of links, what they show, and what they cost."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from unittest.mock import Mock

import pytest
from PIL import Image, ImageChops, ImageFont

from directory.errors import Unavailable
from directory.services.pictures import cards, pictures
from tests.services.test_pictures import noise
from tests.support import cpu
from tests.support.pictures import picture

PLAIN = cards.Card("Lamp", "Lights a desk", "LM", None, None, "Project Directory")


@pytest.fixture(autouse=True)
def none_kept(monkeypatch):
    monkeypatch.setattr(cards, "_cards", OrderedDict())


@pytest.fixture
def stored(monkeypatch):
    """The pictures that the cards here have, by name."""
    made = {
        "logo": pictures.as_logo(picture((300, 300), "blue"))[1],
        "wide": pictures.as_picture(picture((1600, 900), "red")).files[0],
        "noise": pictures.as_picture(noise((1_020, 1_020), "RGBA", "PNG")).files[0],
    }
    monkeypatch.setattr(cards.logos, "picture", made.__getitem__)
    return made


def shown(**changes):
    return Image.open(BytesIO(cards.drawn(replace(PLAIN, **changes)))).convert("RGB")


def near(pixel, colour):
    return all(abs(a - b) < 24 for a, b in zip(pixel, colour, strict=True))


def test_a_card_shows_logo_picture_texts_and_accent(stored):
    plain, full = shown(), shown(logo="logo", picture="wide", accent="#ff0000")
    assert plain.size == full.size == (1200, 630)
    assert near(plain.getpixel((5, 300)), (11, 107, 98))
    assert near(full.getpixel((5, 300)), (255, 0, 0))
    assert near(full.getpixel((136, 100)), (0, 0, 255))  # the logo
    assert near(full.getpixel((900, 315)), (255, 0, 0))  # the picture
    assert near(plain.getpixel((900, 315)), (250, 249, 246))


@pytest.mark.parametrize("changes", [{"title": "Lamps"}, {"tagline": "Lights"}, {"site": "Site"}, {"letters": "XY"}])
def test_each_text_is_drawn_and_names_another_card(changes):
    assert ImageChops.difference(shown(), shown(**changes)).getbbox() is not None
    assert replace(PLAIN, **changes).name != PLAIN.name


def test_a_text_of_other_letters_is_left_out_of_a_card():
    assert ImageChops.difference(shown(tagline="水"), shown(tagline="")).getbbox() is None
    assert shown(site="水", letters="水") is not None


def test_the_fonts_have_every_letter_of_the_pattern_and_others_are_not_in_it():
    for weight in ("Bold", "Regular"):
        font = ImageFont.truetype(str(cards.FONTS / f"NotoSans-{weight}.ttf"), 20)
        missing = bytes(font.getmask("\U0010fff0"))
        letters = [each for each in map(chr, range(0x2200)) if cards.has_letters_of(each)]
        assert len(letters) > 1_000
        unseen = [each for each in letters if bytes(font.getmask(each)) == missing]
        assert unseen == [" ", "\xa0", "\xad"]  # what is missing shows nothing, and nor do spaces
    assert all(map(cards.has_letters_of, ("Ωμέγα", "Проект", "Đường", "Größe – “x” €", "C++ & C#")))
    assert not any(map(cards.has_letters_of, ("水", "مشروع", "नमस्ते", "🦊", "a\u0301\u0323水")))


WORST = {
    "one long word": {"title": "W" * 100, "tagline": "W" * 140, "site": "W" * 100},
    "many words": {"title": "W " * 49 + "W", "tagline": "i " * 69 + "i"},
    "narrow letters": {"title": "i" * 100, "tagline": "." * 140},
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_texts_with_the_worst_picture_cost_little_and_stay_in_their_place(stored, name):
    with cpu.at_most(2):
        image = shown(logo="logo", picture="noise", **WORST[name])
    # Nothing is drawn between the texts and the picture, nor at the end.
    assert all(near(image.getpixel((x, y)), (250, 249, 246)) for x in (664, 1190) for y in range(0, 630, 3))
    assert len(cards.drawn(replace(PLAIN, logo="logo", picture="noise", **WORST[name]))) < 400_000


def test_the_latest_cards_are_kept_and_the_oldest_dropped(monkeypatch):
    drawn = []
    monkeypatch.setattr(cards, "_draw", lambda card: drawn.append(card.title) or Image.new("RGB", (4, 4)))
    monkeypatch.setattr(cards, "KEPT", 2)
    for title in ("a", "b", "a", "c", "b", "a"):
        cards.drawn(replace(PLAIN, title=title))
    assert drawn == ["a", "b", "c", "a"]
    monkeypatch.setattr(cards, "KEPT_BYTES", 1)
    cards.drawn(replace(PLAIN, title="d"))
    assert len(cards._cards) == 1


def test_a_card_that_another_drew_meanwhile_is_not_drawn_again(monkeypatch):
    turn = Mock()
    turn.acquire.side_effect = lambda timeout: cards._keep(PLAIN.name, b"drawn") or True
    monkeypatch.setattr(cards, "_one", turn)
    monkeypatch.setattr(cards, "_draw", None)
    assert cards.drawn(PLAIN) == b"drawn"


def test_one_card_is_drawn_at_a_time_and_one_that_waits_for_the_same_does_not_draw_it_again(monkeypatch):
    drawn = []
    monkeypatch.setattr(cards, "_draw", lambda card: drawn.append(card) or Image.new("RGB", (4, 4)))
    with ThreadPoolExecutor(2) as pool:
        with cards._one:
            waiting = [pool.submit(cards.drawn, PLAIN) for _ in range(2)]
        assert len({each.result(60) for each in waiting}) == 1
    assert len(drawn) == 1
    monkeypatch.setattr(cards, "WAIT", 0.01)
    with cards._one:
        assert cards.drawn(PLAIN)  # it is kept
        with pytest.raises(Unavailable):
            cards.drawn(replace(PLAIN, title="Another"))
