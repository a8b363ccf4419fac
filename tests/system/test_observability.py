"""The page on observability and the alerts speak of what there is, and leave nothing out."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as parse

from directory.http.problem_details import REFUSALS
from tests.support import promql
from tests.support.factories import Api
from tests.support.scraping import scrape
from tests.support.serving import ROOT

PAGE = (ROOT / "docs" / "observability.md").read_text()
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]


@pytest.fixture
def scraped(make_app: Any) -> dict[str, set[str]]:
    """The metrics of a service with something of everything, and the labels of each."""
    return {name: {label for sample in samples for label in sample} for name, samples in scrape(make_app).items()}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_metric_is_on_the_page_with_its_labels_and_no_other(scraped: dict[str, set[str]]) -> None:
    there: dict[str, set[str]] = {}
    for name, labels in scraped.items():
        there.setdefault(re.sub(r"_(bucket|count|sum)$", "", name), set()).update(labels - {"le"})
    assert {words(name)[0]: set(words(labels)) for name, labels, _ in rows("Metrics")} == there


def test_an_alert_names_a_metric_of_the_service() -> None:
    for rule in RULES:
        assert promql.selectors(rule["expr"]) or rule["alert"] == "DirectoryDown"


def test_what_an_alert_reads_is_there_from_the_start_or_the_page_says_that_it_is_not(make_app: Any) -> None:
    fresh = [
        (sample.name, set(sample.labels.items()))
        for family in parse(Api(make_app(METRICS_ENABLED="true")).get("/metrics").text)
        for sample in family.samples
    ]

    def there(name: str, selector: str) -> bool:
        wanted = set(re.findall(r'(\w+)="([^"]*)"', selector))
        return any(name == found and wanted <= labels for found, labels in fresh)

    read = {rule["alert"]: re.findall(r"\b(directory_\w+)(?:\{([^}]*)\})?", rule["expr"]) for rule in RULES}
    begins_later = {alert for alert, series in read.items() if not all(there(*each) for each in series)}
    told = PAGE.partition("By contrast")[2].partition("read series that begin")[0]
    assert begins_later == set(words(told))
    assert {"DirectoryFault", "DirectoryPromiseOfFiveSecondsBroken"} <= read.keys() - begins_later


def test_the_page_says_what_to_do_about_every_alert() -> None:
    assert [words(row[0])[0] for row in rows("Alerts")] == [rule["alert"] for rule in RULES]
    assert all(row[-1] for row in rows("Alerts"))


def test_every_rule_is_complete_and_every_bracket_closed() -> None:
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"page", "warn"}
        assert rule["annotations"]["summary"].endswith(".")
        for opening, closing in ("()", "{}", "[]"):
            assert rule["expr"].count(opening) == rule["expr"].count(closing), rule["alert"]


def _said(source: Path) -> set[str]:
    """The messages that a file logs, as the page would write them."""
    calls = re.findall(r'(?:log\.log\(level, |log\.[a-z]+\(|log_failure\(log, )"([^"]+)"', source.read_text())
    return {re.sub(r"%[gs]", "…", message) for message in calls}


def test_every_message_of_ours_is_on_the_page() -> None:
    told = {words(row[0])[0] for row in rows("Log")}
    ours = set[str]().union(*(_said(source) for source in (ROOT / "directory").rglob("*.py")))
    outcomes = ("delivered", "failed, to be tried again", "dead", "outcome came too late")
    assert "… …" in ours
    ours = (ours - {"… …"}) | {f"{channel} {outcome}" for channel in ("webhook", "mail") for outcome in outcomes}
    assert ours <= told


def test_every_logged_refusal_is_on_the_page() -> None:
    [row] = [row for row in rows("Log") if words(row[0]) == ["refused"]]
    assert set(words(row[-1])) >= REFUSALS | {"validation_failed"}


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_the_page_is_linked(page: str) -> None:
    assert "observability.md" in (ROOT / page).read_text()
