"""The name of the service and its public address, from the settings."""

from dataclasses import dataclass


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


NOWHERE = Site()  # without an address
