"""The bars that the pages must meet, what is measured against them, and the tables."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directory.pages import build as web_build

KB = 1024
PERFORMANCE = {"public": 100, "member": 98, "console": 98}
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
ENTRIES = {"public": "reading", "member": "forms", "console": "console"}  # of the build, by kind of page
BUDGETS = json.loads(Path(web_build.__file__).parents[1].joinpath("web", "budgets.json").read_text())  # KB
REQUESTS = {"public": 5, "member": 10, "console": 10}
BLOCKING = {"public": 20, "member": 100, "console": 100}  # milliseconds
# Of the reading pages, which are there with the first answer, and of those that read what they show afterwards.
SHIFT = {"public": 0, "member": 0.01, "console": 0.01}
LARGEST_PAINT = {"mobile": {"public": 1200, "": 2000}, "desktop": {"public": 500, "": 500}}
NOT_INDEXED = "is-crawlable"  # the audit that a page with `noindex` fails on purpose
COLUMNS = (
    "page", "as", "profile", "performance", "accessibility", "best practices", "SEO", "LCP ms", "CLS", "TBT ms",
    "requests", "JS KB", "CSS KB", "console errors",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure next to its limit. `where` says what was measured, `why` which audits or faults are behind it."""

    name: str
    value: float
    limit: float
    where: str = ""
    why: str = ""
    least: bool = False  # the limit is the least that the figure may be, not the most
    is_aim: bool = False  # it is shown, and fails nothing

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value >= self.limit if self.least else self.value <= self.limit

    @property
    def is_broken(self) -> bool:
        """Whether the figure is beyond a limit that has to hold."""
        return not (self.holds or self.is_aim)

    @property
    def distance(self) -> float:
        """How far the figure is beyond its limit; the worse, the greater."""
        return self.limit - self.value if self.least else self.value - self.limit

    def __str__(self) -> str:
        """The fault, in words."""
        text = f"{self.where}: {self.name} {self.value:.4g} of at {'least' if self.least else 'most'} {self.limit:g}"
        return f"{text} ({self.why})" if self.why else text


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of one page in one profile by Lighthouse.

    Scores are of 100, times in milliseconds, weights in KB as compressed by gzip. `failed` are the audits behind a
    score that is not full, by category.
    """

    scores: dict[str, int]
    failed: dict[str, list[str]]
    largest_paint: float
    shift: float
    blocking: float
    requests: int
    scripts: float
    styles: float
    errors: list[str]


def figures(report: dict[str, Any], *, indexed: bool = True) -> Figures:
    """The figures of a report of Lighthouse.

    A page that search engines are asked not to list fails one audit of SEO on purpose: its score is that of the others,
    and 0 where that audit passes.
    """
    audits, categories = report["audits"], dict(report["categories"])
    if not indexed:
        categories["seo"] = _without_listing(categories["seo"], audits)
    requests = [each for each in audits["network-requests"]["details"]["items"] if each["url"].startswith("http")]
    return Figures(
        scores={name: round(100 * (categories[name]["score"] or 0)) for name in CATEGORIES},
        failed={name: _failed(categories[name], audits) for name in CATEGORIES},
        largest_paint=audits["largest-contentful-paint"]["numericValue"],
        shift=audits["cumulative-layout-shift"]["numericValue"],
        blocking=audits["total-blocking-time"]["numericValue"],
        requests=len(requests),
        scripts=_weight(requests, ".js"),
        styles=_weight(requests, ".css"),
        errors=[each["description"] for each in audits["errors-in-console"]["details"]["items"]],
    )


def _without_listing(category: dict[str, Any], audits: dict[str, Any]) -> dict[str, Any]:
    refs = [each for each in category["auditRefs"] if each["id"] != NOT_INDEXED]
    if audits[NOT_INDEXED]["score"] != 0:
        return {"score": 0, "auditRefs": refs}
    counted = [(each["weight"], audits[each["id"]]["score"]) for each in refs]
    counted = [(weight, score) for weight, score in counted if score is not None]
    total = sum(weight for weight, _score in counted)
    return {"score": sum(weight * score for weight, score in counted) / total, "auditRefs": refs}


def _failed(category: dict[str, Any], audits: dict[str, Any]) -> list[str]:
    counted = [each["id"] for each in category["auditRefs"] if each["weight"]]
    return [name for name in counted if audits[name]["score"] not in (None, 1)]


def _weight(requests: list[dict[str, Any]], suffix: str) -> float:
    """KB of the files of the build that were loaded; what was transferred has some 0.5 KB of headers besides, each."""
    assets = web_build.load().assets
    names = [each["url"].rpartition("/")[2] for each in requests]
    return sum(len(assets[name].compressed) for name in names if name.endswith(suffix)) / KB


def measured(found: Figures, *, kind: str, profile: str, where: str) -> list[Bar]:
    """The bars of a page in a profile. `kind` is one of ENTRIES."""
    limits = LARGEST_PAINT[profile]
    limits_of_scores = {name: (f"Lighthouse {name}", 100) for name in CATEGORIES}
    limits_of_scores["performance"] = (f"Lighthouse performance, {kind} pages", PERFORMANCE[kind])
    scores = [
        Bar(label, found.scores[name], least, where, ", ".join(found.failed[name]), least=True)
        for name, (label, least) in limits_of_scores.items()
    ]
    return [
        *scores,
        Bar(f"LCP in ms, {profile}, {kind} pages", found.largest_paint, limits.get(kind, limits[""]), where),
        Bar(f"CLS, {kind} pages", found.shift, SHIFT[kind], where),
        Bar(f"TBT in ms, {kind} pages", found.blocking, BLOCKING[kind], where),
        Bar(f"requests, {kind} pages", found.requests, REQUESTS[kind], where),
        Bar(f"JavaScript in KB, {kind} pages", found.scripts, BUDGETS[ENTRIES[kind]]["js"], where),
        Bar("CSS in KB", found.styles, BUDGETS[ENTRIES[kind]]["css"], where),
        Bar("console errors and policy violations", len(found.errors), 0, where, "; ".join(found.errors)),
    ]


def row(path: str, caller: str, profile: str, found: Figures) -> list[str]:
    """The cells of a page's line in the table of pages."""
    scores = [str(found.scores[name]) for name in CATEGORIES]
    times = [f"{found.largest_paint:.0f}", f"{found.shift:.3f}", f"{found.blocking:.0f}", str(found.requests)]
    weights = [f"{found.scripts:.1f}", f"{found.styles:.1f}"]
    return [path, caller, profile, *scores, *times, *weights, str(len(found.errors))]


def pages_table(rows: list[list[str]]) -> str:
    """The table of pages, as Markdown."""
    return _table([COLUMNS, ["---"] * 3 + ["--:"] * (len(COLUMNS) - 3), *rows])


def bars_table(bars: Iterable[Bar]) -> str:
    """The table of bars, as Markdown: of each the worst figure, and where it was measured, "all" where all agree."""
    found: dict[str, list[Bar]] = {}
    for bar in bars:
        found.setdefault(bar.name, []).append(bar)
    rows = [_bar_row(each) for each in found.values()]
    return _table([["bar", "limit", "worst figure", "holds", "where"], ["---", "--:", "--:", "---", "---"], *rows])


def verdict(bars: Iterable[Bar]) -> str:
    """The broken bars, one a line, or that every bar holds; then the aims that are not reached."""
    found = list(bars)
    broken = [str(bar) for bar in found if bar.is_broken]
    missed = [f"Not reached, an aim: {bar}" for bar in found if bar.is_aim and not bar.holds]
    return "\n".join([*(broken or ["Every bar holds."]), *missed])


def _bar_row(found: list[Bar]) -> list[str]:
    worst = max(found, key=lambda each: each.distance)
    limit = f"{'≥' if worst.least else '≤'} {worst.limit:g}"
    where = "all" if len(found) > 1 and len({each.value for each in found}) == 1 else worst.where
    holds = "yes" if worst.holds else "no, an aim" if worst.is_aim else "no"
    return [worst.name, limit, f"{worst.value:.4g}", holds, where]


def _table(lines: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
