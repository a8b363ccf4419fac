"""The dashboard and the alerts ask for what the service measures, and Prometheus takes their expressions."""

import itertools
import json
import math
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from flask import Flask

from directory.extensions import db
from tests.conftest import ENVIRONMENT, build
from tests.support import promql, servers
from tests.support.burst import ask, bearer
from tests.support.factories import World
from tests.support.processes import free_port
from tests.support.scraping import scrape
from tests.support.serving import ROOT, Serving, serving
from tests.support.waiting import until

GRAFANA, PROMETHEUS = ROOT / "ops" / "grafana", ROOT / "ops" / "prometheus"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "directory.json").read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
ALERTS = ROOT / "docs" / "alerts.yml"
ALERT_TESTS = sorted(PROMETHEUS.glob("alerts*_test.yml"))
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
]
EVERY = [*EXPRESSIONS, *(rule["expr"] for rule in RULES)]


@pytest.fixture
def promtool() -> Path:
    with servers.or_skip():
        return servers.debian_program("promtool", "prometheus")


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_panel_or_an_alert_names_only_metrics_and_labels_of_the_service(make_app: Any) -> None:
    scraped = scrape(make_app)
    labels = {metric: {label for sample in samples for label in sample} for metric, samples in scraped.items()}
    assert {expression: wrong for expression in EVERY if (wrong := promql.unknown(expression, labels))} == {}


def test_a_name_or_a_label_that_there_is_not_is_found() -> None:
    scraped = {"directory_votes_total": {"vote"}}
    assert promql.unknown('sum by (vote) (directory_votes_total{vote="cast"})', scraped) == []
    wrong = 'sum by (route) (directory_votes_total{kind="x"}) / directory_vote'
    assert promql.unknown(wrong, scraped) == ["directory_vote", "directory_votes_total{kind}", "by (route)"]


def test_every_metric_has_a_panel(make_app: Any) -> None:
    families = {re.sub(r"_(bucket|count|sum)$", "", metric) for metric in scrape(make_app)}
    shown = {selector.metric for expression in EXPRESSIONS for selector in promql.selectors(expression)}
    assert {re.sub(r"_(bucket|count|sum)$", "", metric) for metric in shown} == families


def test_a_value_that_an_expression_selects_is_one_that_the_service_gives(make_app: Any) -> None:
    scraped = scrape(make_app)
    routes = {rule.rule for rule in make_app().url_map.iter_rules()}
    for selector in itertools.chain.from_iterable(map(promql.selectors, EVERY)):
        for label, operator, value in selector.matchers:
            given = {sample[label] for sample in scraped[selector.metric] if label in sample}
            if label == "route":
                assert value in routes
            elif label != "status":  # a status depends on what happens
                wanted = value.split("|") if operator in {"=~", "!~"} else [value]
                assert set(wanted) <= given, selector


def test_each_panel_has_a_title_an_id_and_a_place_of_its_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken = [cell for panel in DASHBOARD["panels"] for cell in cells(panel["gridPos"])]
    assert len(taken) == len(set(taken))
    assert max(column for column, _ in taken) == 23
    for panel in PANELS:
        assert panel["title"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}


def cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    return itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"]))


def test_grafana_is_given_the_dashboard_and_its_data_source() -> None:
    provisioned = GRAFANA / "provisioning"
    [source] = yaml.safe_load((provisioned / "datasources" / "prometheus.yaml").read_text())["datasources"]
    [provider] = yaml.safe_load((provisioned / "dashboards" / "directory.yaml").read_text())["providers"]
    [variable] = DASHBOARD["templating"]["list"]
    assert variable["name"] == "datasource"
    assert variable["query"] == source["type"] == "prometheus"
    page = (ROOT / "docs" / "observability.md").read_text()
    assert f"`{provider['options']['path']}`" in page
    assert source["url"] in page


def test_promtool_takes_the_alerts_the_configuration_and_every_expression(promtool: Path, tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(ALERTS.read_text())
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    assert {job["job_name"] for job in configuration["scrape_configs"]} == {"directory"}
    assert f"{len(RULES)} rules found" in run(promtool, "check", "config", tmp_path / "prometheus.yml")
    recorded = [{"record": f"panel_{n}", "expr": concrete(each)} for n, each in enumerate(EXPRESSIONS)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}))
    assert f"{len(EXPRESSIONS)} rules found" in run(promtool, "check", "rules", tmp_path / "panels.yml")


def test_each_alert_is_tested_to_fire_and_not_to_fire() -> None:
    groups = [group for tests in ALERT_TESTS for group in yaml.safe_load(tests.read_text())["tests"]]
    tried = {(test["alertname"], bool(test["exp_alerts"])) for group in groups for test in group["alert_rule_test"]}
    assert tried == {(rule["alert"], fires) for rule in RULES for fires in (True, False)}


def test_the_alerts_fire_when_they_should_and_not_before(promtool: Path) -> None:
    assert "SUCCESS" in run(promtool, "test", "rules", *ALERT_TESTS)


def concrete(expression: str) -> str:
    """The expression as Grafana sends it."""
    return expression.replace(promql.INTERVAL, "30s")


@contextmanager
def prometheus(target: int, folder: Path) -> Iterator[str]:
    """A Prometheus that scrapes a port each second; its address."""
    with servers.or_skip():
        program = servers.debian_program("prometheus", "prometheus")
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{target}"]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    (folder / "alerts.yml").write_text(ALERTS.read_text())
    address = f"127.0.0.1:{free_port()}"
    options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command = [program, *options, f"--web.listen-address={address}"]
    with (folder / "prometheus.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"http://{address}"
        finally:
            process.kill()


def ask_prometheus(address: str, expression: str) -> list[float]:
    """The numbers that an expression comes to."""
    answer = requests.get(f"{address}/api/v1/query", {"query": concrete(expression)}, timeout=10).json()
    assert answer["status"] == "success", answer
    values = [float(series["value"][1]) for series in answer["data"]["result"]]
    return [value for value in values if not math.isnan(value)]


def is_ready(address: str) -> bool:
    with suppress(requests.ConnectionError):
        return requests.get(f"{address}/-/ready", timeout=10).ok
    return False


def act(app: Flask, server: Serving) -> None:
    """Do something of everything that a panel shows, so often that a rate is seen."""
    world = World(app)
    project, token = world.project(), world.caller(world.user()).token or ""
    for _ in range(4):
        ask(server.port, "GET", "/api/projects")
        ask(server.port, "PUT", f"/api/projects/{project}/upvote", headers=bearer(token))
        ask(server.port, "POST", "/api/auth/login", json={"login": "none", "password": "wrong horse battery"})
        time.sleep(1)  # until the next scrape
    with app.app_context():
        db.engine.dispose()


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_prometheus_finds_a_number_for_every_panel_in_what_a_running_service_says(
    database: Any, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": database.url, "METRICS_ENABLED": "true", "RATELIMIT_ENABLED": "true"}
    limited = {"RATELIMIT_AUTH": "2 per minute", "WEB_CONCURRENCY": "1"}
    with (
        serving({**ENVIRONMENT, **settings, **limited}, tmp_path / "log") as server,
        prometheus(server.port, tmp_path) as address,
    ):
        until(lambda: is_ready(address) and ask_prometheus(address, "up"))
        act(build(database.url), server)
        for panel in PANELS:
            asked = [target["expr"] for target in panel["targets"]]
            until(lambda asked=asked: any(ask_prometheus(address, each) for each in asked))  # type: ignore[misc]
        found = requests.get(f"{address}/api/v1/rules", timeout=10).json()["data"]["groups"][0]["rules"]
    assert [rule["name"] for rule in found if rule["health"] not in {"ok", "unknown"}] == []
