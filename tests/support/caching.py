"""Finds the response cache of an application, for tests that look into it."""

from collections.abc import Iterable

from flask import Flask

from directory.cache.reads import Read
from directory.cache.responder import ReaderResponse, Responder
from directory.cache.snapshot_source import SnapshotSource
from directory.http.exchange import request_id


def request_for(path: str, query: str = "") -> Read:
    """An anonymous read of an address, under a fresh id."""
    return Read("http", path, query, request_id(""), None)


def as_made(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of an answer as the application makes it: the cache adds to Vary where it has a compressed form."""
    return sorted((n, v.replace("Accept-Encoding, ", "") if n == "Vary" else v) for n, v in headers)


def cache_of(app: Flask) -> Responder:
    """The responder of an application that has one."""
    cache: Responder = app.extensions["response_cache"]
    return cache


def responses_in_loop(cache: Responder, reads: list[Read]) -> list[ReaderResponse | None]:
    """The responses to reads of one iteration of the event loop; None where a thread has to respond."""
    pending = [cache.pending(read) for read in reads]
    cache.respond_in_loop([each for each in pending if each is not None])
    return [each and each.response for each in pending]


def source_of(app: Flask) -> SnapshotSource:
    """The snapshot source of an application that has one."""
    source: SnapshotSource = app.extensions["snapshot_source"]
    return source


def close_snapshots(app: Flask) -> None:
    """Close the connection of the application's snapshot source, where there is one."""
    if "snapshot_source" in app.extensions:
        source_of(app).close()
