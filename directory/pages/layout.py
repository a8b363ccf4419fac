"""Makes a page of a template, with its policy; without a build, the short page that says so."""

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from flask import Blueprint, Flask, Response, current_app, jsonify, render_template, request
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError

from directory.db.paging import Window
from directory.errors import DirectoryError, EmailNotVerified, NotFound
from directory.http import access, docs, feed, languages, own_values, problem_details, receivers
from directory.http.authentication import viewer
from directory.http.cache_policy import CachePolicy, CacheTags
from directory.http.client import prefers_json
from directory.http.endpoint import HTML, Operation, operation, tag
from directory.http.exchange import current
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import CATEGORY, Message, _
from directory.language.templates import TranslatedEnvironment
from directory.pages import script_words, translated
from directory.pages.build import Build
from directory.pages.head import DESCRIPTION, Head, source_of
from directory.services import build as own_build
from directory.services import permissions
from directory.services.catalog import catalog
from directory.services.catalog.filters import Filters
from directory.services.site import Site, path_of
from directory.services.text import links, markdown
from directory.services.turn_words import instant

bp = Blueprint("pages", __name__)
# What programs get at "/".
LINKS = {"documentation": "/api/docs", "openapi": "/api/openapi.json", "projects": "/api/projects", "feed": feed.PATH}
MAILED_LINKS, OWN_PAGES, ADDRESSES = "mailed_links", "own", "addresses"  # the blueprints of the other pages

POLICY = (
    "default-src 'none'; script-src 'self'{}; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# Links in mail lead to these pages, so they exist without the others too, in a plain frame.
PLAIN = frozenset(
    {"forgot.html", "mail_off.html", "problem_page.html", "reset.html", "sign_in_link.html", "verify.html"}
)
PLAIN_POLICY = docs.POLICY.replace("form-action 'none'", "form-action 'self'")
# With `no-referrer` browsers would send `Origin: null` with our forms, and the check of writes would refuse them.
REFERRER = {"Referrer-Policy": "same-origin"}
# For a person who pressed a button: the problem's own words are for programs. The detail may stay.
IN_PERSON = {
    "cross_site_request": (
        _("Please try again"),
        _(
            "Nothing was changed, because your browser did not confirm that you sent this from a page of this site. "
            "Open the page again, and send it once more. If that fails too, switch off browser extensions that change "
            "what is sent, or try another browser."
        ),
    ),
    "rate_limited": (_("Please wait a little"), ""),
    "other_user": (
        _("Another account is signed in"),
        _("Nothing was changed, because the page was made for another account. Sign in to that account to go on."),
    ),
}
UNCONFIRMED_WITHOUT_MAIL = _(
    "Confirm your e-mail address first. This site sends no mail: have the provider by which you sign in confirm the "
    "address, and sign in again."
)
PATH_MAX = 2_000  # characters of a page to which another one leads back
TRENDING = 6  # cards
log = logging.getLogger(__name__)
COMMA = _(", ")

TINTS = 10
CONSONANT = re.compile("^[aeiou]+", re.IGNORECASE)
PAGE_NUMBER = re.compile("[1-9][0-9]{0,8}")
REFUSED_EARLY = {"cross_site_request", "read_only"}  # by access.admit, before the view
PageAnswer = tuple["Page", dict[str, str]]


class Page(bytes):
    """The HTML of a page, and its cache tags; None if it depends on everything."""

    tags: CacheTags | None = CacheTags(())


PAGE = CachePolicy(tags=lambda page, _query: page.tags)  # of every operation that returns a Page


def page_of(*parameters: str) -> Operation:
    """The operation of a page that shows the caller, and depends on these parameters."""
    return operation(tier="read", page=True, parameters=frozenset(parameters), etag=True, personal=True, cache=PAGE)


page_view = page_of("page")


def show(
    template: str, head: Head, *, here: str = "", tags: CacheTags | None = CacheTags(()), **values: Any  # noqa: B008
) -> PageAnswer:  # fmt: skip
    """A page for the caller, with its policy. `here` is the address to return to after signing in."""
    return _rendered(template, head, viewer(), here=here or head.path, tags=tags, **values)


def here() -> Site:
    """The site."""
    site: Site = current_app.extensions["site"]
    return site


def shell(entry: str, head: Head) -> PageAnswer:
    """A page that JavaScript fills: the same for everybody."""
    build = own_build.described()
    version = f"Version {build['version']}" + (f" ({build['commit']})" if build["commit"] else "")
    english = languages.of_app().catalogue(ENGLISH.tag)
    off = " ".join(current_app.extensions["extras_off"])  # whose pages the script leaves out
    return _rendered(
        "shell.html", head, None, english, entry=entry, here="", is_shell=True, version=version, extras_off=off
    )


def _rendered(
    template: str, head: Head, by: Any, language: Catalogue | None = None, *,
    tags: CacheTags | None = CacheTags(()), entry: str = "reading", **values: Any,  # noqa: B008
) -> PageAnswer:  # fmt: skip
    """A page in the language that the reader chooses, or in the given one."""
    build: Build = current_app.extensions["web_build"]
    files = build.entries.get(entry)
    if files is None and template not in PLAIN:
        return unbuilt()
    script = head.script() if head.data else ""
    policy = POLICY.format(f" {source_of(script)}" if script else "") if files else PLAIN_POLICY
    facts = {"head": head, "data": script, "files": files, "viewer": by, "site": here(), "entry": entry}
    is_outside = access.is_closed() and by is None and not values.get("is_shell")
    shown_in = language or languages.chosen()
    facts |= {"own_pages": _own_pages(shown_in.tag, is_outside=is_outside), "is_outside": is_outside}
    facts["more_lists"] = more_lists()
    facts |= {"assets": "" if files else docs.assets(), "sends_mail": receivers.configured_mail_server() is not None}
    varying = languages.varying(languages.of_app()) if language is None else {}
    if varying:
        facts |= _choice(values["here"])
    html = _html(template, shown_in, {**facts, **values})
    page = Page((translated.keeping(html, facts["addressed"]) if facts.get("addressed") else html).encode())
    page.tags = tags
    return page, {"Content-Security-Policy": policy, **REFERRER, **varying}


def _choice(back: str) -> dict[str, Any]:
    """What a page in one of several languages has more than others.

    `addressed` is the language that its address names, and `preview` translates what previews of links show.
    """
    all_languages, exchange = languages.of_app(), current()
    return {
        "languages": all_languages.described,
        "addressed": languages.in_query(all_languages, exchange.query),
        "preview": all_languages.catalogue().say,
        "this_page": own_path(translated.this_page(exchange, back)),
    }


def _own_pages(tag: str, *, is_outside: bool) -> list[Any]:
    """The operator's pages in a language.

    An anonymous caller of a directory that only members read gets those that are open.
    """
    pages = current_app.extensions["own_site"].pages
    return [page.in_language(tag) for page in pages if not is_outside or access.is_open(current_app, page.path)]


def _html(template: str, language: Catalogue, values: dict[str, Any]) -> str:
    """A template in a language."""
    if language is ENGLISH:
        return render_template(template, **values)
    environments: dict[str, TranslatedEnvironment] = current_app.extensions["environments"]
    if language.tag not in environments:
        environments[language.tag] = _speaking(current_app.jinja_env, language)
    current_app.update_template_context(values)
    return environments[language.tag].get_template(template).render(values)


def _speaking(environment: Any, language: Catalogue) -> TranslatedEnvironment:
    """The environment of a language. What is made of several messages is translated before it is joined."""

    def enumerated(texts: Iterable[str]) -> str:
        return language.say(COMMA).join(map(language.say, texts))

    def category(text: str) -> str:
        return language.text(text, CATEGORY)

    spoken: TranslatedEnvironment = environment.speaking(
        language, enumerated=enumerated, inline=language.say, category=category, day=language.locale.day,
        number=language.locale.number,
    )  # fmt: skip
    spoken.globals |= {"script_words": script_words.translated(language), "between": language.locale.between}
    return spoken


def slots(place: str) -> list[Any]:
    """What extras show at a place of a page: each with its `template`. While the pages are tried out there are none."""
    of_place: list[Any] = current_app.extensions.get("slots", {}).get(place, [])
    return of_place


def slot_values(place: str, *arguments: Any) -> dict[str, Any]:
    """The values of what extras show at a place of a page about the given."""
    return {name: value for slot in slots(place) for name, value in slot.values(*arguments).items()}


def more_lists() -> dict[str, Message]:
    """The lists that are no order of all projects, by their paths, for the tabs, the footer and the sitemap."""
    return {"/best": _("Best"), **slot_values("lists")}


def said_at(place: str) -> dict[str, tuple[str, Any]]:
    """What extras say at a place of a page, by name: each with its section."""
    return {name: said for slot in slots(place) for name, said in slot.said.items()}


def rendered(head: Head) -> PageAnswer:
    """The page of a problem, which shows what all pages share and asks the database for nothing."""
    problem = {"title": head.title, "detail": "", "status": 404}
    return _rendered("problem_page.html", head, None, problem=problem, is_missing=True, here="/")


def links_for_programs() -> Response | None:
    """The links that a client that prefers JSON gets at "/". None for all others."""
    if not prefers_json():
        return None
    response = jsonify(name=current_app.config["SITE_NAME"], links=LINKS)
    response.vary.add("Accept")
    tag(response)
    return response


def unbuilt() -> PageAnswer:
    """The short page that replaces the pages if they are not built or are switched off."""
    facts = {"name": current_app.config["SITE_NAME"], "wanted": current_app.config["WEB_ENABLED"]}
    html = render_template("home.html", assets=docs.assets(), **facts)
    return Page(html.encode()), {"Content-Security-Policy": docs.POLICY, **REFERRER}


def with_page(response: Response, answer: PageAnswer) -> Response:
    """A response with a page for its body; its status and its other headers stay."""
    page, headers = answer
    response.set_data(bytes(page))  # servers of WSGI take no subclass
    response.content_type = HTML
    response.headers.update(headers)
    return response


@bp.after_request
def explain(response: Response) -> Response:
    """Show a problem as a page: a refusal by a route of this blueprint, or a failure of the service.

    A write that was refused before its view shows the form again. If a template fails, so would that page: the problem
    then stays JSON. A redirect keeps the language that the address of its request names.
    """
    if location := response.headers.get("Location"):
        response.headers["Location"] = translated.in_same_language(location)
    if response.mimetype != problem_details.MEDIA_TYPE:
        return response
    try:
        shown = getattr(current_app.view_functions.get(request.endpoint or ""), "form_again", None)
        is_refused_early = problem_of(response)["code"] in REFUSED_EARLY
        return with_page(response, shown(response) if shown and is_refused_early else explained(response))
    except Exception:
        log.exception("the page of a problem cannot be made")
        return response


def trending() -> list[dict[str, Any]]:
    """Projects for a page that has nothing of its own to show; none from a database that does not answer."""
    if access.is_closed() and current().caller is None:
        return []
    with suppress(DirectoryError, SQLAlchemyError):
        return catalog.page(Filters(status="live"), "popular", Window(TRENDING, page=1), viewer=None).items
    return []


def explained(response: Response) -> PageAnswer:
    """The page that explains a problem. It does not need the database."""
    problem = problem_of(response)
    is_missing = response.status_code == 404
    head = Head(_("Page not found") if response.status_code in (404, 405) else problem["title"], indexed=False)
    return _rendered(
        "problem_page.html", head, current().caller, problem=problem, is_missing=is_missing, here=own_address(),
        trending=trending() if is_missing else [],
    )  # fmt: skip


def problem_of(response: Response) -> dict[str, Any]:
    """A problem, in the words for a person."""
    problem: dict[str, Any] = response.get_json(force=True)
    title, detail = IN_PERSON.get(problem["code"], (problem["title"], ""))
    detail = detail or problem["detail"]
    if problem["code"] == EmailNotVerified.code and receivers.configured_mail_server() is None:
        detail = UNCONFIRMED_WITHOUT_MAIL
    return {**problem, "title": title, "detail": detail}


def own_address() -> str:
    """The address to which a reader of this page returns; "/" if the page has no GET."""
    if request.method not in ("GET", "HEAD"):
        return "/"
    # A query may contain any bytes; our addresses contain only ASCII.
    query = request.query_string.decode("ascii", "ignore")
    return own_path(f"{request.path}?{query}" if query else request.path)


def own_path(place: str | None, default: str = "/") -> str:
    """The path of this site that a form gives as the next page, otherwise the default. Mails contain it, too."""
    if not place or not place.startswith("/") or place.startswith("//") or not place.isprintable() or "\\" in place:
        return default
    path = quote(place, safe="/?#&=%+:;,@!$'()*~-._")
    return path if len(path) <= PATH_MAX else default


def tagged(content: str | bytes, content_type: str) -> Response:
    """A response that is not a page, with the ETag of its content."""
    response = Response(content, content_type=content_type)
    tag(response)
    return response


def page_number(query: dict[str, str]) -> int:
    """The page number in an address. Raises NotFound if it is not valid."""
    number = query.get("page") or "1"
    if not PAGE_NUMBER.fullmatch(number):
        raise NotFound
    return int(number)


def address_with(path: str, **parameters: object) -> str:
    """A path with those parameters that have a value."""
    query = "&".join(f"{name}={quote(str(value), safe=',')}" for name, value in parameters.items() if value)
    return f"{path}?{query}" if query else path


def init_app(app: Flask) -> None:
    """Register the filters and functions of the templates."""
    app.extensions["environments"] = {}
    app.jinja_env.filters |= {
        "day": _day, "instant": instant, "number": "{:,}".format, "letters": letters, "tint": _tint,
        "markdown": _markdown, "path": path_of, "host": _host, "repository": _repository,
        "in_list": own_values.in_list, "enumerated": COMMA.join, "inline": str.lower, "category": str,
    }  # fmt: skip
    app.jinja_env.globals |= {
        "language": ENGLISH,
        "script_words": {},
        "between": ENGLISH.locale.between,
        "was_sent": lambda: not current().is_read,
        "address_with": address_with,
        "default_description": DESCRIPTION,
        "may": permissions.may,
        "owns": permissions.owns,
        "slots": slots,
        "in_language": translated.in_language,
    }
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True


def _day(at: datetime) -> str:
    return f"{at:%b} {at.day}, {at.year}"


def letters(name: str) -> str:
    """The first letters of the first two words of a name; of its only word the first letter and the next consonant."""
    first, *others = [word for word in re.split(r"[\W_]+", name) if word] or [name]
    rest = others[0] if others else CONSONANT.sub("", first[1:]) or first[1:]
    return (first[:1] + rest[:1]).upper()


def _tint(name: str) -> int:
    """The colour of a name, always the same."""
    total = 7
    for character in name:
        total = (total * 31 + ord(character)) % 1_000_003
    return total % TINTS


def _markdown(text: str) -> Markup:
    return Markup(markdown.html(text))  # noqa: S704 (cleaned)


def _host(url: str) -> str:
    """The host of an address as it is typed, and where that differs, the one that a browser goes to."""
    typed, real = urlsplit(url).netloc, links.ascii_host(url)
    return f"{typed} ({real})" if real else typed


def _repository(url: str) -> str:
    """The owner and the name of a repository; the host of any other address."""
    parts = urlsplit(url).path.strip("/").removesuffix(".git").split("/")
    return "/".join(parts) if len(parts) == 2 and all(parts) else _host(url)
