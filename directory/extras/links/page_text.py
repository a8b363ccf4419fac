"""What an HTML page says of itself: its title, its description, and its links.

Pages are hostile: each pattern reads a text once, and none goes back, so that the time grows with the length alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

# A quoted value may have ">" but no "<", at which a tag that does not end is given up.
_TAG = re.compile(r"""<(meta|title|a)\b((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w:-])([a-z:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""", re.IGNORECASE)
# What readers do not see, and what has titles of its own: where it begins, and where it ends.
_HIDDEN = tuple(
    (re.compile(begin, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for begin, end in (("<!--", "-->"), *((rf"<{name}\b", f"</{name}") for name in ("script", "style", "svg")))
)
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Those that pages have. Python knows others, such as of names of hosts, some of which take very long.
_ENCODINGS = re.compile(
    r"utf-?8|us-ascii|(iso-8859|windows|koi8)-\w+|shift_jis|euc-(jp|kr)|gbk|gb2312|gb18030|big5", re.IGNORECASE
)
_LOOKED_AT = 1024  # bytes in which a page names its encoding
_LONGEST = 4000  # characters of a text: of a reference to a character with more digits Python makes an error


@dataclass(frozen=True, slots=True)
class PageText:
    """The texts of a page, empty where it has none, and where its links lead, as they are written."""

    title: str
    description: str
    links: tuple[str, ...]


def read(body: bytes, content_type: str, most_links: int) -> PageText:
    """The texts and the first links of a page."""
    html = _visible(decoded(body, content_type))
    said: dict[str, str] = {}
    links = list[str]()
    for tag in _TAG.finditer(html):
        name, of = tag[1].lower(), dict(_attributes(tag[2]))
        if name == "title":
            end = html.find("<", tag.end())
            said.setdefault("title", unescape(html[tag.end() : end if end >= 0 else None][:_LONGEST]))
        elif name == "meta":
            key = (of.get("property") or of.get("name") or "").lower()
            if of.get("content", "").strip():
                said.setdefault(key, of["content"])
        elif "href" in of and len(links) < most_links:
            links.append(of["href"].strip())
    title, about = (said.get(f"og:{name}") or said.get(name, "") for name in ("title", "description"))
    return PageText(title, about, tuple(links))


def decoded(body: bytes, content_type: str) -> str:
    """A page as text, in the encoding that its header or its beginning names."""
    named = _CHARSET.search(content_type) or _CHARSET.search(body[:_LOOKED_AT].decode("ascii", "replace"))
    name = named[1] if named and _ENCODINGS.fullmatch(named[1]) else "utf-8"
    try:
        return body.decode(name, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def line_of(text: str, most: int) -> str | None:
    """A text in one line, of at most so many characters, which ends with a word; None without a visible one."""
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    if len(line) > most:
        line = line[: most + 1].rpartition(" ")[0] or line[:most]
    return line or None


def _visible(html: str) -> str:
    for begin, end in _HIDDEN:
        first, *others = begin.split(html)
        html = first + "".join(([*end.split(part, 1), ""])[1] for part in others)
    return html


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    """The attributes of a tag; of a name that is there twice the first counts, as in browsers."""
    attributes = list(_ATTRIBUTE.findall(text))
    for name, double, single, plain in reversed(attributes):
        yield name.lower(), unescape((double or single or plain)[:_LONGEST])
