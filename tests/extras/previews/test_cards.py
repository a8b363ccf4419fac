"""Cards: the pictures of projects in previews of links, what they show, and what they cost."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from threading import Event
from unittest.mock import Mock

import pytest
from PIL import Image, ImageChops, ImageFont

from directory.errors import Unavailable
from directory.extras.previews import cards
from directory.services.pictures import pictures
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


def looks_like(one, other):
    return ImageChops.difference(one, other).getbbox() is None


@pytest.mark.parametrize(("text", "drawn"), [
    ("Lamp 🦊", "Lamp"), ("Desk → lamp", "Desk lamp"), ("水 Lamp", "Lamp"), ("مصباح Lamp 3000", "Lamp 3000"),
    ("Lampe\u202f: «\u00a0Nuit\u2009»", "Lampe : « Nuit »"), ("Wide\u3000space", "Wide space"), ("Größe №", "Größe №"),
    ("水と火 a", ""), ("مشروع", ""), ("🦊", ""), ("🦊🦊🦊 Go", ""), ("", ""),
])  # fmt: skip
def test_letters_that_the_fonts_lack_are_left_out_of_a_text_and_spaces_are_spaces(text, drawn):
    assert cards.drawable(text) == drawn
    assert looks_like(shown(title=text, tagline=text), shown(title=drawn, tagline=drawn if drawn else "水"))


def test_a_title_of_which_less_than_half_is_left_is_a_card_of_monogram_and_site_alone():
    alone = shown(title="ランプ L", tagline="Lights a desk", letters="L")
    assert looks_like(alone, shown(title="Project Directory", tagline="", site="", letters="L"))
    assert shown(title="水", site="水", letters="水").size == (1200, 630)


def test_the_fonts_have_every_letter_of_the_pattern_and_others_are_not_in_it():
    for weight in ("Bold", "Regular"):
        font = ImageFont.truetype(str(cards.FONTS / f"NotoSans-{weight}.ttf"), 20)
        missing = bytes(font.getmask("\U0010fff0"))
        letters = [each for each in map(chr, range(0x2200)) if not cards.OTHERS.match(each)]
        assert len(letters) > 1_000
        unseen = [each for each in letters if bytes(font.getmask(each)) == missing]
        assert unseen == [" ", "\xa0", "\xad"]  # what is missing shows nothing, and nor do spaces
    texts = ("Ωμέγα", "Проект", "Đường", "Größe – “x” €", "C++ & C#")
    assert [cards.drawable(each) for each in texts] == [*texts]


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
    taken = Mock()
    taken.turn.side_effect = lambda refusal: nullcontext(cards._keep(PLAIN.name, b"drawn"))
    monkeypatch.setattr(cards, "_turns", taken)
    monkeypatch.setattr(cards, "_draw", None)
    assert cards.drawn(PLAIN) == b"drawn"


def test_while_a_card_is_drawn_one_other_waits_and_all_more_are_refused_at_once(monkeypatch):
    drawn, may_end = [], Event()
    monkeypatch.setattr(pictures, "TURN_SECONDS", 3600)
    monkeypatch.setattr(
        cards, "_draw", lambda card: may_end.wait(60) and (drawn.append(card) or Image.new("L", (4, 4)))
    )
    with ThreadPoolExecutor(48) as pool:
        asked = [pool.submit(cards.drawn, replace(PLAIN, title=str(number))) for number in range(48)]
        refused = [each for _, each in zip(range(46), as_completed(asked, 60), strict=False)]
        assert {type(each.exception()) for each in refused} == {Unavailable}
        assert not drawn
        may_end.set()
    assert len(drawn) == len([each for each in asked if each not in refused and each.result()]) == 2


def test_one_that_waits_for_the_same_card_does_not_draw_it_again_and_a_kept_one_waits_for_none(monkeypatch):
    drawn = []
    monkeypatch.setattr(cards, "_draw", lambda card: drawn.append(card) or Image.new("RGB", (4, 4)))
    with ThreadPoolExecutor(1) as pool:
        with cards._turns.turn(""):
            waiting = pool.submit(cards.drawn, PLAIN)
        assert waiting.result(60) == cards.drawn(PLAIN)
    assert len(drawn) == 1
    monkeypatch.setattr(pictures, "TURN_SECONDS", 0.01)
    with cards._turns.turn(""):
        assert cards.drawn(PLAIN)  # it is kept
        with pytest.raises(Unavailable):
            cards.drawn(replace(PLAIN, title="Another"))
