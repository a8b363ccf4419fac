"""The rules for links: validation of a URL, and equality of two URLs."""

import hashlib
import re
import unicodedata
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

URL_MAX = 2048
_HOST_MAX = 253
_PORT_MAX = 65_535

# ASCII: otherwise, with case ignored, U+017F would match the s of https.
_URL = re.compile(r"https?://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:.*)?", re.DOTALL)
_PORT = re.compile(":[0-9]{1,5}")
# A hyphen may be anywhere, as in browsers (WHATWG URL, CheckHyphens=false): "volans-.github.io" is a real host. The
# lengths are limited as in the DNS, which cannot resolve longer names.
_LABEL = re.compile("[a-z0-9_-]{1,63}")
_UNSAFE = frozenset('\\<>"')
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_NO_HOST = "Must name a valid host."

# Names for private networks: RFC 6761, RFC 6762, ICANN's .internal, and names in common use. The domain .arpa has no
# websites, and home.arpa is private (RFC 8375).
_INTERNAL = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".private",
    ".mail", ".arpa",
)  # fmt: skip
# In addition to `is_global`, which differs between versions of Python: only 2000::/3 of IPv6 is allocated, and other
# blocks contain old forms of internal addresses (::127.0.0.1, fec0::1). _SPECIAL is for protocols and documentation.
_ALLOCATED = IPv6Network("2000::/3")
_SPECIAL = (IPv4Network("192.0.0.0/24"), IPv6Network("3fff::/20"))
_INTERNAL_REASON = "Must be an address on the public internet, not one of a private network."

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
# Hosts of repositories: names of owners and repositories ignore case, and may end in `.git`. On GitLab groups can be
# nested, and a segment `-` ends them. Installations of the same programs are recognised by the first label of the host.
_GITLAB = frozenset({"gitlab.com", "framagit.org", "invent.kde.org", "salsa.debian.org"})
_FORGES = frozenset({"github.com", "codeberg.org", "bitbucket.org", "gitea.com", "gitee.com", "notabug.org"})
_GITLAB_LABEL, _FORGE_LABELS = "gitlab.", ("gitea.", "forgejo.")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_UNDECODED = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as Python decodes it by `surrogateescape`
_KEPT = frozenset(b":/?#[]@!$&'()*+,;=%") | frozenset(range(0x20)) | {0x7F}  # their escapes have another meaning


def check_url(value: str, *, internal: bool = False) -> str:
    """Return the absolute http or https URL as it is stored: trimmed, and otherwise as typed.

    With `internal` addresses of private networks are accepted too. Raises ValueError with the reason.
    """
    plain = value.isascii() and value.isprintable()  # the only invisible character that it may contain is a space
    if not plain and any(unicodedata.category(char) == "Cc" for char in value):
        raise ValueError("Must not contain line breaks or control characters.")
    url = value.strip()
    if not url:
        raise ValueError("Must not be blank.")
    if len(url) > URL_MAX:
        raise ValueError(f"Must have 1 to {URL_MAX} characters.")
    if not _UNSAFE.isdisjoint(url):
        raise ValueError('Must not contain \\, <, > or ".')
    if " " in url or (not plain and any(map(_is_unseen, url))):
        raise ValueError("Must not contain white space or invisible characters.")
    host = _checked_host(url)
    if not internal and _is_internal(host):
        raise ValueError(_INTERNAL_REASON)
    return url


def url_key(url: str) -> str:
    """Return the identity of a URL, as 64 hexadecimal digits: the same for two URLs that we treat as equal.

    URLs are equal if they differ only in the scheme, the case of the host, a leading `www.`, the default port, a
    trailing slash, the fragment, escapes and dot segments (RFC 3986 section 6.2.2), Unicode normalization, the order of
    the query, parameters that track visitors, and on hosts of repositories the case of names and `.git`.
    Raises ValueError for text that is not a URL.
    """
    return _hashed(_identity(url))


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


def ascii_host(url: str) -> str | None:
    """Return the host in Punycode if it has letters that are not ASCII, to be shown beside the URL; otherwise None.

    A name in Cyrillic can look like one in Latin. Punycode shows the difference.
    """
    parsed = _parsed(url)
    typed = urlsplit(url).netloc
    return parsed.hostname if parsed is not None and not typed.isascii() and "xn--" in parsed.hostname else None


def _is_unseen(char: str) -> bool:
    is_noncharacter = ord(char) & 0xFFFE == 0xFFFE or "\ufdd0" <= char <= "\ufdef"
    return is_noncharacter or unicodedata.category(char) in _UNSEEN_CATEGORIES


def _checked_host(url: str) -> str:
    """Return the host of a URL as browsers send it. Raises ValueError."""
    typed, parsed = _typed_host(url), _parsed(url)
    if parsed is None or "%" in typed:
        raise ValueError(_NO_HOST)
    host: str = parsed.hostname
    if _is_ipv4(host):
        if unicodedata.normalize("NFKC", typed) != host:  # browsers also read 0x7f.1 and 2130706433 as addresses
            raise ValueError("Must name a valid host: four decimal numbers make an IPv4 address.")
    elif not host.startswith("[") and (len(host) > _HOST_MAX or not all(map(_LABEL.fullmatch, host.split(".")))):
        raise ValueError(_NO_HOST)
    return host


def _typed_host(url: str) -> str:
    """Return the host as typed. Raises ValueError if the URL contains a user or an invalid port."""
    match = _URL.fullmatch(url)
    if not match:
        raise ValueError("Must be an absolute URL that begins with http:// or https://.")
    if "@" in match["authority"]:
        raise ValueError("Must not contain a user name or password.")
    authority = _AUTHORITY.fullmatch(match["authority"])
    if not authority or not authority["host"]:
        raise ValueError(_NO_HOST)
    port = authority["port"]
    if port is not None and not (_PORT.fullmatch(port) and 1 <= int(port[1:]) <= _PORT_MAX):
        raise ValueError(f"Must have a port of 1 to {_PORT_MAX}, or none.")
    return authority["host"]


def _is_ipv4(host: str) -> bool:
    """Whether a host as browsers send it is an IPv4 address: no other host ends in a number (WHATWG URL)."""
    return host.rpartition(".")[2].isdecimal()


def _is_internal(host: str) -> bool:
    if host.startswith("[") or _is_ipv4(host):
        return not _is_public(ip_address(host.strip("[]")))
    return "." not in host or f".{host}".endswith(_INTERNAL)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address, and any IPv4 address embedded in it, is reachable on the internet."""
    if isinstance(address, IPv6Address):
        carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), _translated(address))
        if any(each is not None and not _is_public(each) for each in carried):
            return False
        if address.ipv4_mapped is not None or _translated(address) is not None:
            return True
        if address not in _ALLOCATED:
            return False
    is_special = any(address in network for network in _SPECIAL)
    return address.is_global and not address.is_multicast and not is_special


def _translated(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in a NAT64 address (RFC 6052), 64:ff9b::/96."""
    return IPv4Address(address.packed[12:]) if address.packed[:12] == b"\x00\x64\xff\x9b" + bytes(8) else None


def _parsed(url: str) -> Any:
    """The URL as browsers parse it (WHATWG URL); None if they refuse it."""
    try:
        return _parser()(url)
    except (ValueError, UnicodeError):
        return None


@cache
def _parser() -> Any:
    from ada_url import URL  # imported late, because it takes 50 ms

    return URL


def _hashed(identity: str) -> str:
    # The unique index contains a hash, because PostgreSQL refuses index rows over 2.7 kB, and a URL of 2,048 characters
    # can be longer in UTF-8.
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _identity(url: str) -> str:
    """A text that is the same for equal URLs. Raises ValueError."""
    if not _URL.fullmatch(url):
        raise ValueError("Must be an absolute URL that begins with http:// or https://.")
    parsed = _parsed(url)
    if parsed is None:  # a host that only another version of the parser accepted
        parts = urlsplit(url)
        return f"{parts.netloc.lower().removeprefix('www.')}{_path('', parts.path)}{_query('', parts.query)}"
    host = parsed.hostname.removeprefix("www.")
    port = f":{parsed.port}" if parsed.port else ""
    query = parsed.search.removeprefix("?")
    return f"{host}{port}{_path(host, parsed.pathname)}{_query(host, query)}"


def _path(host: str, path: str) -> str:
    path = _unescaped(path).removesuffix("/")
    is_gitlab = host in _GITLAB or host.startswith(_GITLAB_LABEL)
    if not (is_gitlab or host in _FORGES or host.startswith(_FORGE_LABELS)):
        return path
    names, separator, rest = path.partition("/-/") if is_gitlab else (path, "", "")
    segments = names.split("/")
    end = len(segments) if is_gitlab else 3
    repository = [segment.lower() for segment in segments[:end]]
    repository[-1] = repository[-1].removesuffix(".git")
    return "/".join([*repository, *segments[end:]]) + separator + rest


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
