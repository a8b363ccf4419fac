"""Makes the tests quick, and patient: cheap hashes, files in memory, long waits for a database.

What applications make alike is made once for all of a process: URL rules, templates, translations and statements.
"""

import gc
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache
from werkzeug.routing import Rule

from directory.db import deadline, deadline_connection
from directory.http import readiness
from directory.language import po
from directory.language.catalogues import Catalogue
from directory.language.templates import TranslatedEnvironment
from directory.services import health
from directory.services.accounts import passwords

MEMORY = Path("/dev/shm")
MEMORY_BYTES = 1 << 28  # several times what a run needs
# The seconds of each wait for a database as it is shipped, which a busy machine can exceed, and those of the tests.
WAITS: list[tuple[Any, str, float, float]] = [
    (deadline, "SECONDS", deadline.SECONDS, 60.0),
    (deadline_connection, "SILENCE", deadline_connection.SILENCE, 30.0),
    (deadline_connection, "CONNECT_SECONDS", deadline_connection.CONNECT_SECONDS, 20),
    (readiness, "DATABASE_SECONDS", readiness.DATABASE_SECONDS, 30.0),
    (health, "SCRAPE_SECONDS", health.SCRAPE_SECONDS, 60.0),  # at least those of a connection
]


def configure() -> None:
    """Make this process, and the temporary folders of its tests, quick."""
    hash_cheaply()
    use_memory()
    share_rules()
    share_templates()
    share_catalogues()
    share_statements()
    wait_long()
    collect_seldom()


def hash_cheaply() -> None:
    """Hash passwords at a thousandth of the real cost."""
    passwords.configure(8, 1, 1)


def use_memory() -> None:
    """Have tmp_path lie in memory where there is space: SQLite waits for the disk at each commit."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def wait_long() -> None:
    """Wait long for a database, so that no test gets a 503 because the machine is busy."""
    for module, name, _, seconds in WAITS:
        setattr(module, name, seconds)


def wait_as_shipped(patch: Callable[[Any, str, float], None]) -> None:
    """Patch the waits for a database to what they are in the service."""
    for module, name, seconds, _ in WAITS:
        patch(module, name, seconds)


def collect_seldom() -> None:
    """Look for garbage seldom. Each test makes an application, and Python's thresholds are for small programs."""
    gc.set_threshold(50_000, 10, 10)


def share_rules() -> None:
    """Compile each URL rule once for all applications: it is most of the time of a `create_app`.

    Werkzeug compiles for each application again the expressions that match a rule, and functions that build its URLs.
    """
    compile_rule: Any = Rule.compile
    compiled: dict[tuple[Any, ...], Rule] = {}

    def shared(rule: Any) -> None:
        if rule.defaults or rule.subdomain or rule.host:
            return compile_rule(rule)  # type: ignore[no-any-return]
        key = (rule.rule, rule.merge_slashes, frozenset(rule.map.converters.items()))
        if (known := compiled.get(key)) is None:
            compile_rule(rule)
            compiled[key] = rule
            return None
        rule._parts, rule._trace, rule._converters = known._parts, known._trace, known._converters
        rule.arguments |= known.arguments
        rule._build = known._build.__func__.__get__(rule, None)  # type: ignore[attr-defined]
        rule._build_unknown = known._build_unknown.__func__.__get__(rule, None)  # type: ignore[attr-defined]
        return None

    Rule.compile = shared  # type: ignore[method-assign]


def share_templates() -> None:
    """Compile each template once for all applications. Its code depends on its language and on the layout of blocks."""
    compile_template: Any = TranslatedEnvironment.compile
    compiled: dict[tuple[Any, ...], tuple[Catalogue, Any]] = {}

    def shared(environment: TranslatedEnvironment, source: Any, *names: Any, **options: Any) -> Any:
        spoken = environment.catalogue
        key = (id(spoken), environment.trim_blocks, source, names, *options.items())
        if key not in compiled:  # with its catalogue, so that no other one gets the same id
            compiled[key] = spoken, compile_template(environment, source, *names, **options)
        return compiled[key][1]

    TranslatedEnvironment.compile = shared  # type: ignore[method-assign]


def share_catalogues() -> None:
    """Read each translation once for all applications."""
    read = po.catalogue
    known: dict[tuple[Any, ...], Catalogue] = {}

    def shared(tag: str, files: Iterable[Path]) -> Catalogue:
        paths = tuple(files)
        try:
            key = (tag, paths, *(path.read_bytes() for path in paths))
        except OSError:
            return read(tag, paths)
        if key not in known:
            known[key] = read(tag, paths)
        return known[key]

    po.catalogue = shared


def share_statements() -> None:
    """Compile each statement once for all engines of a kind: SQLAlchemy knows it by the engine's own dialect."""

    def kind(dialect: Any) -> tuple[Any, ...]:
        return type(dialect), dialect.paramstyle, dialect._json_deserializer

    def alike(one: Any, other: object) -> bool:
        return isinstance(other, DefaultDialect) and kind(one) == kind(other)

    compiled: LRUCache[Any, Any] = LRUCache(5_000)
    DefaultDialect.__eq__ = alike  # type: ignore[method-assign]
    DefaultDialect.__hash__ = lambda dialect: hash(kind(dialect))  # type: ignore[method-assign]
    Engine._compiled_cache = property(lambda _engine: compiled, lambda _engine, _own: None)  # type: ignore[method-assign]
