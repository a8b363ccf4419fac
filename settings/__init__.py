"""The settings: `declared.py` has one declaration each, the other modules parse values. Only `config.py` reads them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# A wheel has no setup.cfg: what it stores stays out of its folder of code.
HOME = ROOT if (ROOT / "setup.cfg").is_file() else Path.cwd()
EVERY, NOTIFYING = "every command", "commands that may notify somebody"


@dataclass(frozen=True)
class Setting:
    """A variable of the environment. What refuses, names and documents settings is made from its declaration."""

    name: str
    parse: Callable[[str], Any]  # raises ValueError with a reason that completes "NAME: …", and repeats no secret
    default: str  # as one would write it
    meaning: str  # in the Markdown of docs/settings.md, with links from there
    # What needs it besides the server, which needs all: commands by name, or a kind of them. A fault in a setting is a
    # warning of a command that does not need it.
    needed_by: tuple[str, ...] = ()
    becomes: str = ""  # the value that it is made into, if that has another name
    is_secret: bool = False  # NAME_FILE names a file to read it from, as containers and systemd hand secrets over
    default_shown: str = ""  # how the document has the default, if not as it is written

    @property
    def value(self) -> str:
        """The value that it is made into. The settings of one value make sense together, or not at all."""
        return self.becomes or self.name


class ConfigError(SystemExit):
    """A setting that makes no sense; as a SystemExit it ends the start with its one line on standard error."""

    def __init__(self, name: str, why: str, *, because: Collection[str] = ()) -> None:
        """`because` names the settings that demand the one that is missing: without these the others would do."""
        super().__init__(f"{name}: {why}")
        self.name, self.because = name, frozenset(because)
