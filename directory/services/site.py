"""The name of the service and its public address, from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Site:
    """The name, public origin and tagline of the site. `url` is empty if the origin is not configured.

    `links` are the label and address of each link at the end of a page. `logo` and `image` (for link previews) are
    paths, empty if not configured. `headline` is that of the first page, where it is not the tagline.
    """

    name: str = "Project Directory"
    url: str = ""
    tagline: str = ""
    links: tuple[tuple[str, str], ...] = ()
    logo: str = ""
    image: str = ""
    headline: str = ""

    def address(self, path: str) -> str:
        """The absolute address of a path; the path itself if the origin is not configured."""
        return f"{self.url}{path}"


def path_of(project: Mapping[str, Any]) -> str:
    """The address of a project's page."""
    return f"/p/{project['id']}/{project['slug']}"


NOWHERE = Site()  # without an address
