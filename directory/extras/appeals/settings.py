"""The setting that lets owners appeal."""

from settings import Setting
from settings.values import choice

SETTINGS = (
    Setting(
        "APPEALS", choice("off", "on"), "off",
        "Whether owners may appeal against a rejection or unpublishing, once for each and within 180 days: `on` or "
        "`off`.",
    ),
)  # fmt: skip
