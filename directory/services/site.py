"""The name of the service and its public address, from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from directory.language.messages import SITE, of_operator


@dataclass(frozen=True, slots=True)
class Site:
    """The name, public origin and tagline of the site. `url` is empty if the origin is not configured.

    `links` are the label and address of each link at the end of a page. `logo` and `image` (for link previews) are
    paths, empty if not configured. `headline` is that of the first page, where it is not the tagline. The operator may
    translate the tagline, the headline and the labels.
    """

    name: str = "Project Directory"
    url: str = ""
    tagline: str = ""
    links: tuple[tuple[str, str], ...] = ()
    logo: str = ""
    image: str = ""
    headline: str = ""

    def __post_init__(self) -> None:
        """Make messages of what the operator may translate."""
        for name in ("tagline", "headline"):
            object.__setattr__(self, name, of_operator(SITE, getattr(self, name)))
        object.__setattr__(self, "links", tuple((of_operator(SITE, label), url) for label, url in self.links))

    def address(self, path: str) -> str:
        """The absolute address of a path; the path itself if the origin is not configured."""
        return f"{self.url}{path}"


def path_of(project: Mapping[str, Any]) -> str:
    """The address of a project's page."""
    return f"/p/{project['id']}/{project['slug']}"


NOWHERE = Site()  # without an address
