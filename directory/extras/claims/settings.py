"""The setting of claims."""

from settings import Setting
from settings.values import whole

SETTINGS = (
    Setting(
        "CLAIM_MINUTES", whole(0, 1440), "15",
        "For how many minutes a claim lasts, by which a reviewer shows the others that they look at a project: up to "
        "1440; 0 switches claims off.",
    ),
)  # fmt: skip
