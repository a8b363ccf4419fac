"""Descriptions as HTML: CommonMark, GFM's links, and nothing of anybody's HTML."""

import re
from importlib.metadata import distributions

import pytest

from directory.services.text import markdown
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
    assert markdown.html(text) == f"<p>{expected}</p>\n"


def test_blocks_become_these():
    text = "# One\n### Three\n\n- [x] done\n- [ ] to do\n- [ ]not\n\n3. three\n\n> quoted\n\n"
    text += "```js\na<b\n```\n\n|a|b|\n|-|:-:|\n|1|2|\n\n---"
    html = re.sub(r"\n", "", markdown.html(text))
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
    assert markdown.html(text) == expected


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
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_costs_much_or_makes_much_html(name):
    """Without a limit of steps some take half a minute. With it the slowest took half a second under coverage."""
    with cpu.at_most(3):
        html = markdown.html(HOSTILE[name][:10_000])
    assert len(html) < 150_000
    elements = set(re.findall("</?([a-z0-9]+)", html))
    assert elements <= markdown.ELEMENTS


def test_a_text_that_takes_too_many_steps_is_shown_as_it_was_written():
    text = "a & <b>\n>>>>\n" * 700
    assert markdown.html(text).startswith("<p>a &amp; &lt;b&gt;<br>&gt;&gt;&gt;&gt;<br>a &amp;")


@pytest.mark.parametrize("piece", ["(http://", "<http://", ":http://"])
def test_what_a_rule_searches_counts_as_steps(piece):
    calls = markdown._rendered(piece * 10)[1]
    assert markdown._rendered(piece * 1_250)[1] > 125 * calls  # more than the calls of the rules


def test_several_texts_together_cost_a_bounded_number_of_steps(monkeypatch):
    texts = [f"*{n}*" for n in range(9)]
    assert markdown.several(texts) == [markdown.html(text) for text in texts]
    monkeypatch.setattr(markdown, "PAGE_STEPS", markdown._rendered(texts[0])[1])
    assert markdown.several(texts) == [f"<p><em>{n}</em></p>\n" for n in range(2)] + [
        f"<p>*{n}*</p>\n" for n in range(2, 9)
    ]


def long_texts():
    """READMEs of the packages that are installed here, as people write them."""
    found = [str(each.metadata.get_payload()) for each in distributions() if each.metadata is not None]
    return [text[:10_000] for text in found if len(text) > 5_000]


def test_what_people_write_takes_a_small_part_of_the_steps():
    texts = long_texts()
    assert len(texts) > 20
    assert max(markdown._rendered(text)[1] for text in texts) < markdown.STEPS_MAX / 2


def test_a_text_is_rendered_once():
    text = "once " * 7
    first = markdown.html(text)
    assert markdown.html(text) is first


def test_punctuation_alone_is_no_part_of_an_address():
    assert markdown._without_trailing("?!.") == ""
