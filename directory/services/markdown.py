"""Markdown as HTML: the one renderer of descriptions, for the pages and for answers of the API.

CommonMark with GFM's links, tables, strikethrough and task lists. HTML in a text is escaped. markdown-it-py writes few
elements, and nh3 removes all others.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import escape

REL = "nofollow ugc noopener"
REMEMBERED = 256  # texts; a description has at most 10,000 characters
STEPS, STEPS_MAX = "steps", 50_000  # calls of the parser's rules; a long README takes 5,000 to 12,000
PAGE_STEPS = 10 * STEPS_MAX
DEEPEST = 40  # nested blocks and marks; deeper ones are left out
OPTIONS = {"html": False, "linkify": True, "maxNesting": DEEPEST, "strikethrough_single_tilde": True}
ELEMENTS = {
    "a", "blockquote", "br", "code", "em", "h2", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody", "td",
    "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
SCHEMES = {"http", "https"}
ABSOLUTE = re.compile("https?://[^/]", re.IGNORECASE)
TASK = re.compile(r"\[([ xX])\](?=[ \t\n])")
BOXES = {" ": "\u2610", "x": "\u2611", "X": "\u2611"}
REST = r"(?::\d{1,5})?(?:[/?#][^\s<]*)?"  # of an address, behind its domain
# What follows "http:" if a label has an underscore. GFM allows it except in the last two; linkify-it does not at all.
UNDERSCORED = re.compile(rf"//(?=[\w.-]*_)(?:[\w-]+\.)+[^\W_](?:-|[^\W_])*\.[^\W_](?:-|[^\W_])*{REST}")
# The text after "www." in a link: a domain, and characters of a path.
WWW = re.compile(rf"(?:[^\W_][\w-]*\.)+[^\W_][\w-]*{REST}")
WITHIN = re.compile(r"[./@-]www\.\Z", re.IGNORECASE)  # the end of a part of another host, path or address
TRAILING = "?!.,:*_~'\""  # punctuation that is not part of an address at its end, by GFM
ENTITY = re.compile(r"&[a-zA-Z0-9]+;\Z")


# Short rows of a table are padded. With the library's own limit 10,000 characters make 660 KB, in a second.
import_module("markdown_it.rules_block.table").MAX_AUTOCOMPLETED_CELLS = 1_000  # type: ignore[attr-defined]


class _TooCostly(Exception):
    """A text takes more steps to parse than any text that people write."""


def html(text: str) -> str:
    """The HTML of a text. A text that is made to take long is shown as it was written."""
    return _rendered(text)[0]


def several(texts: list[str]) -> list[str]:
    """The HTML of several texts. When they have taken PAGE_STEPS together, the rest is shown as it was written."""
    found, steps = [], 0
    for text in texts:
        made, taken = _rendered(text) if steps <= PAGE_STEPS else (_unrendered(text), 0)
        found.append(made)
        steps += taken
    return found


@lru_cache(REMEMBERED)
def _rendered(text: str) -> tuple[str, int]:
    """The HTML of a text, and the steps that it took. It is cached, so each version of a text is rendered once."""
    env = {STEPS: 0}
    try:
        made = _parser().render(text, env)
    except _TooCostly:
        return _unrendered(text), STEPS_MAX
    return nh3.clean(made, tags=ELEMENTS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel=REL), env[STEPS]


def _unrendered(text: str) -> str:
    """A text as a paragraph that keeps its lines and its marks."""
    return f"<p>{'<br>'.join(escape(text).split(chr(10)))}</p>\n"


def _count_steps(ruler: Any) -> None:
    """Have each call of a rule counted, and the parsing ended by `_TooCostly` after STEPS_MAX of them."""
    for rule in ruler.__rules__:
        rule.fn = _counted(rule.fn)
    ruler.enable([])  # forgets the functions that were there before


def _counted(rule: Callable[..., bool]) -> Callable[..., bool]:
    def counted(state: Any, *args: Any) -> bool:
        state.env[STEPS] += 1
        if state.env[STEPS] > STEPS_MAX:
            raise _TooCostly
        return rule(state, *args)

    return counted


def page_html(text: str) -> str:
    """The HTML of an operator's text, which may also have paths of the site, mail addresses, images and subheadings.

    Its elements are limited too, so that a page copied from elsewhere cannot contain a script.
    """
    allowed = {**ATTRIBUTES, "img": {"src", "alt", "title"}}
    tags, schemes = ELEMENTS | {"h3", "img"}, SCHEMES | {"mailto"}
    html = _page_parser().render(text)
    return nh3.clean(html, tags=tags, attributes=allowed, url_schemes=schemes, link_rel="noopener")


@lru_cache(1)
def _page_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", OPTIONS)
    parser.enable(["linkify", "table", "strikethrough"])
    parser.core.ruler.push("below", _below_the_title)
    return parser


def _below_the_title(state: StateCore) -> None:
    """Move headings below the page's own: to the second or third level."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h2" if token.tag in ("h1", "h2") else "h3"


@lru_cache(1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", OPTIONS)
    parser.enable(["linkify", "table", "strikethrough"])
    parser.validateLink = _is_absolute  # type: ignore[method-assign]
    parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    assert parser.linkify is not None  # noqa: S101 (the option above creates it)
    # Only texts with a scheme or "www.": "node.js" and "readme.md" are not addresses.
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    for scheme in ("ftp:", "mailto:", "//"):
        parser.linkify.add(scheme, None)
    parser.linkify.add("http:", {"validate": _http_length})
    parser.linkify.add("www.", {"validate": _www_length, "normalize": _add_scheme})
    parser.core.ruler.push("plain", _plain)
    for ruler in (parser.block.ruler, parser.inline.ruler):
        _count_steps(ruler)
    return parser


def _is_absolute(url: str) -> bool:
    """Whether the address of a link is an absolute http or https URL."""
    return ABSOLUTE.match(url) is not None


def _http_length(linkify: Any, text: str, at: int) -> int:
    """The number of characters after "http:" that belong to a link, without trailing punctuation."""
    end = at + int(linkify._validate_http(text, at))
    if end == at and (found := UNDERSCORED.match(text, at)):
        end = found.end()
    is_entity = text[end : end + 1] == ";" and ENTITY.search(text, at, end + 1)
    return len(_without_trailing(text[at : end + 1] if is_entity else text[at:end]))


def _www_length(_linkify: Any, text: str, at: int) -> int:
    """The number of characters after "www." that belong to a link."""
    found = None if WITHIN.search(text, max(0, at - 5), at) else WWW.match(text, at)
    return len(_without_trailing(found[0])) if found else 0


def _without_trailing(address: str) -> str:
    """An address without the punctuation that follows it (GFM, extended autolinks)."""
    while address:
        if address[-1] in TRAILING or (address[-1] == ")" and address.count(")") > address.count("(")):
            address = address[:-1]
        elif entity := ENTITY.search(address):
            address = address[: entity.start()]
        else:
            break
    return address


def _add_scheme(_linkify: Any, match: Any) -> None:
    match.url = f"http://{match.url}"


def _plain(state: StateCore) -> None:
    """Make headings h2, images links, and the boxes of a task list characters."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h2"
    for place, token in enumerate(state.tokens):
        if token.type == "inline" and token.children:
            if place > 1 and state.tokens[place - 2].type == "list_item_open":
                _tick(token.children[0])
            token.children = _images_as_links(token.children)


def _tick(first: Token) -> None:
    if found := TASK.match(first.content):
        first.content = BOXES[found[1]] + first.content[found.end() :]


def _images_as_links(tokens: list[Token]) -> list[Token]:
    """The tokens with each image replaced by a link; within a link by its text."""
    found: list[Token] = []
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type.startswith("link_") else 0
        if token.type != "image":
            found.append(token)
            continue
        address = str(token.attrs["src"])
        text = Token("text", "", 0, content=token.content or address)
        link = [Token("link_open", "a", 1, attrs={"href": address}), text, Token("link_close", "a", -1)]
        found += [text] if depth else link
    return found
