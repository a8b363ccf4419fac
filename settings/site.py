"""The settings of the site's look and texts. Each function raises ValueError with the reason."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from settings.values import separated, web_address

# A language, a script and a region of BCP 47, such as zh-Hant-TW.
LANGUAGE_TAG = re.compile(r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?", re.IGNORECASE)
MOST_LANGUAGES = 50
LONGEST_TAGLINE, LONGEST_LABEL, MOST_LINKS = 140, 50, 20
PAGE_NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
LARGEST = 512 * 1024  # bytes of a picture, which is held in memory
LINK = '{"label": "Imprint", "url": "/imprint"}'


class Picture(NamedTuple):
    """A picture of the site: the end of its file's name, and its content."""

    suffix: str
    content: bytes


def language(value: str) -> str:
    """The tag of a language, in the usual case."""
    found = LANGUAGE_TAG.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r} is not the tag of a language, such as de or pt-BR")
    name, script, region = found.groups()
    return "-".join([name.lower(), *([script.title()] if script else []), *([region.upper()] if region else [])])


def languages(value: str) -> tuple[str, ...]:
    """The tags of languages, with commas between them."""
    tags = tuple(language(each.strip()) for each in value.split(",")) if value else ()
    if len({*tags}) < len(tags) or len(tags) > MOST_LANGUAGES:
        raise ValueError(f"must name each language once, and at most {MOST_LANGUAGES} of them")
    return tags


def tagline(value: str) -> str:
    """One line, or nothing."""
    if len(value) > LONGEST_TAGLINE or not value.isprintable():
        raise ValueError(f"must be one line of at most {LONGEST_TAGLINE} characters, none of them invisible")
    return value


def links(value: str) -> tuple[tuple[str, str], ...]:
    """The label and address of each link of a JSON list."""
    try:
        given = json.loads(value) if value else []
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or len(given) > MOST_LINKS:
        raise ValueError(f"must be a JSON list of at most {MOST_LINKS} links, such as [{LINK}]")
    return tuple(_link(each) for each in given)


def _link(given: Any) -> tuple[str, str]:
    label, url = (given.get("label"), given.get("url")) if isinstance(given, dict) else (None, None)
    is_label = isinstance(label, str) and label.strip() and label.isprintable() and len(label) <= LONGEST_LABEL
    if not is_label or given.keys() != {"label", "url"} or not _is_address(url):
        raise ValueError(f"{json.dumps(given)[:200]} is not a link such as {LINK}")
    return str(label).strip(), str(url)


def _is_address(url: Any) -> bool:
    """Whether a link may lead there: to a site, a mailbox, or a path of this site."""
    if not isinstance(url, str) or not url.isprintable() or re.search(r'[\s<>"\\]', url):
        return False
    return bool(web_address(url) or re.fullmatch("mailto:[^@]+@[^@]+", url) or re.fullmatch("/(?!/).*", url))


def page_names(value: str) -> frozenset[str]:
    """The names of pages of the operator, with commas between them."""
    names = frozenset(separated(value))
    for name in sorted(names):
        if not PAGE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a page, such as imprint: use a-z, 0-9 and hyphens")
    return names


def security_contact(value: str) -> str:
    """Where a weakness is reported, as a URI of RFC 9116 (2.5.3); or nothing."""
    is_contact = web_address(value, ("https",)) or re.fullmatch(r"mailto:[^@\s]+@[^@\s]+|tel:\+?[0-9-]+", value)
    if value and not (is_contact and value.isascii() and value.isprintable()):
        raise ValueError("must be an address that begins with mailto:, https: or tel:")
    return value


def picture(value: str, home: Path) -> Picture | None:
    """The picture in a file, whose path may begin at `home`: SVG, PNG or WebP, by its content. None without one."""
    if not value:
        return None
    try:
        with (home / value).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise ValueError(f"{value!r} cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(content) > LARGEST:
        raise ValueError(f"{value!r} is larger than {LARGEST // 1024} KiB")
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture(".png", content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Picture(".webp", content)
    if re.match(
        rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]", content, re.DOTALL
    ):
        return Picture(".svg", content)
    raise ValueError(f"{value!r} is neither SVG, PNG nor WebP")


def folder(value: str, default: Path) -> str:
    """The folder of the site's own pages; empty if none is named and the default does not exist."""
    path = default.parent / value if value else default
    if not path.is_dir():
        if value:
            raise ValueError(f"there is no folder {value!r}")
        return ""
    return str(path)
