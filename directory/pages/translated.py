"""What a page has in addition where the site has several languages: its addresses in each, and links that keep one."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from flask import current_app, request

from directory.http.exchange import Exchange, current
from directory.http.languages import PARAMETER, chosen, in_query, of_app
from directory.language.messages import CATEGORY
from directory.services.catalog.categories import Listed
from directory.services.text.characters import fold

TAG = re.compile(r'<(a|form)\b((?:[^>"]|"[^"]*")*)>')
LINK = re.compile(r'(?<= )(href|action)="((?:/(?!/)|\?)[^"]*)"')
# Addresses that are not pages, or whose pages are only in English.
ELSEWHERE = re.compile(r"/(api|assets|static|images|admin|language|feed|rss)\b|/[^?#]*\.\w+(?:[?#]|$)")


def in_language(path: str, tag: str, ampersand: str = "&") -> str:
    """The address of a page in a language; in HTML with another ampersand.

    A path without a tag is the page in the language that its reader chooses.
    """
    page, hash_, place = path.partition("#")
    return f"{page}{ampersand if '?' in page else '?'}{PARAMETER}={tag}{hash_}{place}"


def in_same_language(path: str) -> str:
    """The address of another page, in the language that the address of this request names, if it names one."""
    site, exchange = of_app(), current()
    tag = in_query(site, exchange.query)
    if not tag or not path.startswith("/") or ELSEWHERE.match(path) or in_query(site, urlsplit(path).query):
        return path
    return path if ELSEWHERE.match(exchange.path) else in_language(path, tag)


def by_name(categories: list[Listed]) -> list[Listed]:
    """Categories in the order of the names that the reader is shown."""
    names = {category.id: chosen().text(category.name, CATEGORY) for category in categories}
    if all(names[category.id] == category.name for category in categories):
        return categories
    return sorted(categories, key=lambda category: fold(names[category.id]))


def this_page(exchange: Exchange, otherwise: str) -> str:
    """The address of the page that is shown, without a language; `otherwise` if no page has the address of a form.

    Of what was typed in a form it keeps the token of a mailed link alone: addresses stand in histories and logs.
    """
    adapter = None if exchange.is_read else current_app.create_url_adapter(request)
    if adapter and not adapter.test(method="GET"):
        return otherwise
    pairs = [pair for pair in parse_qsl(exchange.query, keep_blank_values=True) if pair[0] != PARAMETER]
    if adapter and (token := (exchange.typed or {}).get("token")):
        pairs.append(("token", token))
    return f"{exchange.path}?{urlencode(pairs)}" if pairs else exchange.path


def keeping(html: str, tag: str) -> str:
    """A page whose links and forms lead to pages in the language that its own address names."""

    def kept(match: re.Match[str]) -> str:
        name, attributes = match.groups()
        if 'hreflang="' in attributes:
            return match[0]
        changed = LINK.sub(lambda link: _kept(link, tag), attributes)
        if name == "form" and 'method="post"' not in attributes:  # its fields take the place of the query
            return f'{match[0]}<input type="hidden" name="{PARAMETER}" value="{tag}">'
        return f"<{name}{changed}>"

    return TAG.sub(kept, html)


def _kept(link: re.Match[str], tag: str) -> str:
    name, address = link.groups()
    if ELSEWHERE.match(address):
        return link[0]
    return f'{name}="{in_language(address, tag, "&amp;")}"'
