"""The two equalities of addresses, which must not be confused.

- `needs_no_review` is narrow: an owner may change the website of a live project to an equal address without review, so
  nobody may gain anything by the difference. It compares addresses as typed, but for the differences that it names.
- Duplicates are wide: two projects of one owner are duplicates if their addresses probably lead to the same page, as
  `url_key` judges, unless each has a repository and `repository_key` tells these apart. `are_duplicates` is the rule;
  triggers of the table of projects apply it to the keys that each project has.

Whatever needs no review also has one `url_key`. The table of cases is in tests/services/test_equal_addresses.py.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from directory.services.text.links import AUTHORITY, NOT_A_URL, URL, parsed
from directory.services.text.repositories import is_forge, is_gitlab

_DEFAULT_PORTS = {"http": 80, "https": 443}
_CONTENT = ("#/", "#!")  # beginnings of fragments by which a page selects its content
# Parameters that track visitors and do not select content, in lower case, and the beginnings of the names of others.
_TRACKING = frozenset(
    {
        "__hsfp", "__hssc", "__hstc", "__s", "__tn__", "__twitter_impression", "_branch_match_id", "_branch_referrer",
        "_bta_c", "_bta_tid", "_ga", "_gid", "_gl", "_hsenc", "_hsmi", "_hsq", "_ke", "_kx", "_openstat",
        "action_object_map", "action_ref_map", "action_type_map", "at_campaign", "at_medium", "cmpid", "dclid",
        "dicbo", "dm_i", "echobox", "ef_id", "elqaid", "elqat", "elqcampaignid", "elqtrack", "elqtrackid", "epik",
        "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "fbclid", "ga_campaign", "ga_content", "ga_medium",
        "ga_place", "ga_source", "ga_term", "gad_campaignid", "gad_source", "gbraid", "gclid", "gclsrc", "gs_l",
        "guccounter", "guce_referrer", "guce_referrer_sig", "hsctatracking", "igsh", "igshid", "irclickid", "irgwc",
        "li_fat_id", "li_medium", "li_source", "mc_cid", "mc_eid", "mc_tc", "mibextid", "mkt_tok", "ml_subscriber",
        "ml_subscriber_hash", "msclkid", "ncid", "oft_id", "oly_anon_id", "oly_enc_id", "pk_campaign", "pk_cid",
        "pk_content", "pk_keyword", "pk_kwd", "pk_medium", "pk_source", "qclid", "rb_clickid", "rdt_cid", "ref",
        "ref_", "ref_src", "ref_url", "referer", "referrer", "s_cid", "s_kwcid", "sc_cid", "sccid", "sr_share",
        "srsltid", "tblci", "trkcampaign", "ttclid", "twclid", "vero_conv", "vero_id", "wbraid", "wickedid", "wpsrc",
        "wt.mc_id", "wt_mc", "wt_zmc", "wtrid", "xtor", "yclid", "ysclid", "zanpid",
    }
)  # fmt: skip
_TRACKING_BEGINNINGS = (
    "utm_", "mtm_", "matomo_", "piwik_", "hsa_", "itm_", "stm_", "otm_", "hmb_", "at_custom", "__cft__",
)  # fmt: skip
# Below a repository: the files of a branch, or its readme, which the page of the repository shows too.
_FRONT = re.compile(
    r"/(?:-/)?(?:(?:tree|src/branch)/[^/]+|src/(?:main|master)|(?:blob|src/branch)/[^/]+/readme(?:\.[a-z]+)?)",
    re.IGNORECASE,
)
_NAMES = 3  # segments of the path of a repository; the first is empty
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_UNDECODED = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as Python decodes it by `surrogateescape`
_KEPT = frozenset(b":/?#[]@!$&'()*+,;=%") | frozenset(range(0x20)) | {0x7F}  # their escapes have another meaning


Address = tuple[str, str | None]  # the website of a project, and its repository


def needs_no_review(before: str, after: str) -> bool:
    """Whether the address of a live project may change from one to the other without review.

    They may differ in the scheme (http, https), the case of the host, a leading `www.`, the default port, one trailing
    slash of the path, and a fragment that does not begin with `/` or `!`. Nothing else is normalised: an escape, the
    order of the query or a parameter may decide what the site's server answers.
    """
    return _as_typed(before) == _as_typed(after)


def are_duplicates(one: Address, other: Address) -> bool:
    """Whether one owner may have only one of two projects with these websites and repositories."""
    repositories = {repository_key(one[1]), repository_key(other[1])}
    return url_key(one[0]) == url_key(other[0]) and (None in repositories or len(repositories) == 1)


# A submission asks several times, and the queue of review for all that it shows each time that it is read.
@lru_cache(1_024)
def url_key(url: str) -> str:
    """Return the identity of a URL, as 64 hexadecimal digits: the same for two URLs that probably lead to one page.

    These differ only as `needs_no_review` allows, or in escapes and dot segments (RFC 3986 section 6.2.2), Unicode
    normalization, the order of the query, parameters that track visitors, and on hosts of repositories in the case of
    names, `.git`, and the way to the first files. Raises ValueError for text that is not a URL.
    """
    return _hashed(_identity(url))


def repository_key(url: str | None) -> str | None:
    """Return the identity of a repository, which is that of its address; None without one that is a URL.

    So a project whose website is the repository of another is found by either key.
    """
    return None if url is None or not URL.fullmatch(url) else url_key(url)


def key_apart(url: str, project_id: int) -> str:
    """Return a distinct key for a project whose owner has another with the same URL, from before we treated them so."""
    return _hashed(f"{_identity(url)}#{project_id}")


def url_keys(project: Any) -> tuple[str, str]:
    """Return the two keys that a project may have: `url_key` and `key_apart` of its URL.

    If the rules no longer take its URL for one, both are the key that it has.
    """
    try:
        identity = _identity(project.url)
    except ValueError:
        return project.url_key, project.url_key
    return _hashed(identity), _hashed(f"{identity}#{project.id}")


def _hashed(identity: str) -> str:
    # The index contains a hash, because PostgreSQL refuses index rows over 2.7 kB, and a URL of 2,048 characters
    # can be longer in UTF-8.
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _identity(url: str) -> str:
    """A text that is the same for equal URLs. Raises ValueError."""
    if not URL.fullmatch(url):
        raise ValueError(NOT_A_URL)
    read = parsed(url)
    if read is None:  # a host that only another version of the parser accepted
        parts = urlsplit(url)
        host, authority = "", parts.netloc.lower().removeprefix("www.")
        path, query, fragment = parts.path, parts.query, f"#{parts.fragment}"
    else:
        host = read.hostname.removeprefix("www.")
        authority = f"{host}:{read.port}" if read.port else host
        path, query, fragment = read.pathname, read.search.removeprefix("?"), read.hash
    selects_content = fragment.startswith(_CONTENT)
    content = _unescaped(fragment[:2] + fragment[2:].removesuffix("/")) if selects_content else ""
    return f"{authority}{_path(host, path)}{_query(host, query)}{content}"


def _as_typed(url: str) -> tuple[str | None, ...]:
    """The parts of an address that a reviewer has seen, as typed."""
    match = URL.fullmatch(url)
    authority = AUTHORITY.fullmatch(match["authority"]) if match else None
    read = parsed(url)
    if match is None or authority is None or read is None:
        return (url,)
    port = (authority["port"] or "").removeprefix(":")
    if port.isdecimal() and int(port) == _DEFAULT_PORTS[match["scheme"].lower()]:
        port = ""
    # The host as browsers read it too: the case of some letters makes another host (capital sharp s).
    hosts = (authority["host"].lower(), read.hostname)
    fragment = match["fragment"] or ""
    return (
        *(host.removeprefix("www.") for host in hosts),
        port,
        match["path"].removesuffix("/"),
        match["query"],
        fragment if fragment.startswith(_CONTENT) else "",
    )


def _path(host: str, path: str) -> str:
    path = _unescaped(path).removesuffix("/")
    if not is_forge(host):
        return path
    nested = is_gitlab(host)
    names, separator, rest = path.partition("/-/") if nested else (path, "", "")
    segments = names.split("/")
    end = len(segments) if nested else _NAMES
    repository = "/".join(segments[:end]).lower().removesuffix(".git")
    below = "".join(f"/{segment}" for segment in segments[end:]) + separator + rest
    return repository if len(segments) >= _NAMES and _FRONT.fullmatch(below) else repository + below


def _query(host: str, query: str) -> str:
    pairs = [_unescaped(pair.replace("+", "%20")) for pair in query.split("&") if pair]
    names = [pair.partition("=")[0] for pair in pairs]
    kept = sorted((name, n) for n, name in enumerate(names) if not _selects_nothing(host, name.lower()))
    return "?" + "&".join(pairs[n] for _, n in kept) if kept else ""


def _selects_nothing(host: str, name: str) -> bool:
    if host == "github.com" and name == "tab":  # below the files of the same repository, such as its readme
        return True
    return name in _TRACKING or name.startswith(_TRACKING_BEGINNINGS)


def _unescaped(text: str) -> str:
    """The text in NFC, with characters unescaped if that does not change their meaning."""
    if text.isascii() and "%" not in text:
        return text

    def decode(escape: re.Match[bytes]) -> bytes:
        byte = int(escape[1], 16)
        return escape[0].upper() if byte in _KEPT else bytes([byte])

    decoded = _ESCAPE.sub(decode, text.encode("utf-8", "surrogatepass")).decode(errors="surrogateescape")
    # What is not UTF-8 is escaped again.
    kept = _UNDECODED.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", decoded)
    return unicodedata.normalize("NFC", kept)
