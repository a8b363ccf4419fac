"""The bars of the answers with HTML: what a list weighs, and how fast the service gives it. Needs wrk."""

import gzip
import urllib.request
from statistics import median

from bench.lighthouse.audits import AuditFailed
from bench.lighthouse.bars import KB, Bar
from bench.lighthouse.site import MEMBER, VISITOR, Site
from bench.load import measure

ROUNDS, SECONDS, CONNECTIONS = 5, 3, 16
PAGE = "/"
API = "/api/projects?status=live&sort=newest&page=1&limit=20"


def measured(site: Site) -> list[Bar]:
    """The bars of the first page of the list. Raises AuditFailed."""
    lists = [PAGE, "/?sort=upvotes", "/?q=data"]
    heaviest = max(lists, key=lambda path: _weight(site, path, MEMBER))
    try:
        ratios = [_rate(site, PAGE) / _rate(site, API) for _ in range(ROUNDS)]
        alone = [_replayed(site, PAGE, MEMBER, connections=1)["p50_ms"] for _ in range(ROUNDS)]
    except FileNotFoundError:
        raise AuditFailed("wrk is missing: apt-get install wrk") from None
    where = f"{PAGE} as {VISITOR} and {API}, {CONNECTIONS} connections"
    return [
        Bar("HTML of 20 rows in KB", _weight(site, heaviest, MEMBER), 12, f"{heaviest} as {MEMBER}"),
        Bar("cached page, of the rate of the API's list", median(ratios), 0.8, where, least=True),
        Bar("page of a member in ms, p50, one at a time", median(alone), 6, f"{PAGE} as {MEMBER}"),
    ]


def _weight(site: Site, path: str, caller: str) -> float:
    """KB of the HTML of a list, compressed as nginx does."""
    headers = {"Cookie": site.cookies[caller]} if site.cookies[caller] else {}
    with urllib.request.urlopen(urllib.request.Request(f"{site.address}{path}", headers=headers)) as answer:
        return len(gzip.compress(answer.read(), compresslevel=6)) / KB


def _rate(site: Site, path: str) -> float:
    rate: float = _replayed(site, path, VISITOR, connections=CONNECTIONS)["rps"]
    return rate


def _replayed(site: Site, path: str, caller: str, *, connections: int) -> dict:
    line = f"GET {path} cookie:{site.cookies[caller]}" if site.cookies[caller] else f"GET {path} -"
    return measure(site.address, [line], seconds=SECONDS, connections=connections, pids={"server": site.pid})
