"""Descriptions as HTML: CommonMark, GFM's links, and nothing of anybody's HTML."""

import re
from importlib.metadata import distributions

import pytest

from directory.services.text import markdown
from directory.services.text.rules import clean_text
from tests.support import cpu

REL = 'rel="nofollow ugc noopener"'


def link(address: str, text: str | None = None) -> str:
    return f'<a href="{address}" {REL}>{text or address}</a>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # GFM, extended autolinks
        (
            "See https://x.org/x. Then https://x.org/y,",
            f"See {link('https://x.org/x')}. Then {link('https://x.org/y')},",
        ),
        ("~~https://example.com~~", f"<s>{link('https://example.com')}</s>"),
        ("_https://example.com/a_b_", f"<em>{link('https://example.com/a_b')}</em>"),
        ("__see https://example.com/x__", f"<strong>see {link('https://example.com/x')}</strong>"),
        ("https://example.com/~u/ https://_", f"{link('https://example.com/~u/')} https://_"),
        ("(https://example.com/z)", f"({link('https://example.com/z')})"),
        ("<https://example.com>", link("https://example.com")),
        ("**https://example.com**", f"<strong>{link('https://example.com')}</strong>"),
        ("https://example.com/a_(b)", link("https://example.com/a_(b)")),
        ("(see https://example.com/a_(b))", f"(see {link('https://example.com/a_(b)')})"),
        ("https://example.com/?a=1&hl;", f"{link('https://example.com/?a=1')}&amp;hl;"),
        ("https://example.com; and", f"{link('https://example.com')}; and"),
        ("www.commonmark.org/help.", f"{link('http://www.commonmark.org/help', 'www.commonmark.org/help')}."),
        ("www.x.org/q?a=(b))) c", f"{link('http://www.x.org/q?a=(b)', 'www.x.org/q?a=(b)')})) c"),
        ("www.x.org/a&hl;", f"{link('http://www.x.org/a', 'www.x.org/a')}&amp;hl;"),
        ("www. www.a node.js readme.md", "www. www.a node.js readme.md"),
        ("https://my_app.x.org/a_(b).", f"{link('https://my_app.x.org/a_(b)')}."),
        ("_https://my_app._a.x.org:80_", f"<em>{link('https://my_app._a.x.org:80')}</em>"),
        ("https://x_y.org https://a.x_y.org", "https://x_y.org https://a.x_y.org"),
        ("a.www.x.org b@www.x.org /WWW.x.org", "a.www.x.org b@www.x.org /WWW.x.org"),
        ("a@b.org ftp://x.org //x.org", "a@b.org ftp://x.org //x.org"),
        ("`https://example.com`", "<code>https://example.com</code>"),
        # CommonMark
        ("[wiki](https://example.org/wiki/Foo_(bar))", link("https://example.org/wiki/Foo_(bar)", "wiki")),
        ("*a **b** c*", "<em>a <strong>b</strong> c</em>"),
        ("[a][r]\n\n[r]: https://example.org", link("https://example.org", "a")),
        ("&amp; &lt; &copy;", "&amp; &lt; ©"),
        ("a\\\nb", "a<br>\nb"),
        ("~~no~~", "<s>no</s>"),
        ("~no~ ~~yes~ ~~~x~~~ ~5 ~6", "<s>no</s> ~~yes~ ~~~x~~~ ~5 ~6"),
        # images are links, and within a link their text
        ("![alt](https://x.org/a.png)", link("https://x.org/a.png", "alt")),
        ("![](https://x.org/a.png)", link("https://x.org/a.png")),
        ("[![alt](https://i.org/a.png)](https://l.org)", link("https://l.org", "alt")),
        # nothing that is not the address of another site
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](/admin) [y](//evil.org) [z](#top) ![a](b.png)", "x y z a"),
        # an address ends before the marks of other scripts
        *((f"https://a.org/b{mark}文", f"{link('https://a.org/b')}{mark}文") for mark in "，。）」、،।”’…！？"),
        ("www.a.org/b、c https://。a", f"{link('http://www.a.org/b', 'www.a.org/b')}、c https://。a"),
        ("https://a.org/l’eau", link("https://a.org/l%E2%80%99eau", "https://a.org/l’eau")),
        # emphasis next to CJK
        ("これは**重要。**です", "これは<strong>重要。</strong>です"),
        ("この**「例」**は*「例」*と~~「例」~~だ", "この<strong>「例」</strong>は<em>「例」</em>と<s>「例」</s>だ"),
        ("中文**(a)**中文 **한국어(a)**는", "中文<strong>(a)</strong>中文 <strong>한국어(a)</strong>는"),
        ("文** a **文 **a.**b", "文** a **文 **a.**b"),
        # harmless HTML is shown as its text
        ('<p align="center"><img src="l.png" alt="The &lt;logo&gt;"></p>', "The &lt;logo&gt;"),
        ("<b>bold</b><br/>H<sub>2</sub>O<!-- no -->", "bold<br>\nH2O"),
        (
            "<iframe src=x> <bold> < b> <svg/onload=x>",
            "&lt;iframe src=x&gt; &lt;bold&gt; &lt; b&gt; &lt;svg/onload=x&gt;",
        ),
        # names of emoji
        (
            ":rocket: :+1: a:b:c :nope: `:fire:` :latin_small_letter_a:",
            "🚀 👍 a:b:c :nope: <code>:fire:</code> :latin_small_letter_a:",
        ),
        (":keycap_digit_one: :keycap_number_sign:", ":keycap_digit_one: :keycap_number_sign:"),
        ("[m](mailto:a@b.org)", "[m](mailto:a@b.org)"),
        ("[x](data:text/html,y) [v](vbscript:x)", "[x](data:text/html,y) [v](vbscript:x)"),
        ("<b onclick=x>hi</b>", "&lt;b onclick=x&gt;hi"),
        ("a <script>alert(1)</script>", "a &lt;script&gt;alert(1)&lt;/script&gt;"),
        # other scripts: the link goes to the name's ASCII form, and shows what was typed
        ("https://аррӏе.com/", link("https://xn--80ak6aa92e.com/", "https://аррӏе.com/")),
        ("https://xn--80ak6aa92e.com", link("https://xn--80ak6aa92e.com")),
    ],
)
def test_a_line_becomes_this(text, expected):
    assert markdown.html(text) == f'<p dir="auto">{expected}</p>\n'


def undirected(html):
    return re.sub(' dir="(auto|ltr|rtl)"', "", html)


def test_blocks_become_these():
    text = "# One\n### Three\n\n- [x] done\n- [ ] to do\n- [ ]not\n\n3. three\n\n> quoted\n\n"
    text += "```js\na<b\n```\n\n|a|b|\n|-|:-:|\n|1|2|\n\n---"
    html = re.sub(r"\n", "", undirected(markdown.html(text)))
    assert html == (
        "<h2>One</h2><h2>Three</h2><ul><li>☑ done</li><li>☐ to do</li><li>[ ]not</li></ul>"
        '<ol start="3"><li>three</li></ol><blockquote><p>quoted</p></blockquote><pre><code>a&lt;b</code></pre>'
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table><hr>"
    )


@pytest.mark.parametrize(("text", "expected"), [
    ("> [!NOTE]\n> Read it.", "<blockquote>\n<p><strong>Note</strong><br>\nRead it.</p>\n</blockquote>\n"),
    ("> [!tip]", "<blockquote>\n<p><strong>Tip</strong></p>\n</blockquote>\n"),
    ("> [!x]", "<blockquote>\n<p>[!x]</p>\n</blockquote>\n"),
    ("<details>\n<summary>More</summary>\n\n- a\n\n</details>", "<p>\nMore</p>\n<ul>\n<li>a</li>\n</ul>\n"),
    ("<div>\n\n# a\n\n</div>", "<h2>a</h2>\n"),
])  # fmt: skip
def test_blocks_of_readmes_become_these(text, expected):
    assert undirected(markdown.html(text)) == expected


@pytest.mark.parametrize("render", [markdown.html, markdown.page_html])
def test_each_block_has_the_direction_of_its_own_text(render):
    html = render("# Hi\n\nEnglish.\n\nعربي.\n\n|a|ع|\n|-|-|\n|b|ع|\n\n```\nع\n```\n\n- a\n- ع")
    assert re.findall(r"<(?:p|h2|th|td|li)\b[^>]*>", html) == [
        f'<{tag} dir="auto">' for tag in ("h2", "p", "p", "th", "th", "td", "td", "li", "li")
    ]
    assert '<pre dir="ltr">' in html


@pytest.mark.parametrize(("text", "tags"), [
    ("- a\n- ع", ['<ul dir="ltr">']),
    ("1. ع\n2. a", ['<ol dir="rtl">']),
    ("2. **ع**", ['<ol start="2" dir="rtl">']),
    ("- ع\n\n- a", ['<ul dir="rtl">', '<li dir="rtl">', '<li dir="auto">']),
    ("> ع\n>\n> a", ['<blockquote dir="rtl">']),
    ("> a\n>\n> ع", ['<blockquote dir="auto">']),
    ("|ع|\n|-|", ['<table dir="rtl">']),
    ("- 1\n\n> ?", ["<ul>", '<blockquote dir="auto">']),
])  # fmt: skip
def test_a_list_a_quote_and_a_table_have_the_direction_of_the_text_that_they_begin_with(text, tags):
    """`dir="auto"` would be from left to right for each, because it passes over blocks that have a direction."""
    html = markdown.html(text)
    found = re.findall(r"<(?:ul|ol|blockquote|table)\b[^>]*>|<li [^>]*>(?=\n)", html)
    assert [re.sub(" start=.2. dir=.rtl.| dir=.rtl. start=.2.", ' start="2" dir="rtl"', each) for each in found] == tags


BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize("numeral", ["&#{};", "&#x{:x};"])
def test_a_character_that_no_text_may_have_is_not_shown_for_an_entity_either(numeral):
    for char in BIDIRECTIONAL:
        entity = numeral.format(ord(char))
        text = f'a{entity}b [c{entity}d](https://a.org/{entity}e "f{entity}g") <img alt="h{entity}i">\n\n[r]\n\n'
        html = markdown.html(f"{text}[r]: https://b.org/{entity}j 'k{entity}l'")
        found = re.sub(' (href|title|rel)="', r"|\1=", html)
        assert char not in html
        assert re.sub('<p dir="auto">', "", found) == (
            f'ab <a|href=https://a.org/e"|title=fg"|rel={REL[5:]}>cd</a> hi</p>\n'
            f'<a|href=https://b.org/j"|title=kl"|rel={REL[5:]}>r</a></p>\n'
        )


def test_no_control_and_no_noncharacter_is_shown_for_an_entity():
    codes = [*range(1, 9), *range(11, 32), *range(127, 160), 0xFDD0, 0xFFFE, 0xFFFF, 0x1FFFE, 0xD800]
    html = markdown.html("".join(f"a&#{code};&#x{code:x};" for code in codes))
    assert html.count("a") > len(codes)
    assert clean_text(html, minimum=1, maximum=10_000, multiline=True)


IDEOGRAPHS = "".join(map(chr, range(0x4E00, 0x4F00)))
HOSTILE = {
    "brackets": "[" * 10_000,
    "images": "![[" * 3_300,
    "emphasis": "*a _b " * 1_600,
    "quotes": ">" * 10_000,
    "cells": "a|" * 2_000 + "\n" + "-|" * 2_000 + "\n" + "a|\n" * 600,
    "entities": "www.a.b/" + "&a;" * 3_300,
    "schemes": "https://" * 1_250,
    "www": "www.a." * 1_660,
    "parentheses": "https://a.b/" + ")" * 9_900,
    "links": "[a](" * 2_500,
    "ticks": "".join("`" * n + "a" for n in range(140)),
    "references": "".join(f"[a{n}]: https://x.org\n" for n in range(400)) + "[a1]" * 400,
    "lists": "\n".join("  " * n + "- a" for n in range(90)),
    "lazy quotes": "a\n>>>>\n" * 1_300,
    "spaced quotes": "> > " * 2_500,
    "forty quotes": (">" * 40 + "\n") * 240,
    "quotes and sections": "<![CDATA[> > " * 770,
    "lines of quotes and sections": "<![CDATA[\n> > a\n" * 620,
    "images alone": "![" * 5_000,
    "labels": "[a]: b\n" * 1_400,
    "bullets": "- " * 5_000,
    "lines of bullets": ("- " * 20 + "\n") * 240,
    "numbers": "1. > - " * 1_400,
    "runs of marks": "*_" * 5_000,
    "runs of marks and letters": "**a* " * 2_000,
    "lazy table": "a\n" + "a|b\n-|-\n" * 1_200,
    "comments": "<!--" * 2_500,
    "instructions": "<?" * 5_000,
    "autolinks": "<http:" * 1_600,
    "escapes": "\\[" * 5_000,
    "schemes in brackets": "(http://" * 1_250,
    "schemes in angles": "<http://" * 1_250,
    "breaks": "a\n" * 5_000,
    "entities behind an address": "https://a.b/" + "&a;" * 3_300,
    "addresses and marks": "https://a.b/。" * 770,
    "addresses that end early": "https://a/)" * 900,
    "addresses with open brackets": "https://a.b/(" * 800,
    "hosts that are none": "https://a_/" * 900,
    "beginnings of hosts": "_www._" * 1_660,
    "hosts of ideographs": "".join(f"https://{IDEOGRAPHS[n : n + 62]}.{IDEOGRAPHS[n : n + 60]}/ " for n in range(70)),
    "links to ideographs": "".join(f"[a](http://{IDEOGRAPHS[n : n + 60]}.a) " for n in range(130)),
    "many cells": "|a" * 40 + "\n" + "|-" * 40 + ("\n" + "|a" * 40) * 110,
    "headings": "# a\n" * 2_500,
    "closed headings": "## a ##\n" * 1_250,
    "numbers alone": "1.\n" * 3_300,
    "small tables": "a\n" + "|a|\n|-|\n" * 1_100,
    "marks beside ideographs": "**「" * 3_300,
    "empty pictures": "![]()" * 2_000,
    "lists from right to left": "- ע\n" * 2_500,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_costs_much_or_makes_much_html(name):
    """Without a limit of steps some take half a minute. With it the slowest takes 0.1 seconds, thrice in coverage."""
    with cpu.at_most(0.6):
        html = markdown.html(HOSTILE[name][:10_000])
    assert len(html) < 150_000
    elements = set(re.findall("</?([a-z0-9]+)", html))
    assert elements <= markdown.ELEMENTS


def test_a_text_that_takes_too_many_steps_is_shown_as_it_was_written():
    text = "a & <b>\n>>>>\n" * 700
    assert markdown.html(text).startswith('<p dir="auto">a &amp; &lt;b&gt;<br>&gt;&gt;&gt;&gt;<br>a &amp;')


def test_several_texts_together_cost_a_bounded_number_of_steps(monkeypatch):
    texts = [f"*{n}*" for n in range(9)]
    assert markdown.several(texts) == [markdown.html(text) for text in texts]
    monkeypatch.setattr(markdown, "PAGE_STEPS", markdown._rendered(texts[0])[1])
    assert [undirected(each) for each in markdown.several(texts)] == [
        *(f"<p><em>{n}</em></p>\n" for n in range(2)), *(f"<p>*{n}*</p>\n" for n in range(2, 9)),
    ]  # fmt: skip


def test_an_address_costs_steps_wherever_it_is():
    for address in ("https://a.org", "www.a.org", "(https://a.org)"):
        assert markdown._rendered(f"{address} " * 100)[1] >= 100 * markdown.LINK


@pytest.mark.parametrize(("text", "expected"), [
    ("https://a.org..b https://a..org", f"{link('https://a.org')}..b {link('https://a')}..org"),
    ("https://.a https://-a.b", "https://.a https://-a.b"),
    ("https://a.org:80/x https://a.org:123456/x", f"{link('https://a.org:80/x')} {link('https://a.org')}:123456/x"),
    ("https://a.org/[b]{c}(d)]e", f"{link('https://a.org/%5Bb%5D%7Bc%7D(d)', 'https://a.org/[b]{c}(d)')}]e"),
    ("https://a.org/b;; https://a.org/?!.", f"{link('https://a.org/b')};; {link('https://a.org/')}?!."),
    ("https://u@a.org git+https://a.org xhttps://a.org", f"{link('https://u@a.org')} git+https://a.org xhttps://a.org"),
    ("[https://a.org www.b.org](https://c.org)", link("https://c.org", "https://a.org www.b.org")),
    ("https://a.org/&a;&b;!", f"{link('https://a.org/')}&amp;a;&amp;b;!"),
    (f"https://{'a' * 254} https://a.org/{'b' * 2_048}", f"https://{'a' * 254} https://a.org/{'b' * 2_048}"),
    ("[a](https://é%zz.org)", "a"),
    ("http[://a.org]", "http[://a.org]"),
])  # fmt: skip
def test_an_address_ends_here(text, expected):
    assert markdown.html(text) == f'<p dir="auto">{expected}</p>\n'


def long_texts():
    """READMEs of the packages that are installed here, as people write them."""
    found = [str(each.metadata.get_payload()) for each in distributions() if each.metadata is not None]
    return [text[:10_000] for text in found if len(text) > 5_000]


def test_what_people_write_takes_a_part_of_the_steps():
    texts = long_texts()
    assert len(texts) > 20
    assert max(markdown._rendered(text)[1] for text in texts) < 0.75 * markdown.STEPS_MAX


def test_a_text_is_rendered_once():
    text = "once " * 7
    first = markdown.html(text)
    assert markdown.html(text) is first
