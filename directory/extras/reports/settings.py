"""The settings of reports.

`settings.extras` runs this file alone, so it imports nothing of the directory.
"""

from settings import NOTIFYING, Setting, values

SETTINGS = (
    Setting(
        "REPORTS", values.choice("off", "members", "everybody"), "off",
        "Who may report a project to the reviewers: nobody (`off`), `members`, or `everybody`, without an account too.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "RATELIMIT_REPORTS", values.ratelimit, "5 per hour",
        "Reports about projects, per user or address.",
    ),
)  # fmt: skip
