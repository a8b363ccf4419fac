"""What a forge says of a repository, by its public API: of GitHub, GitLab and Forgejo.

What the API says is data: each value has its type and its bounds, or is null.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from directory.extras.links import states
from directory.extras.links.states import Entry
from directory.extras.links.transport import Asking, HostBusy, NoAnswer
from directory.services.clock import timestamp
from directory.services.text.links import parsed

PUBLIC = {"https://github.com": "github", "https://gitlab.com": "gitlab", "https://codeberg.org": "forgejo"}
# What stands in the place of an owner in other addresses of GitHub.
NO_OWNERS = {"about", "apps", "collections", "enterprise", "features", "login", "marketplace", "orgs", "settings"}
NO_OWNERS |= {"sponsors", "topics", "users"}
LONGEST, MOST = 100, 2**53
MISSING = {404, 410, 451}
AGAIN = timedelta(days=1)  # after what is neither an answer nor the lack of a repository
USED_UP = 60.0  # seconds for which a forge is not to be asked if its limit is used up
# The forges allow no other names. An escape or dots might lead a request, with the token, to another place of the API.
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")


_parsed_once = cache(parsed)


@dataclass(frozen=True, slots=True)
class Forge:
    """A forge: its address, the kind of its API, and a token for that."""

    url: str
    kind: str
    token: str = field(default="", repr=False)

    @property
    def api(self) -> str:
        """The address under which its API has repositories."""
        if self.kind == "github":
            return "https://api.github.com/repos/" if self.url == "https://github.com" else f"{self.url}/api/v3/repos/"
        return f"{self.url}/api/v4/projects/" if self.kind == "gitlab" else f"{self.url}/api/v1/repos/"

    def repository(self, url: str) -> str | None:
        """The address of the API for the repository to which an address leads; None if it leads to none of its own."""
        names = self._names(url)
        if names is None:
            return None
        if self.kind == "gitlab":
            return f"{self.api}{'%2F'.join(names)}?license=true"
        return self.api + "/".join(names)

    def web(self, url: str) -> str | None:
        """The address of the repository to which an address leads; None if it leads to none of its own."""
        names = self._names(url)
        return None if names is None else "/".join([self.url, *names])

    def _names(self, url: str) -> list[str] | None:
        """The names of the owner, of groups, and of the repository to which an address leads."""
        read, base = parsed(url), _parsed_once(self.url)
        if read is None or read.host not in {base.host, f"www.{base.host}"} or read.protocol not in {"https:", "http:"}:
            return None
        folder = base.pathname.rstrip("/")
        if not read.pathname.startswith(f"{folder}/"):
            return None
        path = read.pathname.removeprefix(folder).partition("/-/")[0]
        names = [name for name in path.split("/") if name]
        if self.kind != "gitlab":
            names = names[:2]
        if len(names) < 2 or (self.kind == "github" and names[0].lower() in NO_OWNERS):
            return None
        names[-1] = names[-1].removesuffix(".git")
        return names if all(map(_NAME.fullmatch, names)) else None

    def headers(self) -> dict[str, str]:
        """The headers that carry the token."""
        words = {"github": ("Authorization", "Bearer "), "gitlab": ("PRIVATE-TOKEN", "")}
        name, begin = words.get(self.kind, ("Authorization", "token "))
        return {name: f"{begin}{self.token}"} if self.token else {}


def configured(listed: Sequence[Mapping[str, str]]) -> tuple[Forge, ...]:
    """The forges of the settings, and the public ones."""
    own = {one["url"]: Forge(one["url"], one["kind"], one["token"]) for one in listed}
    return (*own.values(), *(Forge(url, kind) for url, kind in PUBLIC.items() if url not in own))


def look(
    project_id: int, url: str, before: Entry | None, asking: Asking, forges: Sequence[Forge], at: datetime, days: int
) -> Entry:
    """What is known of the repository at an address after its forge was asked, if it has one. Raises HostBusy."""
    known = before if before is not None and before["url"] == url else {"etag": None, "facts": None}
    entry = {**known, "url": url, "due": timestamp(states.next_turn(project_id, at, days))}
    pair = next(((forge, api) for forge in forges if (api := forge.repository(url)) is not None), None)
    if pair is None:
        return {**entry, "etag": None, "facts": None}
    forge, api = pair
    headers = {"Accept": "application/json", **forge.headers()}
    headers |= {"If-None-Match": known["etag"]} if known["etag"] else {}
    try:
        answer = asking.get(api, reads=True, headers=headers)
    except HostBusy as error:
        if error.seconds < USED_UP:
            raise
        seconds = random.uniform(error.seconds, AGAIN.total_seconds())  # noqa: S311 (not all of them at once)
        return {**entry, "due": timestamp(at + timedelta(seconds=seconds))}
    except NoAnswer:
        return {**entry, "due": timestamp(at + AGAIN)}
    if answer.status == 304 and known["facts"] is not None:
        return {**entry, "facts": {**known["facts"], "checked_at": timestamp(at)}}
    if answer.status in MISSING:
        return {**entry, "etag": None, "facts": None}
    facts = facts_of(forge.kind, answer.body) if answer.status == 200 else None
    if facts is None:
        return {**entry, "due": timestamp(at + AGAIN)}
    etag = answer.headers.get("etag", "")
    kept = etag if 0 < len(etag) <= LONGEST and etag.isascii() and etag.isprintable() else None
    return {**entry, "etag": kept, "facts": {**facts, "checked_at": timestamp(at)}}


def facts_of(kind: str, body: bytes) -> dict[str, Any] | None:
    """The facts in an answer of an API; None if it is not the JSON of an object."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    names = {
        "github": ("stargazers_count", "fork", "language", "pushed_at"),
        "gitlab": ("star_count", "forked_from_project", "language", "last_activity_at"),
        "forgejo": ("stars_count", "fork", "language", "updated_at"),
    }
    stars, fork, language, pushed = (said.get(name) for name in names[kind])
    if kind == "gitlab":
        fork = fork is not None
    return {
        "license": _license(said), "stars": stars if type(stars) is int and 0 <= stars <= MOST else None,
        "archived": _truth(said.get("archived")), "fork": _truth(fork), "language": _line(language),
        "created_at": _time(said.get("created_at")), "pushed_at": _time(pushed),
    }  # fmt: skip


def _license(said: dict[str, Any]) -> str | None:
    """The SPDX identifier of the licence: GitHub's `spdx_id`, GitLab's `key`, the only one of Forgejo's `licenses`."""
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    one, several = said.get("license"), said.get("licenses")
    if isinstance(one, dict):
        one = one.get("spdx_id") or one.get("key")
    elif isinstance(several, list) and len(several) == 1:
        one = several[0]
    if not isinstance(one, str) or len(one) > LONGEST:
        return None
    try:
        expression = str(canonicalize_license_expression(one))
    except InvalidLicenseExpression:
        return None
    return None if "LicenseRef-" in expression else expression


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _line(value: Any) -> str | None:
    """A short name of printable characters."""
    fits = isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()
    return value.strip() or None if fits else None


def _time(value: Any) -> str | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= LONGEST else None
        return None if at is None or at.tzinfo is None else timestamp(at.astimezone(UTC))
    except (ValueError, OverflowError):
        return None
