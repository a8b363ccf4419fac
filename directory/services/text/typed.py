"""Tags and addresses as people type them in a form, in the form of the API."""

import re
import unicodedata

_SEPARATORS = re.compile(r"[\s,;\u060c\u3001\uff0c]+")
_JOINTS = re.compile("[_/-]+")
_SIGNS = str.maketrans({".": "", "+": "p", "#": "sharp", "&": "-and-"})
# A host without a scheme: it has a dot, and neither a user nor a scheme before it.
_BARE = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#.]+\.?(:\d+)?(?:[/?#].*)?", re.DOTALL)


def tags(line: str) -> list[str]:
    """The tags of a line, which commas or white space separate: each once, in lower case.

    `C++` is cpp, `C#` csharp, `Node.js` nodejs, `.NET` dotnet and `Café` cafe. A tag in another script stays as it is.
    """
    return list(dict.fromkeys(filter(None, map(_tag, _SEPARATORS.split(line)))))


def _tag(typed: str) -> str:
    spelled = unicodedata.normalize("NFKD", typed)
    plain = "".join(char for char in spelled if not unicodedata.category(char).startswith("M")).lower()
    plain = plain.removeprefix("#")
    plain = f"dot{plain[1:]}" if plain.startswith(".") and plain[1:2].isalnum() else plain
    return _JOINTS.sub("-", plain.translate(_SIGNS)).strip("-")


def with_scheme(typed: str) -> str:
    """An address with its scheme: `vim.org` is https://vim.org. Other text is only trimmed."""
    text = typed.strip()
    return f"https://{text}" if _BARE.fullmatch(text) else text
