"""Vote placeholders: where a public response says null for the vote of a signed-in member, and how to fill that in.

For a member who owns none of the projects shown, the response differs by `has_upvoted` alone. Its text cannot be part
of a value, where the quotes around it would be escaped; so the bytes tell where it stands.
"""

import re
from array import array
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from directory.http import endpoint

NULL, FALSE, TRUE = b"null", b"false", b"true"
VOTE = b'"has_upvoted":'
_UNKNOWN_VOTE = re.compile(VOTE + NULL)


class Content(NamedTuple):
    """Of the projects in a body: the ids with commas in between, the owners, and the place of each vote's value."""

    ids: str
    owners: "array[int]"
    places: "array[int]"

    def fill(self, body: bytes, voted: Container[str]) -> bytes:
        """The body for a member, with true at the projects whose ids are in `voted`, and false at the others."""
        parts: list[bytes] = []
        end = 0
        for project_id, place in zip(self.ids.split(","), self.places, strict=True):
            parts += body[end:place], TRUE if project_id in voted else FALSE
            end = place + len(NULL)
        return b"".join([*parts, body[end:]])


@dataclass(slots=True)
class VotePlaceholders:
    """The placeholders of one public response; they are found when the first member reads it.

    `projects` returns the projects in the data of the response; without it all callers get the same body.
    """

    projects: Callable[[Any], list[dict[str, Any]]] | None
    _content: Content | None = field(default=None, compare=False)
    _unvoted_etag: str = field(default="", compare=False)

    @staticmethod
    def fits(spec: endpoint.Operation) -> bool:
        """Whether the responses of an operation differ for a member by votes at most."""
        return not spec.personal or spec.projects_of is not None

    def content(self, body: bytes) -> Content:
        """The projects and the places. Raises ValueError where not every project has a vote to fill in."""
        if self._content is None:
            projects = [] if self.projects is None else self.projects(orjson.loads(body))
            owners = array("q", [project["owner"]["id"] for project in projects])
            places = array("I", [found.end() - len(NULL) for found in _UNKNOWN_VOTE.finditer(body)])
            if len(places) != len(projects):
                raise ValueError("a public response does not have one vote for each of its projects")
            self._content = Content(",".join(str(project["id"]) for project in projects), owners, places)
        return self._content

    def fill(self, body: bytes, etag: str, voted: str | None) -> tuple[bytes, str]:
        """The body, and the ETag in the public one's form, for a member whose votes are these ids; None for no vote."""
        if self.projects is None:
            return body, etag
        if voted is not None:
            filled = self.content(body).fill(body, {*voted.split(",")})
            return filled, _etag_like(etag, filled)
        filled = body.replace(VOTE + NULL, VOTE + FALSE)
        self._unvoted_etag = self._unvoted_etag or _etag_like(etag, filled)  # most members see the page like this
        return filled, self._unvoted_etag


def _etag_like(etag: str, body: bytes) -> str:
    """The ETag of a body; a version that another ETag begins with stays."""
    version, dash, _ = etag.strip('"').rpartition("-")
    return f'"{version}{dash}{endpoint.digest(body)}"'
