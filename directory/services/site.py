"""The name of the service and its public address, from the settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """The name of the site, its public origin, which is empty where it is not known, and its tagline.

    `links` are the label and address of each link at the end of a page. `logo` and `image`, for previews of links, are
    paths, empty where the operator has none.
    """

    name: str = "Project Directory"
    url: str = ""
    tagline: str = ""
    links: tuple[tuple[str, str], ...] = ()
    logo: str = ""
    image: str = ""

    def address(self, path: str) -> str:
        """The absolute address of a path; the path itself where the origin is not known."""
        return f"{self.url}{path}"


NOWHERE = Site()  # with no address that is known
