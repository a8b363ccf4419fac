"""Markdown as HTML: the one renderer of descriptions, for the pages and for answers of the API.

CommonMark with GFM's links, tables, strikethrough and task lists. Tags of harmless HTML are left out, all other HTML is
escaped. markdown-it-py writes few elements, and nh3 removes all others.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from html import unescape
from importlib import import_module
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token
from markupsafe import escape

from directory.services.text import autolinks
from directory.services.text.characters import direction, is_symbol
from directory.services.text.links import parsed
from directory.services.text.rules import without_refused

REL = "nofollow ugc noopener"
REMEMBERED = 256  # texts; a description has at most 10,000 characters
STEPS, STEPS_MAX = "steps", 20_000  # calls of the parser's rules; a long README takes 5,000 to 12,000
PAGE_STEPS = 10 * STEPS_MAX
LONGEST_HOST = 500  # characters, with a scheme and a user; domains have at most 253
LINK = 10  # steps: what it takes to make a link
DEEPEST = 40  # nested blocks and marks; deeper ones are left out
OPTIONS = {"html": False, "linkify": True, "maxNesting": DEEPEST, "strikethrough_single_tilde": True}
ELEMENTS = {
    "a", "blockquote", "br", "code", "em", "h2", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody", "td",
    "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href"}, "ol": {"start", "dir"}, "blockquote": {"dir"}, "li": {"dir"}, "table": {"dir"},
    "ul": {"dir"},
}  # fmt: skip
# The direction of a block is that of its own text.
DIRECTIONS = {"pre": {"dir": "ltr"}, **{tag: {"dir": "auto"} for tag in ("h2", "h3", "p", "td", "th")}}
SCHEMES = {"http", "https"}
ABSOLUTE = re.compile("https?://[^/?#]+", re.IGNORECASE)
TASK = re.compile(r"\[([ xX])\](?=[ \t\n])")
BOXES = {" ": "\u2610", "x": "\u2611", "X": "\u2611"}
CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef\U00020000-\U0003ffff]"
)
HARMLESS = (
    "a|abbr|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|img|ins|kbd|"
    "li|mark|ol|p|picture|pre|q|s|samp|small|source|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var"
)
# A tag without handlers of events, or a comment. The lengths are bounded, so that searching is linear.
WITHIN_TAG = r"(?:\s(?![^<>]{0,500}\bon\w)[^<>]{0,500})?"
TAG = re.compile(rf"<(?:!--.{{0,1000}}?-->|/?({HARMLESS}){WITHIN_TAG}/?>)", re.I | re.S)
ALT = re.compile(r"""\salt\s*=\s*("[^"]*"|'[^']*')""", re.I)
RELATIVE = re.compile(r"(?![a-z][a-z0-9+.-]*:)", re.I)
ALERT = re.compile(r"\[!(note|tip|important|warning|caution)\]\Z", re.I)
SHORTCODE = re.compile(r"(?<![\w:]):([a-z0-9_+-]{2,30}):(?![\w:])")
# GitHub's names of emoji that are not names of Unicode.
EMOJI = {
    "+1": "👍", "-1": "👎", "thumbsup": "👍", "art": "🎨", "beers": "🍻", "bell": "🔔", "blue_book": "📘", "boom": "💥",
    "bulb": "💡", "chart_with_upwards_trend": "📈", "clap": "👏", "computer": "💻", "construction": "🚧", "email": "📧",
    "exclamation": "❗", "eyes": "👀", "gem": "💎", "globe_with_meridians": "🌐", "heart": "❤️", "heavy_check_mark": "✔️",
    "information_source": "ℹ️", "iphone": "📱", "mag": "🔍", "muscle": "💪", "page_facing_up": "📄", "pencil": "📝",
    "point_right": "👉", "question": "❓", "raised_hands": "🙌", "recycle": "♻️", "robot": "🤖", "smile": "😄",
    "star": "⭐", "star2": "🌟", "tada": "🎉", "tools": "🛠️", "wave": "👋", "white_check_mark": "✅", "x": "❌",
    "zap": "⚡", "warning": "⚠️", "gear": "⚙️", "hammer_and_wrench": "🛠️", "checkered_flag": "🏁", "arrow_right": "➡️",
    "coffee": "☕",
}  # fmt: skip

# Short rows of a table are padded. With the library's own limit 10,000 characters make 660 KB, in a second.
import_module("markdown_it.rules_block.table").MAX_AUTOCOMPLETED_CELLS = 1_000  # type: ignore[attr-defined]


class _TooCostly(Exception):
    """A text takes more steps to parse than any text that people write."""


def html(text: str) -> str:
    """The HTML of a text. A text that is made to take long is shown as it was written."""
    return _rendered(text)[0]


def several(texts: list[str]) -> list[str]:
    """The HTML of several texts. When they have taken PAGE_STEPS together, the rest is shown as it was written."""
    rendered, steps = [], 0
    for text in texts:
        markup, taken = _rendered(text) if steps <= PAGE_STEPS else (_unrendered(text), 0)
        rendered.append(markup)
        steps += taken
    return rendered


@lru_cache(REMEMBERED)
def _rendered(text: str) -> tuple[str, int]:
    """The HTML of a text, and the steps that it took. It is cached, so each version of a text is rendered once."""
    env = {STEPS: 0}
    try:
        markup = _parser().render(text, env)
    except _TooCostly:
        return _unrendered(text), STEPS_MAX
    return _cleaned(markup, link_rel=REL), env[STEPS]


def _cleaned(markup: str, *, tags: set[str] = ELEMENTS, schemes: set[str] = SCHEMES, link_rel: str, **more: Any) -> str:
    """HTML of allowed elements alone, with their directions."""
    attributes = {**ATTRIBUTES, **more}
    return nh3.clean(
        without_refused(markup),
        tags=tags,
        attributes=attributes,
        url_schemes=schemes,
        link_rel=link_rel,
        set_tag_attribute_values=DIRECTIONS,
    )


def _unrendered(text: str) -> str:
    """A text as a paragraph that keeps its lines and its marks."""
    return f'<p dir="auto">{"<br>".join(escape(text).split(chr(10)))}</p>\n'


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
    allowed = {"tags": ELEMENTS | {"h3", "img"}, "schemes": SCHEMES | {"mailto"}, "img": {"src", "alt", "title"}}
    return _cleaned(_page_parser().render(text), link_rel="noopener", **allowed)


@lru_cache(1)
def _page_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", OPTIONS)
    parser.enable(["linkify", "table", "strikethrough"])
    parser.core.ruler.push("below", _below_the_title)
    parser.core.ruler.push("directions", _turn_around)
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
    parser.validateLink = _is_address  # type: ignore[method-assign]
    parser.normalizeLink = _normalized  # type: ignore[method-assign]
    parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    parser.core.ruler.at("linkify", _link_www)
    parser.core.ruler.push("plain", _plain)
    parser.core.ruler.push("paragraphs", _drop_empty_paragraphs)
    parser.core.ruler.push("directions", _turn_around)
    parser.inline.ruler.at("linkify", _link_after_scheme)
    parser.inline.ruler.at("html_inline", _harmless_html)
    for name, rule in (("emphasis", emphasis.tokenize), ("strikethrough", strikethrough.tokenize)):
        parser.inline.ruler.at(name, _beside_cjk(rule))
    for ruler in (parser.block.ruler, parser.inline.ruler):
        _count_steps(ruler)
    return parser


def _normalized(url: str) -> str:
    """An address as links have it, its host in ASCII; a path, which no link shows, as it is, and no text for neither.

    The library's own conversion of hosts takes time in proportion to the square of their length.
    """
    url = without_refused(url)
    origin = ABSOLUTE.match(url)
    if origin is None:
        return url
    if not origin[0].isascii():
        read = parsed(f"{origin[0]}/") if len(origin[0]) <= LONGEST_HOST else None
        url = "" if read is None else read.href.removesuffix("/") + url[origin.end() :]
    return normalizeLink(url)


def _link_after_scheme(state: StateInline, silent: bool) -> bool:
    """An address whose scheme was read before."""
    if state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = autolinks.scheme_before(state.pending)
    start = state.pos + len("://")
    if scheme is None or (end := autolinks.end_behind_scheme(state.src, start)) == start:
        return False
    if not silent:
        state.env[STEPS] += LINK
        text = scheme + state.src[state.pos : end]
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(text)}
        state.push("text", "", 0).content = text
        state.push("link_close", "a", -1)
    state.pos = end
    return True


def _link_www(state: StateCore) -> None:
    """Make links of the addresses without a scheme."""
    for block in state.tokens:
        if "www." not in block.content.lower():
            continue
        children, depth = [], 0
        for token in block.children or ():
            depth += token.nesting if token.type.startswith("link_") else 0
            children += [token] if depth or token.type != "text" else _with_links(state, token.content)
        block.children = children


def _with_links(state: StateCore, text: str) -> list[Token]:
    tokens, at = [], 0
    for start, end in autolinks.without_scheme(text):
        state.env[STEPS] += LINK
        tokens.append(Token("text", "", 0, content=text[at:start]))
        tokens += _link(state.md.normalizeLink(f"http://{text[start:end]}"), text[start:end])
        at = end
    return [*tokens, Token("text", "", 0, content=text[at:])]


def _harmless_html(state: StateInline, silent: bool) -> bool:
    """Leave a harmless tag out; of a picture its words stay, and a break is one."""
    tag = TAG.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if tag is None:
        return False
    state.pos = tag.end()
    if not silent:
        kind = (tag[1] or "").lower()
        if kind == "br":
            state.push("hardbreak", "br", 0)
        elif kind == "img" and (words := ALT.search(tag[0])):
            state.push("text", "", 0).content = unescape(words[1][1:-1])
    return True


def _beside_cjk(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """A rule for marks such as ** that also takes them where a word of CJK begins or ends next to punctuation."""

    def checked(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.delimiters)
        if not rule(state, silent):
            return False
        before, behind = state.src[max(0, start - 1) : start], state.src[state.pos : min(state.pos + 1, state.posMax)]
        if state.src[start] != "_" and (CJK.match(before) or CJK.match(behind)):
            for delimiter in state.delimiters[known:]:
                delimiter.open, delimiter.close = _flanks(before, behind), _flanks(behind, before)
        return True

    return checked


def _flanks(outside: str, inside: str) -> bool:
    """Whether a mark between two characters may enclose what is inside (CommonMark 6.2, without CJK's punctuation)."""
    if not inside.strip():
        return False
    return not _is_mark(inside) or not outside.strip() or _is_mark(outside) or CJK.match(outside) is not None


def _is_mark(char: str) -> bool:
    return CJK.match(char) is None and (isPunctChar(char) or isMdAsciiPunct(ord(char)))


def _is_address(url: str) -> bool:
    """Whether this may be the address of a link: an http or https URL, or a path, whose link is shown as its text."""
    return ABSOLUTE.match(url) is not None or RELATIVE.match(url) is not None


def _plain(state: StateCore) -> None:
    """Make headings h2, images links, and boxes of tasks, kinds of notes and names of emoji characters."""
    state.env[STEPS] += len(state.tokens)  # what they take to be written
    for place, token in enumerate(state.tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h2"
        elif token.type == "inline" and token.children:
            token.children = _plain_line(token.children, state.tokens[place - 2].type if place > 1 else "")


def _plain_line(tokens: list[Token], block: str) -> list[Token]:
    """The tokens of a line or a paragraph; `block` is what it is the first one of."""
    if block == "list_item_open":
        _tick(tokens[0])
    if block == "blockquote_open":
        _name_note(tokens)
    tokens = _images_as_links(tokens)
    for token in tokens:
        if token.type == "text":
            token.content = SHORTCODE.sub(_emoji, token.content)
    return tokens


def _drop_empty_paragraphs(state: StateCore) -> None:
    """Remove the paragraphs that had nothing but tags."""
    empty: set[int] = set()
    for place, token in enumerate(state.tokens):
        in_paragraph = token.type == "inline" and state.tokens[place - 1].type == "paragraph_open"
        if in_paragraph and not any(map(_shows, token.children or ())):
            empty |= {place - 1, place, place + 1}
    state.tokens = [token for place, token in enumerate(state.tokens) if place not in empty]


def _turn_around(state: StateCore) -> None:
    """Give lists, quotes and tables the direction of the text that they begin with.

    Only in an item without blocks of its own does `dir="auto"` find the text: it passes over what has a direction.
    """
    first = following = None
    for token in reversed(state.tokens):
        if token.type == "inline":
            shown = "".join(child.content for child in token.children or () if child.type == "text")
            first = direction(shown) or first
        elif token.nesting == 1 and "dir" in ATTRIBUTES.get(token.tag, ()):
            is_auto = token.tag in ("blockquote", "li") and (first != "rtl" or (following and following.hidden))
            token.attrs |= {"dir": "auto"} if is_auto else {"dir": first} if first else {}
        following = token


def _shows(token: Token) -> bool:
    return token.type not in ("text", "softbreak") or bool(token.content.strip())


def _name_note(tokens: list[Token]) -> None:
    """Write the kind of a note ("[!NOTE]" of GitHub) as a word."""
    if alert := ALERT.match(tokens[0].content):
        word = Token("text", "", 0, content=alert[1].capitalize())
        tokens[:1] = [Token("strong_open", "strong", 1), word, Token("strong_close", "strong", -1)]
        if len(tokens) > 3 and tokens[3].type == "softbreak":
            tokens[3] = Token("hardbreak", "br", 0)


def _emoji(shortcode: re.Match[str]) -> str:
    """The emoji of a name between colons, as GitHub or Unicode calls it; other text unchanged."""
    if emoji := EMOJI.get(shortcode[1]):
        return emoji
    try:
        char = unicodedata.lookup(shortcode[1].replace("_", " "))
    except KeyError:
        return shortcode[0]
    # Some names are of sequences of characters, such as those of keycaps.
    return char if len(char) == 1 and is_symbol(char) else shortcode[0]


def _tick(first: Token) -> None:
    if task := TASK.match(first.content):
        first.content = BOXES[task[1]] + first.content[task.end() :]


def _images_as_links(tokens: list[Token]) -> list[Token]:
    """The tokens with each image replaced by a link, within a link by its text, and a link to a path by its text."""
    kept: list[Token] = []
    depth, is_path = 0, False
    for token in tokens:
        if token.type.startswith("link_"):
            depth += token.nesting
            is_path = not ABSOLUTE.match(str(token.attrs["href"])) if token.nesting == 1 else is_path
            kept += [] if is_path else [token]
        elif token.type == "image":
            kept += _image_as_link(token, within=depth > 0)
        else:
            kept.append(token)
    return kept


def _image_as_link(image: Token, *, within: bool) -> list[Token]:
    address = str(image.attrs["src"])
    text = image.content or address
    if within or not ABSOLUTE.match(address):
        return [Token("text", "", 0, content=text)]
    return _link(address, text)


def _link(address: str, text: str) -> list[Token]:
    return [
        Token("link_open", "a", 1, attrs={"href": address}),
        Token("text", "", 0, content=text),
        Token("link_close", "a", -1),
    ]
