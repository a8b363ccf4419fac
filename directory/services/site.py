"""What the service is called and where people find it, as the settings say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """The name of the site, and its public origin, which is empty where it is not known."""

    name: str = "Project Directory"
    url: str = ""

    def address(self, path: str) -> str:
        """The absolute address of a path; the path itself where the origin is not known."""
        return f"{self.url}{path}"


NOWHERE = Site()  # with no address that is known
