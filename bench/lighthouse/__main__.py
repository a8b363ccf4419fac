"""Audits every page by Lighthouse and axe: python -m bench.lighthouse, or make lighthouse. Needs Chromium and wrk.

Serves a fresh SQLite database with the demo, and with the projects of a file where one is named, and opens each page as
its users do: on Lighthouse's phone with its usual throttling, and on a desktop without any. Also measures what the list
weighs and how fast it comes, and counts the lines of the sources; --only '^$' does nothing else. Prints the table of
pages and the table of bars, and writes them to table.md in --out, where Lighthouse's reports are. A page that breaks a
bar is audited twice more, and the audit with the middle performance counts. Exits with 1 where a bar is broken; an aim
is only shown.
"""

import argparse
import json
import re
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from bench.lighthouse import answers, bars, sources
from bench.lighthouse.audits import AuditFailed, Lighthouse, difference, violations
from bench.lighthouse.bars import Bar, Figures
from bench.lighthouse.site import Page, Site, site
from tests.support.chromium import QUIET, chromium_program
from tests.support.processes import ServerMissing

ROOT = Path(__file__).parents[2]
PROFILES = ("mobile", "desktop")
NOTE = """
Measured by Lighthouse {version} with {browser}, which shared one machine with the service: times of
another machine differ. Mobile is Lighthouse's simulated phone and network, desktop is without throttling. KB are
compressed by gzip. Pages of an account and of the console ask search engines not to list them (noindex): their SEO is
that of all audits but the one that this fails.

"""


def main() -> int | str:
    """Audit the pages; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="pages whose path this matches, as '^/admin'")
    parser.add_argument("--profiles", nargs="+", default=PROFILES, choices=PROFILES)
    parser.add_argument("--projects", type=Path, metavar="FILE", help="projects to add to the demo, as flask import")
    parser.add_argument("--out", type=Path, default=ROOT / ".venv" / "lighthouse")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        program, built = chromium_program(whole=True), sources.measured()
        with TemporaryDirectory() as folder, site(Path(folder), given.projects) as served, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=QUIET)
            with closing(Lighthouse()) as lighthouse:
                return run(lighthouse, browser, served, built, given)
    except (ServerMissing, AuditFailed) as error:
        return str(error)


def run(lighthouse: Lighthouse, browser: Browser, served: Site, found: list[Bar], given: argparse.Namespace) -> int:
    """Audit what was asked for, print and write the tables, and say which bars are broken."""
    found += answers.measured(served)
    rows, version = [], ""
    for page in (each for each in served.pages if re.search(given.only, each.path)):
        seen = violations(browser, served, page)
        found.append(Bar("axe violations", len(seen), 0, f"{page.path} as {page.caller}", "; ".join(seen)))
        if page.kind == "public":
            lines = difference(browser, served, page)
            found.append(
                Bar(
                    "lines that differ without JavaScript",
                    len(lines),
                    0,
                    f"{page.path} as {page.caller}",
                    "; ".join(lines),
                )
            )
        for profile in given.profiles:
            report, figures = audited(lighthouse, served, page, profile, given.out)
            version = report["lighthouseVersion"]
            rows.append(bars.row(page.path, page.caller, profile, figures))
            found += measured(page, profile, figures)
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    note = NOTE.format(version=version, browser=f"Chromium {browser.version}")
    text = bars.pages_table(rows) + note + bars.bars_table(found)
    (given.out / "table.md").write_text(text)
    print(text)
    print(bars.verdict(found))
    return int(any(bar.is_broken for bar in found))


def audited(lighthouse: Lighthouse, served: Site, page: Page, profile: str, folder: Path) -> tuple[dict, Figures]:
    """Lighthouse's report of a page; of three where the first one breaks a bar, the one with the middle performance."""
    name = re.sub(r"\W+", "-", f"{page.caller}{page.path}").strip("-")
    file = folder / f"{name}-{profile}.json"
    reports = [lighthouse.audit(served, page, profile, file)]
    if not all(bar.holds for bar in measured(page, profile, bars.figures(reports[0], indexed=page.indexed))):
        reports += [lighthouse.audit(served, page, profile, file) for _ in range(2)]
        reports.sort(key=lambda each: each["categories"]["performance"]["score"] or 0)
        file.write_text(json.dumps(reports[1]))
    report = reports[len(reports) // 2]
    return report, bars.figures(report, indexed=page.indexed)


def measured(page: Page, profile: str, figures: Figures) -> list[Bar]:
    """The bars of a page in a profile."""
    return bars.measured(figures, kind=page.kind, profile=profile, where=f"{page.path} as {page.caller}, {profile}")


if __name__ == "__main__":
    sys.exit(main())
