"""Makes the tests quick: passwords are hashed cheaply, files lie in memory, and compiled URL rules are shared."""

import os
import shutil
from pathlib import Path
from typing import Any

from werkzeug.routing import Rule

from directory.services.accounts import passwords

MEMORY = Path("/dev/shm")
MEMORY_BYTES = 1 << 28  # several times what a run needs


def configure() -> None:
    """Make this process, and the temporary folders of its tests, quick."""
    hash_cheaply()
    use_memory()
    share_rules()


def hash_cheaply() -> None:
    """Hash passwords at a thousandth of the real cost."""
    passwords.configure(8, 1, 1)


def use_memory() -> None:
    """Have tmp_path lie in memory where there is space: SQLite waits for the disk at each commit."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def share_rules() -> None:
    """Compile each URL rule once for all applications: it is most of the time of a `create_app`.

    Werkzeug compiles for each application anew the expressions that match a rule, and functions that build its URLs.
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
