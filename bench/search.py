"""The cost of a search for a word that half of all projects have, and of a search for a word of a single project."""

import statistics
import time
from typing import Any

import requests as http

# Two of the four sentences with which a made-up description begins have it (bench/names.py), and nothing else.
COMMON = "was"
ORDERS = {
    "best": "/api/projects?",
    "newest": "/api/projects?sort=newest&",
    "upvotes": "/api/projects?sort=upvotes&",
    "popular": "/api/projects?sort=popular&",
    "oldest": "/api/admin/projects?status=live&sort=oldest&",
}
DEEP = 10  # pages of a hundred before the cursor
TIMES = 15


def common(url: str, admin: str, words: list[str]) -> dict[str, Any]:
    """Milliseconds of pages with the common word, asked for one by one in turn with a rare one, and their ratios.

    An administrator asks, because the response cache answers no administrator. `ratios` are the
    medians by order, of the first page and of a page by cursor.
    """
    took: list[float] = []
    ratios: dict[str, dict[str, float]] = {}
    with http.Session() as session:
        session.headers["Authorization"] = f"Bearer {admin}"
        for order, path in ORDERS.items():
            ratios[order] = {}
            for place, more in (("first", ""), ("cursor", f"&cursor={_deep(session, url, path)}")):
                pairs = []
                for n in range(TIMES):
                    rare = _milliseconds(session, f"{url}{path}q={words[n % len(words)]}")
                    pairs.append((_milliseconds(session, f"{url}{path}q={COMMON}{more}"), rare))
                took += [pair[0] for pair in pairs]
                ratios[order][place] = statistics.median(mine for mine, _ in pairs) / statistics.median(
                    rare for _, rare in pairs
                )
    return {
        "rps": 1000 * len(took) / sum(took), "p50_ms": statistics.median(took), "p99_ms": max(took), "errors": 0,
        "ratios": ratios,
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """The ratios as a Markdown table, medians of all rounds; nothing where there are none."""
    found = [row for row in rows if "ratios" in row]
    if not found:
        return ""
    lines = ["", "### A word of half the projects, as so many times a word of one", ""]
    lines += [
        "| projects | " + " | ".join(f"{order}, {place}" for order in ORDERS for place in ("first", "cursor")) + " |"
    ]
    lines.append("|---" * (1 + 2 * len(ORDERS)) + "|")
    for size in sorted({row["size"] for row in found}):
        mine = [row["ratios"] for row in found if row["size"] == size]
        cells = [
            f"{statistics.median(ratios[order][place] for ratios in mine):.2f}"
            for order in ORDERS
            for place in ("first", "cursor")
        ]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _deep(session: http.Session, url: str, path: str) -> str:
    cursor, more = "", ""
    for _ in range(DEEP):
        cursor = _get(session, f"{url}{path}q={COMMON}&limit=100{more}")["pagination"]["next_cursor"] or cursor
        more = f"&cursor={cursor}"
    return cursor


def _milliseconds(session: http.Session, url: str) -> float:
    began = time.perf_counter()
    _get(session, url)
    return 1000 * (time.perf_counter() - began)


def _get(session: http.Session, url: str) -> Any:
    answer = session.get(url, timeout=30)
    answer.raise_for_status()
    return answer.json()
