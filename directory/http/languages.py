"""The language of an answer: an argument of all that makes it, chosen once for a request."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from flask import Flask, current_app
from werkzeug.sansio.http import parse_cookie

from directory.http import site_dir
from directory.http.authentication import LANGUAGE_COOKIE, cookie_of
from directory.http.exchange import Exchange, current
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.choice import PLAIN, Languages
from directory.language.locales import locale_of

PARAMETER = "lang"
HEADER = "Accept-Language"
API = "/api/"
log = logging.getLogger(__name__)


def configured(config: Mapping[str, Any]) -> Languages:
    """The languages of the settings. Raises SystemExit, with one line, for one without a catalogue, or a faulty one.

    The operator's files are read now, so that a fault in them stops the start. Ours are read when a reader needs them.
    """
    default, tags = config["SITE_LANGUAGE"], config["SITE_LANGUAGES"]
    own = site_dir.translations(Path(config["SITE_DIR"]), tags) if config["SITE_DIR"] else {}
    if tags == (ENGLISH.tag,) and not own:
        return PLAIN
    from directory.language import po

    for tag in tags:
        if tag != ENGLISH.tag and not (tag in own or po.our_files(tag)):
            raise SystemExit(f"SITE_LANGUAGES: there is no translation into {tag}")

    def load(tag: str) -> Catalogue:
        return po.catalogue(tag, [*po.our_files(tag), *own.get(tag, ())])

    try:
        return Languages(default, tags, partial(_load, load), [load(tag) for tag in own])
    except ValueError as error:
        raise SystemExit(f"SITE_DIR: {error}") from None


def _load(load: Callable[[str], Catalogue], tag: str) -> Catalogue:
    """A catalogue; if its file cannot be used, as after an incomplete upgrade, one that leaves all in English."""
    try:
        return load(tag)
    except ValueError as error:
        log.error("a translation cannot be read", extra={"reason": str(error)})
        return Catalogue(tag, locale=locale_of(tag))


def of_app(app: Flask | None = None) -> Languages:
    """The languages of an application, or of the current one."""
    languages: Languages = (app or current_app).extensions["languages"]
    return languages


def chosen() -> Catalogue:
    """The language of the answer to the current request."""
    return of_exchange(current())


def of_exchange(exchange: Exchange) -> Catalogue:
    """The language of the answer to a request."""
    languages = of_app()
    if languages.several and not exchange.language:
        exchange.language = choose(languages, exchange.environ, exchange.path, exchange.query)
    return languages.catalogue(exchange.language)


def threads(page: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A page of entries of a thread, with what the service wrote in the language of the answer, and its headers."""
    site, language = of_app(), chosen()
    for entry in page["items"]:
        entry["text"] = language.say(entry["text"])
    return page, {**varying(site), **({"Content-Language": language.tag} if site.named else {})}


def joined(sentences: Iterable[str]) -> str:
    """Sentences in the language of the answer, one after the other."""
    return chosen().locale.between.join(sentences)


def choose(languages: Languages, environ: dict[str, Any], path: str, query: str) -> str:
    """The language of an answer: a page's by its address, else by the cookie; else any by what the client accepts."""
    wanted = ""
    if not path.startswith(API):
        wanted = in_query(languages, query) or languages.known(cookie_of(environ, LANGUAGE_COOKIE))
    return wanted or languages.accepted(environ.get("HTTP_ACCEPT_LANGUAGE", "")) or languages.default


def of_visitor(query: str) -> str | None:
    """The language that a page with this query speaks in the caller's browser; None where all speak the same."""
    site = of_app()
    return choose(site, current().environ, "/", query) if site.several else None


def in_query(languages: Languages, query: str) -> str:
    """The language that an address names; empty if it names none that the site has."""
    if f"{PARAMETER}=" not in query:
        return ""
    return languages.known(parse_qs(query).get(PARAMETER, [""])[0])


def parted(address: str) -> tuple[str, str]:
    """The address of a page without its language, and this language; empty if it names none that the site has."""
    parts = urlsplit(address)
    tag = in_query(of_app(), parts.query)
    rest = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != PARAMETER]
    return (parts._replace(query=urlencode(rest)).geturl(), tag) if tag else (address, "")


def has_language_alone(environ: dict[str, Any]) -> bool:
    """Whether a request has no credential, and its only cookie names a language."""
    if "HTTP_AUTHORIZATION" in environ:
        return False
    return parse_cookie(environ.get("HTTP_COOKIE", "")).keys() == {LANGUAGE_COOKIE}


def varying(languages: Languages) -> dict[str, str]:
    """The header of an answer whose text depends on the language."""
    return {"Vary": HEADER} if languages.several else {}
