"""Votes counted by the rule itself, alone or together."""

from typing import Any

from flask import Flask

from directory.services.identity import Caller
from directory.services.votes.voting import CountAlone, Vote, count


def toggle(project_id: int, *, by: Caller) -> dict[str, Any]:
    return counted(Vote(by, project_id, "toggle"))


def cast(project_id: int, *, by: Caller) -> dict[str, Any]:
    return counted(Vote(by, project_id, "cast"))


def withdraw(project_id: int, *, by: Caller) -> dict[str, Any]:
    return counted(Vote(by, project_id, "withdraw"))


def counted(vote: Vote) -> dict[str, Any]:
    """The answer to the caller of one vote. Raises its refusal."""
    (outcome,) = count([vote])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def gather(app: Flask, votes: list[Vote]) -> list[Any]:
    """The answers to votes that come at once: those that cannot be counted together are counted alone."""
    with app.app_context():
        outcomes = count(votes)
        return [
            count([vote])[0] if isinstance(outcome, CountAlone) else outcome
            for vote, outcome in zip(votes, outcomes, strict=True)
        ]
