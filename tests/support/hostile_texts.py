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
