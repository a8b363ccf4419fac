"""The setting that chooses the extras, and the settings of the extras themselves."""

import runpy

from settings import ROOT, Setting

FOLDER = ROOT / "directory" / "extras"


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


def declared() -> tuple[Setting, ...]:
    """The declarations in `settings.py` of each extra. Each is run by itself, because a start imports no extra here."""
    files = sorted(FOLDER.glob("*/settings.py"))
    return tuple(setting for file in files for setting in runpy.run_path(str(file))["SETTINGS"])
