"""Texts that are costly for parsers: units and pairs of units, repeated in several ways."""

import random
from collections.abc import Iterator

MARKDOWN = (
    "> ", ">", ">" * 40, "a\n>>>>\n", "- ", "* ", "+ a\n",
    "1. ", "1) a\n", "> - ", "- > ", "- [ ] a\n", "    ", "\t", "\n",
    "a\n", "*", "**", "_", "*_", "*a _b ", "**a* ", "a**b", "~", "~~a ", "`", "``a", "```\n", "~~~\n", "[", "]", "![",
    "[a](", "[a](<", "[a](b \"", "[a][", "[a]: b\n", "[a]:\n",
    "[]()", "[[]", "(", ")", "<", "<a ", "<a b='", "<!--", "<?",
    "<![CDATA[", "</", "<div>\n", "&", "&a;", "&#1;", "\\",
    "\\[", "|", "a|", "|-", "a|b\n-|-\n", "#", "# a\n", "---\n",
    "a\n===\n", "_ _ ", "https://", "https://a.b/", "www.a.", "www.a.b/)", "<http:", "a@b.c ", "://", "_.", ":a:",
    "> [!NOTE]\n", ":keycap_digit_one:", "。**", "**。", "https://a.b/。", "<p>", "<img src=\"", "[a](b/c.md) ", ":+1:",
    "&#8238;", "&#x2067;", "&amp;", "&a;&", "&#", "&#x", "&;", "https://a.b/&a;", "https://a.b/?!.,", "https://a.b/)",
    "(https://a.b/)", "www.a.b.", "www.a.b?a=(", "http://a_b.c", "http://_", "https://a_", "https://a-", "https://[",
    "https://1.1.1.1:1/", 'https://a.b/"', "https://a.b/'", "https://a.b/*", "https://a.b/_", "https://a.b/~",
    "https://a.b/,", "https://x.org\u3002", "https://a", "http", "https:", "http:// ", "HTTP://a.b ", "www.", "www.a",
    "www.a.b ", "a.www.", "-www.a.b", "<http://a.b>", "<https:a>", "<a@b.c>", "<a:", "<b>", "</b>", "<b a", "<br>",
    "<br/>\n", "<img alt=''>", '<img alt="', "<img ", "<b on", "<b x on", "<b \n", "<!-- -->", "<!---->", "<!-- a",
    "<?a?>", "<!A>", "<![CDATA[]]>", "<p\n", "[a]", "[a]: b 'c'\n", "[a]: b '", "[a]: <", "[a](b 'c')", "[a](b (",
    "[a](((((", "[a](<b>", "[^a]", "[a][a]", "![a](b)", "![a][b]", "![a](https://x.org/y)", "[![", "[![a](b)](",
    "[[a]]", "[]", "[](", "[a\\]", "[`", "[<", "[*", "[https://", "](", "](a)", "[x](https://a.b)",
    "[x]: https://a.b\n[x] ", "`a`", "` ``", "``` ", "````\n", "~~~", "~a~", "~~a~~", "***", "***a*** ", "*a*", "_a_",
    "__", "*a", "a*", "**a **b ", "*\u3002", "_a*", "*_a*_", "a_b_", "a*b*c", "|a|b|\n", "|-|-|\n", "a|b\n-|-\na|b\n",
    "|\n", "\\|", "a|`", "| | ", "|a|\n|-|\n", "- a|b\n  -|-\n", "> |a\n> |-\n", "* * *\n", "+ ", "- a\n\n", "-\n",
    "1.\n", "1. a\n", "999999999. ", "  - a\n", "   > ", "> a\n", ">\n", "> > a\nb\n", "> - a\n", "- > a\nb\n",
    "> 1. a\nb\n", "- a\nb\n", "- - - a\n", ">\t", "-\t", "\t- ", "    a\n", " \n", "\n\n", "  \n", "a  \n", "a\\\n",
    "===\n", "---\na\n", "a\n---\n", "# ", "## a ##\n", "#\n", "\u2066", "\u2069", "a\u0301", "\u3001",
    "\uff0chttps://a.b", "\u6587**\u6587", "**\u300c", "\u300d**", "\u200b", "\U0001f600", "[\xe9]: b\n[\xc9] ",
    "[\u1e9e]", ":a_b:", ":latin_small_letter_a:", ":rocket:", "[x] ", "- [x] a\n", "> [!NOTE]\n> a\n", "\\\\", "\\&",
    "\\a", "!", "!\\[", "$", "a@b.c", "mailto:a@b.c ", "ftp://a.b ", "//a.b ", "a://", "://a", "x://(", "1http://",
    "(https://a.b", "a ", "a b\n", ",", ";",
)  # fmt: skip
OTHERS = (
    "a", " ", "\u00a0", "\u3000", "é", "e\u0301", "\u0301",
    "\u0323\u0301", "\u1100\u1161\u11a8", "\ufdfa", "\u0130", "ß",
    "\U0001f3f4\U000e0067", "\U000e0067", "\U0001f1e9",
    "\U0001f469\u200d", "\u200d", "\u200c", "\ufe0f", "\u0915\u094d",
    "\u05d0", "\u202e", "\u4e2d", "\u0e01\u0e33", "\ufffe",
    "\0", "\x0b", "\r", ".", "a.", "@", "a@", "@a.", "a-", "--", "'",
    '"', '"a" ', "%", "%2", "xn--", "http://", "http://a.",
    "http://[::", "/../", "?a=", "&a", "#", ":", "a:b ", "OR ", "-a ",
    "(", "*", "\\", "{", "}", "0", "9", "1e9", "=", "==", "eyJ", "-_",
)  # fmt: skip


def repeated(units: tuple[str, ...], length: int, chosen: random.Random) -> Iterator[str]:
    """Texts of at most so many characters, one after the other without an end."""
    while True:
        one, other = chosen.choice(units), chosen.choice(units)
        line = one * chosen.choice((1, 2, 3, 8, 20, 40)) + chosen.choice(("", "\n"))
        yield from (
            filled(one, length), filled(one + other, length), filled(line, length), filled(f"a\n{line}", length),
            filled(one, length // 2) + filled(other, length // 2),
            "".join(f"{one * number}{other}" for number in range(300))[:length],
            "".join(f"{'  ' * number}{one}{other}\n" for number in range(120))[:length],
        )  # fmt: skip


def filled(unit: str, length: int) -> str:
    """A unit, repeated up to a length."""
    return (unit * (length // len(unit) + 1))[:length]


LONG = 7_900  # characters of a header; a server takes no head of more than 8 KiB
# What a browser or a program puts into a header, again and again.
HEADER_UNITS = {
    "Cookie": ("a=b; ", "a; ", ";", "=", 'a="', "directory_session=", "directory_session=a; ", '\\"; ', " "),
    "If-None-Match": ('"a",', 'W/"a", ', '"', "W/", ",", '"a"', " ", "*", "*,"),
    "If-Match": ('"1",', 'W/"1", ', '"', '"9', ",", "1", " ", "*", "*,"),
    "Accept": ("a/b;q=0.1,", "*/*,", ";q=", ",", ";", "text/html,", 'a/b;a="', " ", "application/json;q=0.01,", "1"),
    "Accept-Encoding": ("gzip,", "br;q=0,", ";q=0.", ",", "*", "a", " ", "gzip;q=1e9,"),
    "Accept-Language": ("de,", "de-a-", ";q=", "*,", " "),
    "Range": ("bytes=0-,", "0-1,", "-", ",", "9", " "),
    "Origin": ("http://", "a.", ":", "/", "[", "xn--", "http://a", "@"),
    "Host": ("a.", "[", ":", "1", "xn--", "@"),
    "Sec-Fetch-Site": ("same-origin,", "a", " "),
    "Forwarded": ("for=a,", 'for="[', "by=", ";", ",", '"'),
    "X-Forwarded-For": ("1.1.1.1,", ":,", "[::1],", ",", "1", " ", "::"),
    "X-Forwarded-Proto": ("https,", ",", " "),
    "Authorization": ("Bearer ", "Basic YTpi", "Basic ", "=", "a", " ", 'Digest a="', "pds_a"),
    "Content-Type": (
        "application/json;",
        "a=b;",
        'a="',
        ";",
        "multipart/form-data; boundary=",
        " ",
        "a*0=",
        "charset=",
    ),
    "Content-Length": ("9", "0", "-"),
    "X-Request-Id": ("a", "-", " "),
    "User-Agent": ("Mozilla/5.0 (", "Chrome/1 ", "(", "/", "Version/", " "),
    "traceparent": ("00-", "0", "-"),
}
DISPOSITION = b"--x\r\nContent-Disposition: form-data; "
PART = DISPOSITION + b'name="a"\r\n\r\n'
URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
# Forms of at most 64 KiB: bodies and their types.
FORMS = (
    *((made, URLENCODED) for made in (
        b"&" * 60_000, b"=" * 60_000, b"a=b&" * 15_000, b"a&" * 30_000, b"a=" + b"%41" * 20_000, b"a=" + b"+" * 60_000,
        b"a=" + b"%" * 60_000, b"a=" + b"%f0%9f%8f%b4" * 5_000, b"a=" + b"%ff" * 20_000, b"%41" * 20_000 + b"=",
        b";" * 60_000, b"title=" + b"a" * 60_000, b"a=1&" * 29 + b"a=" + b"a" * 60_000,
    )),
    *((made, MULTIPART) for made in (
        b"--x\r\n" * 12_000, b"-" * 60_000, b"\r\n" * 30_000, b"\r" * 60_000, b"\n--" * 20_000, b"\r\n--x" * 12_000,
        b"--x\r\n" + b"A: b\r\n" * 10_000 + b"\r\n", b"--x\r\nA:" + b" " * 60_000, b"--x\r\n" + b"A" * 60_000,
        DISPOSITION + b'name="' + b"\\\\" * 30_000, DISPOSITION + b";" * 60_000, DISPOSITION + b"a*0=b; " * 8_000,
        DISPOSITION + b'a="' * 20_000, PART + b"\r\n-" * 20_000, PART + b"\r\n--" * 15_000, PART + b"\n" * 60_000,
        PART + b"a" * 60_000 + b"\r\n--x--\r\n", (PART + b"\r\n") * 1_000 + b"--x--\r\n",
        PART + b"\xff\r\n" * 20_000 + b"--x--\r\n",
    )),
    ((b"-" * 199) * 300, "multipart/form-data; boundary=" + "-" * 199),
    ((b"\r\n--" + b"-" * 198 + b"a") * 290, "multipart/form-data; boundary=" + "-" * 199),
)  # fmt: skip
# CBOR as an authenticator may send it, or something else.
CBOR = (
    b"\x81" * 60_000, b"\x80" * 8_000, b"\x9f" * 8_000, b"\xa1\x61a" * 2_000, b"\xb9\x0f\xa0" + b"\x00\x00" * 4_000,
    b"\x99\x1f\x40" + b"\x00" * 8_000, b"\xd8\x23\x79\x1f\x00" + b"[a-z]" * 1_587,
    b"\xc2\x59\x1f\x40" + b"\xff" * 8_000, b"\x79\x1f\x40" + b"a" * 8_000, b"\x9b" + b"\xff" * 8,
    b"\xbb" + b"\x7f" * 8, b"\x5f" + b"\x41a" * 4_000,
    *(
        b"\xa3\x63fmt" + bytes([96 + len(name)]) + name
        + b"\x67attStmt\xa2\x63x5c\x98\xff" + b"\x44\x30\x82\x00\x00" * 255
        + b"\x68response\x59\x10\x00" + b"ey." * 1_365 + b"e" + b"\x68authData\x59\x07\x00" + b"\xff" * 1_792
        for name in (b"packed", b"tpm", b"android-key", b"android-safetynet", b"apple", b"fido-u2f", b"none")
    ),
)  # fmt: skip
