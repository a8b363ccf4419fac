"""Tags and addresses as people type them."""

import pytest

from directory.services.text.rules import typed_tags, with_scheme


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("C++, C#; Node.js  .NET", ["cpp", "csharp", "nodejs", "dotnet"]),
        ("#Rust, rust、Café，snake_case a/b", ["rust", "cafe", "snake-case", "a-b"]),
        ("R&D", ["r-and-d"]), ("编辑器", ["编辑器"]), ("ru\u00adst, \u200brust \U000e0067", ["rust"]), (" ,;. ", []),
        ("", []), ("-a-", ["a"]),
    ],
)  # fmt: skip
def test_tags_become_slugs_each_once(line, tags):
    assert typed_tags(line) == tags


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("vim.org", "https://vim.org"), (" vim.org/a?b#c ", "https://vim.org/a?b#c"), ("vim.org:80", "https://vim.org:80"),
        ("http://vim.org", "http://vim.org"), ("git@github.com:a/b", "git@github.com:a/b"), ("vim", "vim"),
        ("a@b.org", "a@b.org"), ("javascript:a.b", "javascript:a.b"), ("not an address.", "not an address."), ("", ""),
    ],
)  # fmt: skip
def test_an_address_without_a_scheme_gets_one(text, address):
    assert with_scheme(text) == address
