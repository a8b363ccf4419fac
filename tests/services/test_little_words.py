"""Words that carry no meaning of their own: which they are, and that a search is for the others."""

import pytest

from directory.services.catalog import little_words
from tests.support.factories import Api, World
from tests.support.titles import found


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a photo editor for Linux", "photo editor Linux"),
        ("Programm zum Verwalten der Bilder", "Programm Verwalten Bilder"),
        ("l’éditeur de photos, pour moi", "éditeur photos, pour"),
        ("C's", "C's"),
        ("d'un qu'il l'un", ""),
        ("¿un editor de fotos?", "editor fotos?"),
        ("um editor para as fotos", "editor fotos"),
        ("مدير الملفات من", "مدير الملفات"),
        ("写真 の 編集", "写真 編集"),
        ("AND (with) this, and THAT.", ""),
        ("font car die man son war hat todo os c d", "font car die man son war hat todo os c d"),
        ("für fur", "fur"),  # as typed, with the accents
        ("an A++ state-of-the-art what's-it", "A++ state-of-the-art what's-it"),
        ("a to do list, to be", "todo list,"),
        ("A I to draw", "ai draw"),
        ("to do", ""),
        ("", ""),
    ],
)
def test_what_is_left_are_words_with_a_meaning(text: str, kept: str) -> None:
    assert " ".join(little_words.without(text.split())) == kept


def test_each_word_with_a_meaning_elsewhere_is_in_one_of_the_lists() -> None:
    listed = set().union(*(little_words._read(name) for names in little_words._LISTS for name in names))
    assert listed >= little_words._MEANT
    assert not little_words._MEANT & little_words.listed()


def test_a_search_is_for_the_words_that_mean_something_unless_there_are_none(world: World, api: Api) -> None:
    owner = world.user()
    for votes, title in enumerate(["The photo", "Photo editor", "Linux photos", "To do", "Who", "The", "Do it"]):
        world.project(owner, title=title, tagline="?", description="?", votes=votes)
    assert found(api, "a photo") == ["Photo editor", "The photo", "Linux photos"]
    assert found(api, "the photo") == ["The photo", "Photo editor", "Linux photos"]  # the title is the whole search
    assert found(api, "photo for linux") == found(api, "PHOTO AND LINUX") == ["Linux photos"]
    assert found(api, '"the photo"') == found(api, '"the" photo') == ["The photo"]
    assert found(api, "the") == ["The", "The photo"]
    assert found(api, "to do") == ["To do"]
    assert (found(api, "who"), found(api, "the who")) == (["Who"], [])  # there is no other word
