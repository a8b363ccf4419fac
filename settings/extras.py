"""The setting that chooses the extras, and the settings of the extras themselves."""

import runpy
from collections.abc import Mapping
from typing import Any

from settings import ROOT, Setting

FOLDER = ROOT / "directory" / "extras"
# What `settings.py` of each extra has. Each is run by itself, because a start imports no extra here.
FILES = {file.parent.name: runpy.run_path(str(file)) for file in sorted(FOLDER.glob("*/settings.py"))}
SETTINGS: tuple[Setting, ...] = tuple(setting for file in FILES.values() for setting in file["SETTINGS"])


def choice(value: str) -> str:
    """Which extras are on, as `directory.extras.chosen` reads it. Raises ValueError with the reason."""
    if value not in ("all", "none"):  # else nothing has to be imported
        from directory.extras import chosen

        chosen(value)
    return value


def is_on(value: str, name: str) -> bool:
    """Whether a value of EXTRAS switches an extra on, that is there."""
    if value in ("all", "none"):
        return value == "all" and (FOLDER / name).is_dir()
    from directory.extras import chosen

    return name in chosen(value)


def together(read: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the extras that are on make of several settings, by their function `together`.

    Raises ConfigError.
    """
    on = [file["together"] for name, file in FILES.items() if "together" in file and is_on(read["EXTRAS"], name)]
    return {name: value for made in on for name, value in made(read).items()}
