"""The page on observability and the alerts speak of what there is, and leave nothing out."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from gunicorn import arbiter
from prometheus_client.parser import text_string_to_metric_families as parse

from directory import logs
from directory.db import pooler
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


OUTCOMES = ("delivered", "failed, to be tried again", "dead", "outcome came too late")
# The words that `log.log("%s %s", …)` of the deliverer can say, with their levels.
DELIVERIES = {
    f"{channel} {outcome}": {level}
    for channel in ("webhook", "mail")
    for outcome, level in zip(OUTCOMES, ("info", "warning", "error", "warning"), strict=True)
}
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}


def _said(source: Path) -> dict[str, set[str]]:
    """The messages that a file logs, as the page would write them, each with its levels."""
    found: dict[str, set[str]] = {}
    for call in ast.walk(ast.parse(source.read_text())):
        if not (isinstance(call, ast.Call) and call.args):
            continue
        if ast.unparse(call.func) == "log_failure":
            [level] = re.findall(r"level=logging\.(\w+)", ast.unparse(call)) or ["info"]
            found[_written(ast.literal_eval(call.args[1]))] = {level.lower(), "error"}
        if not isinstance(call.func, ast.Attribute):
            continue
        if ast.unparse(call.func.value).rpartition(".")[2] not in {"log", "_log", "logger"}:
            continue
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if call.func.attr in LEVELS and texts:
            level = {"exception": "error"}.get(call.func.attr, call.func.attr)
            found.setdefault(_written(texts[0]), set()).add(level)
        elif call.func.attr == "log" and texts:
            levels = {name.lower() for name in re.findall(r"logging\.(\w+)", ast.unparse(call.args[0]))}
            found.setdefault(_written(texts[0]), set()).update(levels)
    return found


def _members(source: Path) -> dict[str, set[str]]:
    """The members that a file adds to each of its messages, besides those of all lines."""
    found: dict[str, set[str]] = {}
    tree = ast.parse(source.read_text())
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        named = {
            ast.unparse(node.targets[0]): _keys(node.value, {})
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
        }
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.args):
            texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            name = ast.unparse(call.func)
            if texts and re.fullmatch(r"(\w+\.)*_?log(ger)?\.\w+|log_failure", name):
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                members = _keys(given.get("extra"), named) - {"request_id"}
                members |= {"exception"} if "exc_info" in given or name.endswith(".exception") else set()
                members |= {"reason", "exception"} if name == "log_failure" else set()
                found.setdefault(_written(texts[0]), set()).update(members)
    return found


def _keys(value: ast.expr | None, named: dict[str, set[str]]) -> set[str]:
    """The keys of the dictionaries in an expression, and of those that its names stand for."""
    if value is None:
        return set()
    parts = list(ast.walk(value))
    keys = [key for part in parts if isinstance(part, ast.Dict) for key in part.keys]
    found = {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return found.union(*(named.get(part.id, set()) for part in parts if isinstance(part, ast.Name)))


def _written(message: str) -> str:
    return re.sub(r"%[gsd]", "…", message)


def _everywhere(read: Callable[[Path], dict[str, set[str]]]) -> dict[str, set[str]]:
    """What is read in each source, together."""
    sources = [*(ROOT / "directory").rglob("*.py"), *ROOT.glob("*.py")]
    found: dict[str, set[str]] = {}
    for source in (each for each in sources if "node_modules" not in each.parts):
        for message, values in read(source).items():
            found.setdefault(message, set()).update(values)
    return found


def test_every_message_of_ours_is_on_the_page_and_no_other_with_its_level() -> None:
    told = {words(row[0])[0]: set(re.findall(r"\w+", row[1])) for row in rows("Log")}
    said = _everywhere(_said)
    assert said.pop("… …") == set()  # `DELIVERIES` has the words
    assert said.pop("…") == {"warning"}  # lines about settings, which say all themselves
    said |= DELIVERIES
    # Texts that are made elsewhere, each with the file that has its words.
    elsewhere = {
        "DATABASE_URL leads through a connection pooler, whose sessions lack our settings (…). …": pooler.__file__,
        "WORKER TIMEOUT (pid:…)": arbiter.__file__,
        "request": logs.__file__,
    }
    for message, file in elsewhere.items():
        assert re.split("…|,", message)[0] in Path(file).read_text()
    assert told.keys() - elsewhere.keys() == said.keys()
    assert {message: levels for message, levels in said.items() if told[message] != levels} == {}


def test_the_members_of_every_message_are_on_the_page_and_no_other() -> None:
    added = _everywhere(_members)
    of_deliveries = added.pop("… …")
    added |= dict.fromkeys(DELIVERIES, of_deliveries)
    told: dict[str, set[str]] = {}
    members: set[str] = set()
    for message, _, cell, _ in rows("Log"):
        members = members if cell.startswith("the same") else set(words(cell))
        told[words(message)[0]] = members
    assert of_deliveries
    assert {message: names for message, names in added.items() if told.get(message, names) != names} == {}
    assert {message for message, names in told.items() if names} - added.keys() == {"request"}


def test_every_logged_refusal_is_on_the_page() -> None:
    [row] = [row for row in rows("Log") if words(row[0]) == ["refused"]]
    assert set(words(row[-1])) >= REFUSALS | {"validation_failed"}


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_the_page_is_linked(page: str) -> None:
    assert "observability.md" in (ROOT / page).read_text()
