"""Names in the environment that begin like settings and are none: most are misspelled."""

import re
from collections.abc import Collection, Mapping

# Platforms, libraries and other programs have names that begin with these too. So of them only those count that are
# nearly the name of a setting.
SHARED = frozenset(
    {"ALLOW", "APP", "DATABASE", "ENV", "GITHUB", "LOG", "NO", "OTEL", "PUBLIC", "READ", "REDIS", "SECRET", "SENTRY"}
    | {"SERVER", "WEB"}
)
COLOUR = re.compile("COLOU?R")  # which SITE_ACCENT is
NEARLY = 2  # letters to add, remove or replace
# Docker and Kubernetes name the other services, by whatever name those have.
OF_SERVICES = re.compile(r".+_(SERVICE_(HOST|PORT)(_.*)?|PORT_\d+_(TCP|UDP)(_.*)?)")
ADDRESS_OF_SERVICE = re.compile("(tcp|udp)://")


def misspelled(environ: Mapping[str, str], settings: Collection[str]) -> list[str]:
    """A line for each name that begins like a setting and is none, with the nearest setting."""
    prefixes = {prefix for name in settings for prefix, mark, _ in [name.partition("_")] if mark}
    found = []
    for name in sorted(environ):
        prefix, mark, _ = name.partition("_")
        if name in settings or not mark or not _is_near(prefix, prefixes) or _is_of_service(name, environ[name]):
            continue
        meant = COLOUR.sub("ACCENT", name)
        nearest = min(sorted(settings), key=lambda setting: _distance(meant, setting))
        if (prefix in prefixes and prefix not in SHARED) or _distance(name, nearest) <= NEARLY:
            found.append(f"{name} is not a setting, so nothing reads it; the nearest is {nearest}")
    return found


def _is_near(prefix: str, prefixes: Collection[str]) -> bool:
    """Whether a name that begins like this may mean a setting: `WEBHOOKS_` is nearly `WEBHOOK_`."""
    long = [each for each in prefixes if len(each) > NEARLY + 1 and abs(len(each) - len(prefix)) <= 1]
    return prefix in prefixes or any(_distance(prefix, each) <= 1 for each in long)


def _is_of_service(name: str, value: str) -> bool:
    return bool(OF_SERVICES.fullmatch(name) or ADDRESS_OF_SERVICE.match(value))


def _distance(one: str, other: str) -> int:
    """How many letters have to be added, removed or replaced to make one of the other."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        above, row[0] = row[0], number
        for place, wanted in enumerate(other, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != wanted))
    return row[-1]
