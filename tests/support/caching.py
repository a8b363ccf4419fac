"""Finds the response cache of an application, for tests that look into it."""

from flask import Flask

from directory.cache.reads import Read
from directory.cache.responder import Responder
from directory.cache.validator import SnapshotValidator
from directory.http.hooks import request_id


def request_for(path: str, query: str = "") -> Read:
    """An anonymous read of an address, under a fresh id."""
    return Read("http", path, query, request_id(""), None)


def cache_of(app: Flask) -> Responder:
    """The responder of an application that has one."""
    cache: Responder = app.extensions["response_cache"]
    return cache


def validator_of(app: Flask) -> SnapshotValidator:
    """The snapshot validator of an application that has one."""
    validator: SnapshotValidator = app.extensions["snapshot_validator"]
    return validator


def close_validator(app: Flask) -> None:
    """Close the connection of the application's snapshot validator, where there is one."""
    if "snapshot_validator" in app.extensions:
        validator_of(app).close()
