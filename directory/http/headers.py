"""The headers that every answer has in common, made in one place."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from flask import Flask

from directory.http.cache_policy import CREDENTIALS
from directory.http.cors import EXPOSED
from directory.http.wsgi import header_lines

Headers = list[tuple[str, str]]

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "browsing-topics=(), camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
HSTS = ("Strict-Transport-Security", "max-age=31536000")
PUBLIC, PRIVATE, NO_STORE = "public, no-cache", "private, no-cache", "no-store"
NO_STORE_PATHS = ("/api/admin/", "/api/review/", "/api/auth/")
ASSETS = "/assets/"  # the files of the pages, the same for everybody in a directory that only members read, too
VARY, CACHE_CONTROL = "Vary", "Cache-Control"
_REPLACED = {VARY, CACHE_CONTROL}
_DECISIVE = {*_REPLACED, "Set-Cookie", *SECURITY}  # an answer's own headers that the common ones depend on


class Facts(NamedTuple):
    """The facts of a request that the headers of its answer depend on.

    `is_constant` says that all callers get the same answer. `limits` are the headers of the rate limits.
    """

    method: str
    path: str
    scheme: str
    request_id: str
    is_signed_in: bool = False
    is_constant: bool = False
    origin: str | None = None
    limits: Iterable[tuple[str, str]] = ()


class CommonHeaders:
    """Headers that many answers have in common: as pairs, and as they are sent."""

    __slots__ = ("lines", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = tuple(pairs)
        self.lines = header_lines(self.pairs)


class AnswerHeaders:
    """Completes the headers of the answers of one application, or of a server that has none."""

    def __init__(
        self, *, max_age: int | None = None, origins: Collection[str] = (), hsts_subdomains: bool = False,
        is_closed: bool = False,
    ) -> None:  # fmt: skip
        """Take PUBLIC_MAX_AGE, CORS_ORIGINS and HSTS_SUBDOMAINS, and whether only members may read."""
        # Caches revalidate a public answer each time, except a shared cache with PUBLIC_MAX_AGE.
        self.public = PUBLIC if max_age is None else f"public, max-age=0, must-revalidate, s-maxage={max_age}"
        self._origins, self._is_closed = origins, is_closed
        self._hsts = (HSTS[0], f"{HSTS[1]}; includeSubDomains") if hsts_subdomains else HSTS
        self._made, self._of_public = lru_cache(256)(self._make), lru_cache(256)(self._make_of_public)

    def complete(self, own: Headers, status: int, facts: Facts) -> Headers:
        """All headers of an answer that has these of its own."""
        return [
            *without_common(own),
            ("X-Request-ID", facts.request_id), *facts.limits, *self.common(own, status, facts).pairs,
        ]  # fmt: skip

    def of_public(
        self, own: Headers, scheme: str, rule: str, *, is_constant: bool, varies: bool
    ) -> tuple[CommonHeaders, CommonHeaders]:
        """The common headers of a public answer to a GET of a route, and those where it is for one caller alone.

        One that `varies` also has a compressed form. Both are made once for each kind of answer.
        """
        decisive = tuple([header for header in own if header[0] in _DECISIVE])
        return self._of_public(decisive, scheme, rule, is_constant, varies)

    def _make_of_public(
        self, own: tuple[tuple[str, str], ...], scheme: str, rule: str, is_constant: bool, varies: bool
    ) -> tuple[CommonHeaders, CommonHeaders]:
        facts = Facts("GET", rule, scheme, "", is_constant=is_constant)  # what decides about a path stands in its rule
        shared = self.common(varied([*own]) if varies else [*own], 200, facts)
        return shared, self.common([*own], 200, facts._replace(is_signed_in=True))

    def common(self, own: Headers, status: int, facts: Facts) -> CommonHeaders:
        """The headers that every answer has, except those of one request alone.

        They take the place of the answer's own Vary and Cache-Control.
        """
        decisive = {name: value for name, value in own if name in _DECISIVE}
        caching = decisive.get(CACHE_CONTROL, "")
        if status >= 400 or (NO_STORE not in caching and facts.path.startswith(NO_STORE_PATHS)):
            caching = NO_STORE
        elif facts.is_signed_in:
            caching = caching or PRIVATE
        elif not caching:
            caching = self.public if facts.method in ("GET", "HEAD") and "Set-Cookie" not in decisive else PUBLIC
        if self._is_closed and not facts.path.startswith(ASSETS):
            caching = _private(caching)
        is_constant = facts.is_constant or ("immutable" in caching and not caching.startswith("private"))
        origin = facts.origin if facts.origin in self._origins else None
        security = tuple(name for name in SECURITY if name in decisive) if decisive else ()
        return self._made(facts.scheme, caching, decisive.get(VARY, ""), is_constant, origin, security)

    def _make(
        self, scheme: str, caching: str, vary: str, is_constant: bool, origin: str | None, own_security: tuple[str, ...]
    ) -> CommonHeaders:
        """The common headers, made once for each combination. `own_security` names those that the answer has itself."""
        varies = [name.strip() for name in vary.split(",") if name.strip()]
        added = [*([] if is_constant else CREDENTIALS), *(["Origin"] if self._origins else [])]
        varies += [name for name in added if name.lower() not in map(str.lower, varies)]
        security = {**SECURITY, **({} if origin is None else _allowing(origin))}
        return CommonHeaders([
            (CACHE_CONTROL, caching), *([(VARY, ", ".join(varies))] if varies else []),
            *(header for header in security.items() if header[0] not in own_security),
            *([self._hsts] if scheme == "https" else []),
        ])  # fmt: skip


def _private(caching: str) -> str:
    """A Cache-Control that lets no shared cache store the answer."""
    directives = (directive.strip() for directive in caching.split(","))
    return ", ".join(["private", *(directive for directive in directives if directive not in ("public", "private"))])


def _allowing(origin: str) -> dict[str, str]:
    """The headers that allow a page of a trusted origin to read the answer."""
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Expose-Headers": EXPOSED,
        "Cross-Origin-Resource-Policy": "cross-origin",
    }


def varied(own: Headers) -> Headers:
    """The headers of an answer that has a compressed form, too."""
    varies = [value for name, value in own if name == VARY]
    return [*(header for header in own if header[0] != VARY), (VARY, ", ".join(["Accept-Encoding", *varies]))]


def without_common(own: Headers) -> Headers:
    """An answer's own headers that no common one replaces."""
    return [header for header in own if header[0] not in _REPLACED]


def init_app(app: Flask) -> None:
    """Give an application its headers."""
    config = app.config
    app.extensions["headers"] = AnswerHeaders(
        max_age=config["PUBLIC_MAX_AGE"], origins=config["CORS_ORIGINS"], hsts_subdomains=config["HSTS_SUBDOMAINS"],
        is_closed=config["READS"] == "members",
    )  # fmt: skip


def of_app(app: Flask) -> AnswerHeaders:
    """The headers of an application."""
    headers: AnswerHeaders = app.extensions["headers"]
    return headers
