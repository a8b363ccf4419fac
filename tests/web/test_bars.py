"""The figures that `make lighthouse` reads from a report, and the bars that its tables show as broken."""

import pytest

from bench.lighthouse import bars
from directory.pages import build as web_build
from tests.support.web import built

__all__ = ["built"]
SEO = {"is-crawlable": 4, "meta-description": 1}


def report(
    *, failed=(), performance=1.0, seo=1.0, errors=(), requests=("http://x/", "http://x/assets/index-AAAA.js"), **values
):
    """A report of Lighthouse, as far as it is read; `values` are audits by their names with underscores."""
    numbers = {"largest_contentful_paint": 100.0, "cumulative_layout_shift": 0.0, "total_blocking_time": 0.0, **values}
    audits = {name.replace("_", "-"): {"numericValue": value} for name, value in numbers.items()}
    audits |= {name: {"score": 0 if name in failed else 1} for name in SEO}
    audits["network-requests"] = {"details": {"items": [{"url": url} for url in requests]}}
    audits["errors-in-console"] = {"details": {"items": [{"description": each} for each in errors]}}
    scores = {"performance": performance, "accessibility": 1, "best-practices": 1, "seo": seo}
    refs = {"seo": [{"id": name, "weight": weight} for name, weight in SEO.items()]}
    return {
        "audits": audits,
        "categories": {name: {"score": score, "auditRefs": refs.get(name, [])} for name, score in scores.items()},
    }


def measured(kind="member", profile="mobile", indexed=True, where="/", **given):
    return bars.measured(bars.figures(report(**given), indexed=indexed), kind=kind, profile=profile, where=where)


def broken(**given):
    return [str(bar) for bar in measured(**given) if not bar.holds]


def test_a_page_within_its_bars_breaks_none(built):
    assert broken() == []
    assert broken(performance=0.98, largest_contentful_paint=2000, total_blocking_time=100) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"performance": 0.97}, "Lighthouse performance, member pages 97 of at least 98"),
        ({"performance": None}, "Lighthouse performance, member pages 0 of at least 98"),
        ({"seo": 0.8, "failed": ["meta-description"]}, "Lighthouse seo 80 of at least 100 (meta-description)"),
        ({"largest_contentful_paint": 2001}, "LCP in ms, mobile, member pages 2001 of at most 2000"),
        (
            {"largest_contentful_paint": 501, "profile": "desktop"},
            "LCP in ms, desktop, member pages 501 of at most 500",
        ),
        ({"cumulative_layout_shift": 0.02}, "CLS, member pages 0.02 of at most 0.01"),
        ({"total_blocking_time": 101}, "TBT in ms, member pages 101 of at most 100"),
        ({"requests": ["http://x/"] * 11}, "requests, member pages 11 of at most 10"),
        ({"kind": "public", "largest_contentful_paint": 1201}, "LCP in ms, mobile, public pages 1201 of at most 1200"),
        ({"kind": "public", "performance": 0.99}, "Lighthouse performance, public pages 99 of at least 100"),
        ({"kind": "public", "cumulative_layout_shift": 0.001}, "CLS, public pages 0.001 of at most 0"),
        ({"kind": "public", "total_blocking_time": 21}, "TBT in ms, public pages 21 of at most 20"),
        ({"kind": "public", "requests": ["http://x/"] * 6}, "requests, public pages 6 of at most 5"),
        ({"errors": ["refused"]}, "console errors and policy violations 1 of at most 0 (refused)"),
    ],
)
def test_what_breaks_a_bar_is_said(built, given, said):
    assert broken(**given) == [f"/: {said}"]


def test_a_page_that_is_not_indexed_fails_that_audit_and_no_other(built):
    assert broken(indexed=False, seo=0.2, failed=["is-crawlable"]) == []
    both = broken(indexed=False, seo=0.0, failed=["is-crawlable", "meta-description"])
    assert both == ["/: Lighthouse seo 0 of at least 100 (meta-description)"]
    assert broken(indexed=False) == ["/: Lighthouse seo 0 of at least 100"]


def test_scripts_count_as_they_are_compressed_and_data_is_no_request(built):
    urls = ("http://x/", "http://x/assets/index-AAAA.js", "data:image/svg+xml,x", "http://x/api/session")
    found = bars.figures(report(requests=urls))
    size = len(web_build.load().assets["index-AAAA.js"].compressed)
    assert (found.requests, found.scripts, found.styles) == (3, size / 1024, 0)


def test_the_scripts_of_each_kind_of_page_have_a_bar_of_their_own(built, monkeypatch):
    monkeypatch.setattr(bars, "KB", len(web_build.load().assets["index-AAAA.js"].compressed) / 30)
    assert broken(kind="public") == ["/: JavaScript in KB, public pages 30 of at most 6"]
    assert broken(kind="member") == ["/: JavaScript in KB, member pages 30 of at most 14"]
    assert broken(kind="console") == []


def test_the_table_of_bars_has_the_worst_figure_of_each(built):
    found = [*measured(performance=0.99), *measured(performance=0.5, cumulative_layout_shift=0.005, where="/mine")]
    lines = bars.bars_table([*found, *measured(profile="desktop", where="/submit")]).splitlines()
    assert "| Lighthouse performance, member pages | ≥ 98 | 50 | no | /mine |" in lines
    assert "| CLS, member pages | ≤ 0.01 | 0.005 | yes | /mine |" in lines
    assert "| LCP in ms, desktop, member pages | ≤ 500 | 100 | yes | /submit |" in lines
    assert "| TBT in ms, member pages | ≤ 100 | 0 | yes | all |" in lines
    assert len(lines) == 2 + len({bar.name for bar in found}) + 1


def test_an_aim_is_shown_and_breaks_nothing():
    aim = bars.Bar("lines of TypeScript", 6000, 5000, "src", is_aim=True)
    assert not aim.is_broken
    assert "| lines of TypeScript | ≤ 5000 | 6000 | no, an aim | src |" in bars.bars_table([aim])
    assert bars.Bar("lines of a source file", 300, 250).is_broken


def test_the_last_lines_name_broken_bars_and_missed_aims():
    aim = bars.Bar("lines of TypeScript", 6000, 5000, "src", is_aim=True)
    missed = "Not reached, an aim: src: lines of TypeScript 6000 of at most 5000"
    good, bad = bars.Bar("CLS", 0, 0.01, "/"), bars.Bar("lines of a source file", 300, 250, "x.ts")
    assert bars.verdict([good]) == "Every bar holds."
    assert bars.verdict([good, aim]) == f"Every bar holds.\n{missed}"
    assert bars.verdict([aim, bad]) == f"x.ts: lines of a source file 300 of at most 250\n{missed}"


def test_the_table_of_pages_has_a_cell_for_every_column(built):
    row = bars.row("/", "visitor", "mobile", bars.figures(report()))
    lines = bars.pages_table([row]).splitlines()
    assert len(row) == len(bars.COLUMNS)
    assert [line.count("|") for line in lines] == [len(bars.COLUMNS) + 1] * 3
