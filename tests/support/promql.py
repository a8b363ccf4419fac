"""The names in a PromQL expression: metrics, the labels by which it selects and groups, and the selected values."""

import re
from typing import NamedTuple

METRIC = re.compile(r"\b(directory_[a-z_]+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
INTERVAL = "$__rate_interval"  # Grafana replaces it by a duration


class Selector(NamedTuple):
    """A metric with its matchers: label, operator and value of each."""

    metric: str
    matchers: list[tuple[str, str, str]]


def selectors(expression: str) -> list[Selector]:
    """The metrics of ours that an expression selects."""
    found = METRIC.findall(re.sub(r'job="directory"', "", expression))
    return [Selector(metric, MATCHER.findall(inside)) for metric, inside in found]


def groupings(expression: str) -> set[str]:
    """The labels by which an expression groups."""
    return {label.strip() for inside in GROUPING.findall(expression) for label in inside.split(",") if label.strip()}


def unknown(expression: str, scraped: dict[str, set[str]]) -> list[str]:
    """What an expression names that a scrape does not have: metrics and labels."""
    named = selectors(expression)
    wrong = [metric for metric, _ in named if metric not in scraped]
    known = [(metric, label) for metric, matchers in named if metric in scraped for label, _, _ in matchers]
    wrong += [f"{metric}{{{label}}}" for metric, label in known if label not in scraped[metric]]
    # Prometheus itself adds `instance`.
    labels = {"instance"}.union(*(scraped.get(metric, set()) for metric, _ in named))
    return wrong + [f"by ({label})" for label in sorted(groupings(expression) - labels)]
