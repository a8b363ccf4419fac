"""Search in many scripts, and for words that are spelled in several ways, on both databases."""

from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import text

from directory.db import rewriting
from directory.extensions import db
from directory.services.catalog import suggestions
from directory.services.catalog.filters import Filters
from directory.services.data import recount
from tests.conftest import Database
from tests.support.factories import Api, World


def titles(api: Api, query: str) -> list[str]:
    """The titles that a query finds, best match first."""
    answer = api.get("/api/projects", query_string={"q": query})
    assert answer.status_code == 200, answer.json
    return [item["title"] for item in answer.json["items"]]


# Of each script two titles, the query, and which of them it finds.
SCRIPTS = {
    "kana, voice marks": (["ガラス図鑑", "カラス図鑑"], "ガラス図鑑", ["ガラス図鑑"]),
    "kana, half width": (["ガラス図鑑", "カラス図鑑"], "ｶﾞﾗｽ", ["ガラス図鑑"]),
    "Han, neighbours": (["東京タワー", "京東商城"], "京東", ["京東商城"]),
    "Han, three neighbours": (["東京と京都", "東京都庁"], "東京都", ["東京都庁"]),
    "Han, one": (["管理ツール", "道具"], "管", ["管理ツール"]),
    "Devanagari": (["मीरा", "मेरा भारत"], "मीरा", ["मीरा"]),
    "Bengali": (["বাংলা", "বেলা"], "বাংলা", ["বাংলা"]),
    "Malayalam": (["അവൻ", "അവ"], "അവന്\u200d", ["അവൻ"]),
    "Tamil": (["தமிழ் நூல்", "தாமரை"], "தமிழ்", ["தமிழ் நூல்"]),
    "Thai": (["ระบบจัดการภาษาไทย", "ระบบบัญชี"], "ภาษาไทย", ["ระบบจัดการภาษาไทย"]),
    "Lao": (["ພາສາລາວງ່າຍ", "ພາສີ"], "ລາວ", ["ພາສາລາວງ່າຍ"]),
    "Thai, am in two parts": (["น้ำแข็ง", "นาข้าว"], "น\u0e4d\u0e49าแข็ง", ["น้ำแข็ง"]),
    "Khmer": (["វចនានុក្រមខ្មែរ", "វចនានុក្រម"], "ខ្មែរ", ["វចនានុក្រមខ្មែរ"]),
    "Khmer, stacked letters stay": (["ខ្មែរ", "ខមរ"], "ម", ["ខមរ"]),
    "Myanmar": (["မြန်မာစာအုပ်", "စကား"], "စာအုပ်", ["မြန်မာစာအုပ်"]),
    "Latin, strokes": (["Łódź Guide", "Lozd"], "lodz", ["Łódź Guide"]),
    "Latin, both ways": (["Smorrebrod", "Smet"], "smørrebrød", ["Smorrebrod"]),
    "Latin, dotless": (["Isparta", "Asparta"], "ısparta", ["Isparta"]),
    "Greek": (["Ελλάδα", "Ελιά"], "ΕΛΛΑΔΑ", ["Ελλάδα"]),
    "Cyrillic": (["Ёлка", "Полка"], "елка", ["Ёлка"]),
    "Hebrew": (["שָׁלוֹם", "שלג"], "שלום", ["שָׁלוֹם"]),
    "Arabic, ZWNJ and yeh": (["می‌خواهم", "کتاب"], "ميخواهم", ["می‌خواهم"]),
    "Arabic, alef wasla": (["ٱلرحمن", "الكتاب"], "الرحمن", ["ٱلرحمن"]),
    "Yiddish": (["ײדישקײט", "דיש"], "יידישקייט", ["ײדישקײט"]),
    "Arabic, kaf": (["کتاب", "باب"], "كتاب", ["کتاب"]),
    "Hangul": (["프로젝트", "브로"], "프로", ["프로젝트"]),
    "Georgian": (["საქართველო", "სახლი"], "ᲡᲐᲥᲐᲠ", ["საქართველო"]),
    "Armenian": (["Երևան քաղաք", "Գյումրի"], "ԵՐԵՒԱՆ", ["Երևան քաղաք"]),
    "Ethiopic": (["አማርኛ መዝገበ", "ትግርኛ"], "አማርኛ", ["አማርኛ መዝገበ"]),
    "emoji": (["🚀 Launcher", "🛒 Shop"], "🚀", ["🚀 Launcher"]),
    "emoji, skin colour": (["👍🏽 Votes", "👎 Votes"], "👍", ["👍🏽 Votes"]),
    "emoji that Python does not know": (["\U0001fac8 Votes", "\U0001fac9 Votes"], "\U0001fac8", ["\U0001fac8 Votes"]),
    "flags": (["Atlas 🇩🇪", "Atlas 🇫🇷"], "🇩🇪", ["Atlas 🇩🇪"]),
    "soft hyphen": (["Goo\u00adgle", "Goo"], "google", ["Goo\u00adgle"]),
    "zero-width space in the query": (["Google", "Goo"], "goo\u200bgle", ["Google"]),
    "apostrophe": (["Don't Panic", "Donut"], "dont panic", ["Don't Panic"]),
    "typographic apostrophe": (["O’Reilly Books", "Really"], "oreilly", ["O’Reilly Books"]),
    "transliteration": (["Qurʾān Reader", "Quiet"], "quran", ["Qurʾān Reader"]),
    "apostrophe in the query": (["OReilly", "Really"], "o'reilly", ["OReilly"]),
    "split in the query": (["SquidGuard", "Squid"], "squid guard", ["SquidGuard"]),
    "split, typed so far": (["LibreOffice", "Libre"], "libre offi", ["LibreOffice"]),
    "joined in the query": (["Web Server", "Web Client"], "webserver", ["Web Server"]),
    "three joined in the query": (["Open Street Map", "Open Map"], "openstreetmap", ["Open Street Map"]),
    "three split in the query": (["OpenStreetMap", "OpenMap"], "open street map", ["OpenStreetMap"]),
    "hyphens are optional": (["Wi-Fi Analyser", "Wire"], "wifi", ["Wi-Fi Analyser"]),
    "a singular is a whole word": (["Node.js Kit", "node-jison-lex"], "nodejs", ["Node.js Kit"]),
    "Armenian, a mark within a word": (["Ի՞նչ է սա", "Ի սա"], "ինչ", ["Ի՞նչ է սա"]),
    "Devanagari, a vowel in two parts": (["आम", "काम"], "अ\u093eम", ["आम"]),
    "Khmer, equal subscripts": (["ក\u17d2\u178a", "កខ"], "ក\u17d2\u178f", ["ក\u17d2\u178a"]),
    "Latin, small capitals": (["ɢɪᴛ Guide", "Gut Guide"], "git", ["ɢɪᴛ Guide"]),
    "Hebrew, maqaf": (["בית־ספר", "ספרים"], "ביתספר", ["בית־ספר"]),
    "acute for an apostrophe": (["Don´t Panic", "Donut"], "don't", ["Don´t Panic"]),
    "Catalan, the dot of two l": (["Il·lustració", "Il"], "illustracio", ["Il·lustració"]),
    "kana, a dot within a word": (
        ["入門オープン・ソース開発", "オープン・カフェ"],
        "オープンソース",
        ["入門オープン・ソース開発"],
    ),
    "Han, a dot between words": (["東京・大阪", "京大"], "京大", ["京大"]),
    "kana, spaces are optional": (["東京 タワー", "東京 城"], "東京タワー", ["東京 タワー"]),
}


@pytest.mark.parametrize(("made", "query", "expected"), SCRIPTS.values(), ids=list(SCRIPTS))
def test_a_word_is_found_in_its_script(
    world: World, api: Api, made: list[str], query: str, expected: list[str]
) -> None:
    owner = world.user()
    for title in made:
        world.project(owner, title=title, tagline="?")
    assert titles(api, query) == expected


def test_exact_spellings_come_before_joined_and_split_ones(world: World, api: Api) -> None:
    world.project(title="Web Server", votes=3)
    world.project(title="Webserver")
    assert titles(api, "webserver") == ["Webserver", "Web Server"]
    assert titles(api, "web server") == ["Web Server", "Webserver"]
    world.project(title="Squid Guard")
    world.project(title="SquidGuard", votes=3)
    assert titles(api, "squid guard") == ["Squid Guard", "SquidGuard"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("git-scm.com", {"Git"}), ("www.git-scm.com", {"Git"}), ("https://git-scm.com/downloads?x=1", {"Git"}),
        ("python.org", {"Docs", "Mentioned"}), ("docs.python.org", {"Docs"}), ("scm.com", set()),
        ("bücher.example", {"Books"}), ("xn--bcher-kva.example", {"Books"}), ("XN--a.example", set()),
        ("git-scm.com:443", {"Git"}), ("git-scm.com:443/downloads", {"Git"}), ("ftp://git-scm.com", {"Git"}),
        ("<https://git-scm.com>", {"Git"}), ("xn--bcher-kva.example:8080", {"Books"}),
        ("Books xn--bcher-kva.example", {"Books"}),
        ("https://xn--bcher-kva.example:443/x", {"Books"}), ("http://me@docs.python.org:8080", {"Docs"}),
    ],
)  # fmt: skip
def test_a_domain_finds_its_projects(world: World, api: Api, query: str, expected: set[str]) -> None:
    world.project(title="Git", url="https://www.git-scm.com/", tagline="?")
    world.project(title="Docs", url="https://docs.python.org/3/", tagline="?")
    world.project(title="Books", url="https://xn--bcher-kva.example/", tagline="?")
    world.project(title="Mentioned", description="See python.org.", tagline="?")
    assert set(titles(api, query)) == expected


def test_a_new_address_is_found_by_its_domain(world: World, api: Api) -> None:
    owner = world.admin()
    project = world.project(owner, title="Moved", url="https://old.example/")
    world.caller(owner).put(f"/api/projects/{project}", {"url": "https://new.example/"})
    assert titles(api, "new.example") == ["Moved"]
    assert titles(api, "old.example") == []


@pytest.mark.parametrize("space", ["\t", "\n", "\r\n", "\u00a0", "\u2003", "\u2028", "\u0085", "\u3000", "\v"])
def test_every_white_space_is_a_space_in_a_query(world: World, api: Api, space: str) -> None:
    world.project(title="Red Panda")
    world.project(title="Other")
    assert titles(api, f"{space}red{space}panda{space}") == ["Red Panda"]
    assert set(titles(api, space * 2)) == {"Red Panda", "Other"}


def search_entries(database: Database) -> list[tuple[Any, ...]]:
    """The entry of every project in the search index, read without keeping a transaction open."""
    columns = {
        "sqlite": "rowid, title, brief, description FROM project_search ORDER BY rowid",
        "postgresql": "project_id, CAST(document AS text) FROM project_search ORDER BY project_id",
    }
    db.session.rollback()
    entries = [tuple(row) for row in db.session.execute(text(f"SELECT {columns[database.backend]}"))]
    db.session.rollback()
    return entries


def test_the_migration_rewrites_the_entries_of_all_projects(
    app: Flask, world: World, api: Api, database: Database
) -> None:
    world.project(title="Łódź ภาษาไทย", tagline="Don't panic")
    world.project(title="京東", status="pending")
    old = "title = 'old'" if database.backend == "sqlite" else "document = 'old'"
    with app.app_context():
        assert recount.look(lambda number: number > 0).faults == []
        entries = search_entries(database)
        flask_migrate.downgrade(revision="0008")
        db.session.execute(text(f"UPDATE project_search SET {old}"))
        db.session.commit()
        assert "lodz" not in str(search_entries(database))
        flask_migrate.upgrade()
        assert search_entries(database) == entries
        assert recount.look(lambda number: number > 0).faults == []
    assert titles(api, "lodz dont") == ["Łódź ภาษาไทย"]


def test_what_a_process_of_the_version_before_writes_after_the_migration_is_found_and_repaired(
    app: Flask, world: World, api: Api, database: Database
) -> None:
    project = world.project(title="Smørrebrød", tagline="Don't panic")
    sqlite, words = database.backend == "sqlite", "x" + "smørrebrød".encode().hex()  # as release 0.1.0 writes it
    entry = {"title": words, "brief": "", "description": ""} if sqlite else {"document": f"'{words}':1A"}
    with app.app_context():
        for statement in rewriting.SQLITE if sqlite else rewriting.POSTGRESQL:
            db.session.execute(text(statement), {"id": project, **entry})
        db.session.commit()
    runner = app.test_cli_runner()
    assert titles(api, "smorrebrod") == []
    assert runner.invoke(args=["recount", "--check"]).exit_code == 1
    runner.invoke(args=["recount"])
    assert runner.invoke(args=["recount", "--check"]).exit_code == 0
    assert titles(api, "smorrebrod") == ["Smørrebrød"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("pyhton", ["python"]), ("edtior", ["editor"]), ("pythn", ["python"]), ("pythonn", ["python"]),
        ("pithon", ["python"]),
        ("pyhton edtior", ["python editor"]), ("python edtior", ["python editor"]), ("ktichne", ["kitchen"]),
        ("сяд", ["сад"]), ("πυθων", ["πυθον"]), ("databse", ["database"]), ("pyhton.", ["python"]),
        ("hidden", []), ("hiden", []), ("qqqqqqqq", []), ("tagged words xx yy", []), ("東京", []),
        ("!", []), ("हन्दी", ["हिन्दी"]),
        ("프로잭트", []), ("pyhton qqqqqq", []), ("x" * 200, []),
    ],
)  # fmt: skip
def test_a_search_that_finds_nothing_offers_the_nearest_spellings(
    world: World, api: Api, query: str, expected: list[str]
) -> None:
    owner = world.user()
    for title in ("Python Editor", "Kitchen", "Сад", "Сат", "Πύθον", "프로젝트", "हिन्दी"):
        world.project(owner, title=title, tagline="?", tags=["database"])
    world.project(owner, "pending", title="Hidden", tags=["hidden"])
    answer = api.get("/api/projects", query_string={"q": query}).json
    assert (answer["items"], answer["suggestions"]) == ([], expected)


def test_suggestions_have_the_words_of_taglines_tags_and_authors_and_none_of_descriptions(
    world: World, api: Api
) -> None:
    about = {"tagline": "A columnar database", "author": "Acme Works", "description": "It has everything"}
    world.project(title="Quack", tags=["vectors"], **about)
    for query, expected in (
        ("databse", ["database"]), ("acmee", ["acme"]), ("vectros", ["vectors"]), ("everythng", []),
    ):  # fmt: skip
        assert api.get("/api/projects", query_string={"q": query}).json["suggestions"] == expected, query


def test_suggestions_follow_what_is_live_and_cost_one_statement_where_nothing_is_found(
    world: World, api: Api, statements: list[str]
) -> None:
    project, owner = world.project(title="Python"), world.admin()
    del statements[:]
    assert "suggestions" not in api.get("/api/projects?q=python").json
    assert len(statements) == 2
    del statements[:]
    assert api.get("/api/projects?q=東京").json["suggestions"] == []  # nothing is looked up
    found = len(statements)
    del statements[:]
    assert api.get("/api/projects?q=pyhton").json["suggestions"] == ["python"]
    assert len(statements) == found + 1
    assert api.get("/api/projects?q=pyhton&page=2").json["suggestions"] == ["python"]
    assert api.get("/api/projects?q=python&category=other").json["suggestions"] == []
    taken_down = world.caller(owner).put(f"/api/admin/projects/{project}/unpublish", {"reason": "Gone."})
    assert taken_down.status_code == 200, taken_down.json
    assert api.get("/api/projects?q=pyhton").json["suggestions"] == []


def test_a_suggestion_changes_words_that_find_nothing_alone_and_finds_something(world: World, api: Api) -> None:
    owner = world.user()
    for title, tagline, description in (
        ("Python Editor", "Lamps of a cat", "A wiki"),
        ("Editors", "?", "?"),
        ("Kitchen", "?", "?"),
    ):
        world.project(owner, title=title, tagline=tagline, description=description, tags=["lam"])
    for query, expected in (
        ("lamp kithen", ["lamp kitchen"]),  # a lamp is found, though it is near to the tag; its `nearest` counts
        ("wiki pythn", ["wiki python"]), ("The PYTHON for edtior", ["The PYTHON for editor"]), ("go edtior", []),
        ("edtior go cat", []), ("wiki edtior", ["wiki editor"]), ("l'edtior kithen", ["editor kitchen"]),
        ("python wiki kitchen", []), ("lamp wiki kithen", ["lamp wiki kitchen"]), ("'cat pythn'", ["'cat python"]),
        ('"lamp" kithen', []),
    ):  # fmt: skip
        answer = api.get("/api/projects", query_string={"q": query}).json
        assert (answer["items"], answer["suggestions"]) == ([], expected), query
    assert api.get("/api/projects?q=kithen&category=none").json["suggestions"] == []


@pytest.mark.parametrize(
    "query", ["abcdefghij", "ab" * 10, "abcdefghij klmnopqrst", "abcdefghij klmnopqrst uvwxyzabcd", "हन्दी पतवफगमनर"]
)
def test_a_search_that_finds_nothing_tries_a_bounded_number_of_spellings(
    app: Flask, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(suggestions, "_known", lambda words: tried.extend(words) or set())
    with app.app_context():
        assert suggestions.nearest(Filters(status="live", q=query)) == []
        db.session.remove()
    assert 300 < len(tried) <= 1_500


@pytest.mark.response_cache
def test_what_a_search_that_finds_nothing_offers_is_remembered_until_a_write(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, nearest, path = list[str](), suggestions.nearest, "/api/projects?q=pyhton"
    monkeypatch.setattr(suggestions, "nearest", lambda filters: looked.append(filters.q) or nearest(filters))
    for title, offered in (("Lamp", []), ("Python", ["python"])):
        world.project(title=title)
        for _ in range(3):
            assert api.get(path).json["suggestions"] == offered
    assert looked == ["pyhton"] * 2
