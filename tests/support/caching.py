"""Finds the response cache of an application, for tests that look into it."""

from flask import Flask

from directory.cache.cacheable_request import CacheableRequest
from directory.cache.middleware import CacheMiddleware
from directory.cache.validator import SnapshotValidator
from directory.http.hooks import request_id


def request_for(path: str, query: str = "") -> CacheableRequest:
    """An anonymous read of an address, under a fresh id."""
    return CacheableRequest("http", path, query, request_id(""), None)


def cache_of(app: Flask) -> CacheMiddleware:
    """The cache middleware of an application that has one."""
    cache: CacheMiddleware = app.extensions["response_cache"]
    return cache


def validator_of(app: Flask) -> SnapshotValidator:
    """The snapshot validator of an application that has one."""
    validator: SnapshotValidator = app.extensions["snapshot_validator"]
    return validator


def close_validator(app: Flask) -> None:
    """Close the connection of the application's snapshot validator, where there is one."""
    if "snapshot_validator" in app.extensions:
        validator_of(app).close()
