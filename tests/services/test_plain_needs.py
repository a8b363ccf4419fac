"""What people type who need something, over real projects: a project that a person would accept is among the first."""

import json
from pathlib import Path

import pytest
from flask import Flask

from tests.services.test_search_exact import ALL
from tests.support import titles
from tests.support.factories import Api

SOME = Path(__file__).with_name("plain_needs.jsonl")  # of the larger file, what these words find and what is accepted
FIRST = 5  # projects that a person looks at

NEEDS = {
    "photo editor": {"tintii", "rapid-photo-downloader", "photofilmstrip", "rawtherapee", "rawtran"},
    "an image viewer": {"pqiv", "pineapple-pictures", "nsxiv", "timg"},
    "pdf viewer": {"dspdfviewer", "apvlv"},
    "search in a pdf": {"pdfgrep"},
    "todo list": {"topydo"},
    "to do list": {"topydo"},
    "a player for music": {"clementine", "cantata", "sonata"},
    "video editor": {"gopchop", "auto-editor", "melt", "olive-editor"},
    "text editor for the terminal": {"micro", "tilde"},
    "screenshot tool": {"kde-spectacle", "kazam"},
    "e-mail client": {"sylpheed"},
    "the game of chess": {"tagua", "gnome-chess"},
    "puzzle game": {
        "xshisen", "pathogen", "hitori", "pathological", "gnome-mines", "blockattack", "gnome-klotski", "jag",
        "pipewalker", "hex-a-hop", "gemdropx", "ballz",
    },
    "password manager": {"kwalletmanager", "cpm", "qtpass", "pass-extension-tomb", "ylva"},
    "tool for backups": {"mydumper", "zbackup", "dvbackup", "awit-dbackup"},
    "file manager": {"krusader", "lf", "vfu"},
    "terminal emulator": {"fbterm", "kmscon", "elpa-vterm"},
    "spell checker": {"nuspell", "aspell", "hspell-gui", "hspell"},
    "calculator": {"wcalc", "xcas", "kcalc"},
    "address book": {"kaddressbook"},
    "calendar for the terminal": {"khal", "wyrd", "gcalcli"},
    "time tracker": {"ktimetracker"},
    "static site generator": {"jekyll", "docknot"},
    "rss reader": {"newsboat", "quiterss", "rsstail", "feed2exec"},
    "irc client": {"catgirl", "scrollz", "kvirc", "loqui", "tinyirc", "hexchat", "barnowl"},
    "torrent client": {"ctorrent", "transmission", "buildtorrent", "btcheck"},
    "log analyzer": {"fwlogwatch", "calamaris", "analog"},
    "packet sniffer": {"sniffit", "netsniff-ng"},
    "port scanner": {"psad", "fierce"},
    "disk usage": {"gdu"},
    "convert images": {"converseen", "apng2gif", "chafa", "rawtherapee", "jp2a"},
    "a font for japanese": {"fonts-hanazono", "fonts-takao", "fonts-ipamj-mincho", "fonts-sawarabi-gothic"},
    "font with arabic letters": {"fonts-arabeyes", "fonts-sil-lateef"},
    "markdown editor": {"retext"},
    "debugger for go": {"delve"},
    "web browser": {"cog", "chromium-common", "angelfish", "luakit"},
    "version control": {"brz"},
    "ocr for linux": {"lios", "gocr"},
    "guitar tabs": {"tuxguitar", "songwrite"},
    "a clone of tetris": {"bastet", "blockattack", "blocks-of-the-undead"},
}  # fmt: skip


@pytest.mark.parametrize("file", [SOME, pytest.param(ALL, marks=pytest.mark.slow)])
def test_plain_needs_find_what_a_person_would_accept(app: Flask, api: Api, file: Path) -> None:
    if not file.exists():
        pytest.skip("the larger file of real projects is not beside this checkout; the sample is tested")
    titles.imported(app, file)
    lacking = {}
    for need, accepted in NEEDS.items():
        answer = api.get("/api/projects", query_string={"q": need}).json
        shown = [item["title"] for item in (*answer["items"], *answer.get("nearest", ()))][:FIRST]
        if accepted.isdisjoint(shown):
            lacking[need] = shown
    assert len(NEEDS) == 40
    assert lacking == {}


def test_all_that_is_accepted_is_in_the_sample() -> None:
    known = {json.loads(line)["title"] for line in SOME.read_text().splitlines()}
    assert known >= set().union(*NEEDS.values())
