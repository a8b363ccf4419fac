"""The settings of the looks at links.

`settings.extras` runs this file alone, so it imports nothing of the directory.
"""

from collections.abc import Mapping
from typing import Any

from settings import Setting
from settings.values import choice, whole


def together(read: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the deliverer's process has links to look at."""
    return {"LINKS_ARE_CHECKED": read["LINK_CHECKS"] == "on"}


SETTINGS = (
    Setting(
        "LINK_CHECKS", choice("off", "on"), "off",
        "Whether the service looks at the websites and repositories of projects: `on` or `off`; [more](links.md).",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_CHECK_DAYS", whole(1, 90), "7",
        "The days from one look at a link that works to the next one.",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_GONE_DAYS", whole(0, 90), "3",
        "The days after which a link is dead that the host answers with 404 or 410.",
        needed_by=("links check", "webhooks work"),
    ),
    Setting(
        "LINK_UNREACHABLE_DAYS", whole(0, 90), "7",
        "The days after which a link is dead whose host does not answer.",
        needed_by=("links check", "webhooks work"),
    ),
)  # fmt: skip
