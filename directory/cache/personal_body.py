"""Makes the body for a signed-in reader out of a public body that shows projects.

The two differ by `has_upvoted` of each project, and by the members that only its owner and administrators see. The
places of both are found by searching the bytes: text within a value cannot match, because its quotes are escaped.
"""

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import orjson
from marshmallow import Schema

from directory.http import endpoint
from directory.http.cache_policy import CachePolicy
from directory.http.serialization import compiled
from directory.services.catalog.readers import NOTHING_MORE, seen_by_owner

NULL, FALSE, TRUE = b"null", b"false", b"true"
VOTE = b'"has_upvoted":'
FIELDS = b'"fields":'
_UNKNOWN_VOTE = re.compile(VOTE + NULL)
_VERSION = re.compile(rb'"version":\d+')  # the last public member of a project, which others may follow


class ShownProjects(NamedTuple):
    """The projects in a body: their ids and their owners', separated by commas, and the places of personal parts."""

    ids: str
    owners: str
    vote_places: "array[int]"  # where the value of each vote begins
    end_places: "array[int]"  # where the public members of each project end


@dataclass(slots=True)
class PersonalParts:
    """The parts of one public response that differ by reader. They are found when its first signed-in reader comes.

    Where the policy names no projects all readers get the same body.
    """

    policy: CachePolicy
    _projects: ShownProjects | None = field(default=None, compare=False)
    _unvoted_etag: str = field(default="", compare=False)

    @staticmethod
    def fits(spec: endpoint.Operation) -> bool:
        """Whether the responses of an operation can be filled in for one reader."""
        return not spec.personal or spec.cache.projects is not None

    def projects(self, body: bytes) -> ShownProjects:
        """The projects and their places. Raises ValueError if a project lacks one."""
        if self._projects is None:
            shown = [] if self.policy.projects is None else self.policy.projects(orjson.loads(body))
            ids = ",".join(str(project["id"]) for project in shown)
            owners = ",".join(str(project["owner"]["id"]) for project in shown)
            vote_places = array("I", [match.end() - len(NULL) for match in _UNKNOWN_VOTE.finditer(body)])
            end_places = array("I", [match.end() for match in _VERSION.finditer(body)])
            if not len(vote_places) == len(end_places) == len(shown):
                raise ValueError("a public response does not have one vote and one version for each of its projects")
            self._projects = ShownProjects(ids, owners, vote_places, end_places)
        return self._projects

    def fill(self, body: bytes, etag: str, voted: str | None, own: str | None) -> tuple[bytes, str]:
        """The body for a reader, and its ETag. `voted` and `own` are the reader's columns of `readers.votes`."""
        if self.policy.projects is None:
            return body, etag
        project, plain = self.policy.project, _plain_members(self.policy.project)
        seen: dict[str, tuple[bytes, bytes | None]] = {}  # the members of owners, and their own `fields`
        for project_id, rest in seen_by_owner(own):
            fields = orjson.dumps(rest.pop("fields")) if "fields" in rest else None
            seen[project_id] = plain if rest == NOTHING_MORE else _members(project, rest), fields
        if voted is not None or seen:
            filled = b"".join(self._parts(body, {*(voted or "").split(",")}, seen))
            return filled, _etag_like(etag, filled)
        filled = body.replace(VOTE + NULL, VOTE + FALSE)
        self._unvoted_etag = self._unvoted_etag or _etag_like(etag, filled)  # most readers see the page like this
        return filled, self._unvoted_etag

    def _parts(self, body: bytes, voted: set[str], seen: dict[str, tuple[bytes, bytes | None]]) -> list[bytes]:
        ids, _, vote_places, end_places = self.projects(body)
        parts, begin = list[bytes](), 0
        for project_id, vote, end in zip(ids.split(",") if ids else (), vote_places, end_places, strict=True):
            more, fields = seen.get(project_id, (b"", None))
            rest = body[vote + len(NULL) : end]
            rest = rest if fields is None else _with_fields(rest, fields)
            parts += body[begin:vote], TRUE if project_id in voted else FALSE, rest, more
            begin = end
        return [*parts, body[begin:]]


def _with_fields(members: bytes, fields: bytes) -> bytes:
    """The last public members of a project, with other values of own fields, which stand before the version."""
    begin, end = members.rindex(FIELDS) + len(FIELDS), members.rindex(b',"version":')
    return members[:begin] + fields + members[end:]


def _members(project: Schema | None, rest: dict[str, Any]) -> bytes:
    """The members for owner and administrators, as JSON that follows the public ones."""
    dump: Callable[[Any], Any] = dict if project is None else compiled(project)
    return b"," + orjson.dumps(dump(rest))[1:-1]


@cache
def _plain_members(project: Schema | None) -> bytes:
    """The result of `_members` if none is set, kept: an administrator gets it for most projects of a page."""
    return _members(project, NOTHING_MORE)


def _etag_like(etag: str, body: bytes) -> str:
    """The ETag of `body`: the version at the beginning of `etag`, if it has one, and the digest of `body`."""
    version, dash, _ = etag.strip('"').rpartition("-")
    return f'"{version}{dash}{endpoint.digest(body)}"'
