"""The two equalities of addresses: the narrow one, which needs no review, and the wide one of duplicates."""

import hashlib
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directory.services.text import links
from directory.services.text.equal_addresses import are_duplicates, key_apart, needs_no_review, repository_key, url_key


def check_url(value):
    """The rule without its bound to the public internet, which has tests of its own."""
    return links.check_url(value, internal=True)


# The table of cases: pairs that are equal in both ways, only as duplicates, or not at all.
EQUAL = [
    ("http://example.com/a", "https://example.com/a"),
    ("HTTP://example.com/a", "hTTps://example.com/a"),
    ("https://EXAMPLE.com/a", "https://example.COM/a"),
    ("https://www.example.com/a", "https://example.com/a"),
    ("https://VOLANS-.github.io", "http://volans-.github.io/"),
    ("https://\xdc-.example", "https://\xfc-.example"),
    ("https://WWW.example.com/a", "https://example.com/a"),
    ("https://example.com:443/a", "https://example.com/a"),
    ("http://example.com:80/a", "https://example.com/a"),
    ("http://example.com:00080/a", "https://example.com/a"),
    ("https://example.com/", "https://example.com"),
    ("https://example.com/a/", "https://example.com/a"),
    ("https://example.com/a/?q=1", "https://example.com/a?q=1"),
    ("https://example.com/?q", "https://example.com?q"),
    ("https://example.com/a#b", "https://example.com/a"),
    ("https://example.com/a#", "https://example.com/a"),
    ("HTTP://WWW.EXAMPLE.COM:80/#top", "https://example.com"),
    ("https://example.com/a#/", "https://example.com/a/#/"),
    ("https://example.com/#!a", "http://example.com#!a"),
    ("https://example.com/?ref=a#b", "https://example.com?ref=a"),
]  # fmt: skip
DUPLICATES = [
    ("https://\xfc-.example", "https://xn----dha.example"),
    ("https://example.com:8443/a", "http://example.com:08443/a"),
    ("https://example.com/a", "https://example.com/a?"),
    ("https://example.com/a?&&", "https://example.com/a"),
    ("https://example.com/%7Eu", "https://example.com/~u"),
    ("https://example.com/a%2fb", "https://example.com/a%2Fb"),
    ("https://example.com/a/./b", "https://example.com/a/b"),
    ("https://example.com/a/c/../b", "https://example.com/a/b"),
    ("https://example.com/a/%2e/b", "https://example.com/a/b"),
    ("https://example.com/%41", "https://example.com/A"),
    ("https://example.com/{x}|y", "https://example.com/%7Bx%7D%7cy"),
    ("https://example.com/\xe9", "https://example.com/%C3%A9"),
    ("https://example.com/%ff", "https://example.com/%FF"),
    ("https://example.com/%ff%41%c3%a9%c3", "https://example.com/%FFA\xe9%C3"),
    ("https://example.com/?q=%7e", "https://example.com/?q=~"),
    ("https://example.com/?a+b", "https://example.com/?a%20b"),
    ("https://example.com/caf\xe9", "https://example.com/cafe\u0301"),
    ("https://example.com/cafe%CC%81", "https://example.com/caf%C3%A9"),
    ("https://example.com/a?utm_source=x&utm_medium=y", "https://example.com/a"),
    ("https://example.com/a?fbclid=1&q=2&gclid=3&ref=hn", "https://example.com/a?q=2"),
    ("https://example.com/a?UTM_Source=x", "https://example.com/a"),
    ("https://example.com/a?mtm_campaign=x&pk_kwd=y&hsa_acc=1&matomo_source=z", "https://example.com/a"),
    ("https://example.com/a?srsltid=1&gad_source=1&__hstc=2&hsCtaTracking=3&ScCid=4&q=2", "https://example.com/a?q=2"),
    ("https://example.com/a?wt_mc=1&at_custom1=2&itm_source=3&__cft__%5B0%5D=4&Referrer=5", "https://example.com/a"),
    ("https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2"),
    ("https://github.com/Pallets/Flask", "https://github.com/pallets/flask"),
    ("https://github.com/pallets/flask.git", "http://www.GitHub.com/pallets/flask/"),
    ("https://gitlab.com/Group/Sub/Project.git", "https://gitlab.com/group/sub/project"),
    ("https://codeberg.org/A/B.git", "https://codeberg.org/a/b"),
    ("https://gitea.com/A/B.git", "https://gitea.com/a/b"),
    ("https://salsa.debian.org/Team/Sub/A.git", "https://salsa.debian.org/team/sub/a"),
    ("https://gitlab.gnome.org/GNOME/gimp.git", "https://gitlab.gnome.org/gnome/GIMP"),
    ("https://forgejo.example.org/A/b.git", "https://forgejo.example.org/a/b"),
    ("https://github.com/a/b?tab=readme-ov-file#use", "https://github.com/a/b"),
    ("https://github.com/A/B/blob/main/README", "https://github.com/a/b/blob/main/README"),
    ("https://b\xfccher.example", "https://xn--bcher-kva.example"),
    ("https://B\xdcCHER.example", "https://www.XN--BCHER-KVA.example"),
    ("https://\u65e5\u672c\u3002jp", "https://\u65e5\u672c.jp"),
    ("https://\u2603.example", "https://xn--n3h.example"),
    ("https://my_b\xfccher.example", "https://xn--my_bcher-95a.example"),
    ("https://\uff11\uff12\uff17.0.0.1", "https://127.0.0.1"),
    ("https://[::1]:443/", "http://[0:0:0:0:0:0:0:1]"),
    ("https://[2001:DB8::A]", "https://[2001:db8:0::a]"),
    ("https://[::ffff:1.2.3.4]", "https://[::ffff:102:304]"),
    ("https://github.com/a/b/tree/main", "https://github.com/a/b"),
    ("https://github.com/a/b.git#readme", "https://github.com/a/b"),
    ("https://github.com/a/b/blob/main/README.md", "https://github.com/a/b"),
    ("https://gitlab.com/a/b/c/-/tree/main", "https://gitlab.com/a/b/c"),
    ("https://codeberg.org/a/b/src/branch/main", "https://codeberg.org/a/b"),
    ("https://bitbucket.org/a/b/src/master/", "https://bitbucket.org/a/b"),
    ("https://example.com/?referrer=https://evil.example", "https://example.com/"),
    ("https://example.com/x/../tool", "https://example.com/tool"),
    ("https://example.com/x/%2E%2e/tool", "https://example.com/tool"),
    ("https://example.com/..", "https://example.com/"),
    ("https://example.com/a?", "https://example.com/a"),
    ("https://example.com/#/one/", "https://example.com/#/one"),
    ("https://example.com/#/%6fne", "https://example.com/#/one"),
    ("https://\uff45xample.com/", "https://example.com/"),
]  # fmt: skip
DIFFERENT = [
    ("https://github.com/ada/tool?q=1", "https://github.com/ada/tool"),
    ("https://example.com/a?tab=readme", "https://example.com/a"),
    ("https://example.com/a?q#/b?c", "https://example.com/a?q"),
    ("https://example.com/a", "https://example.com/b"),
    ("https://example.com/a", "https://example.com/A"),
    ("https://example.com/a", "https://example.com/a//"),
    ("https://example.com/a?q=1", "https://example.com/a?q=2"),
    ("https://example.com/a?q=1", "https://example.com/a?Q=1"),
    ("https://example.com/a?q=/", "https://example.com/a?q="),
    ("https://example.com/a", "https://example.com"),
    ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ("https://example.com/a%3Fb", "https://example.com/a?b"),
    ("https://example.com/%25", "https://example.com/%"),
    ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
    ("https://example.com/?utm=1", "https://example.com/"),
    ("https://example.com/?pk_id=1", "https://example.com/?pk_id=2"),
    ("https://example.com/%ff", "https://example.com/%fe"),
    ("https://example.com/?a%26b", "https://example.com/?a&b"),
    ("https://example.com/a.git", "https://example.com/a"),
    ("https://example.com/?tab=a", "https://example.com/"),
    ("https://git.example.com/a", "https://git.example.com/A"),
    ("https://gitea.example.com/a/b/src/A", "https://gitea.example.com/a/b/src/a"),
    ("https://github.com/a/b/blob/main/A", "https://github.com/a/b/blob/main/a"),
    ("https://gitlab.com/a/b/-/blob/A", "https://gitlab.com/a/b/-/blob/a"),
    ("https://github.com/a", "https://github.com/b"),
    ("https://example.com", "https://sub.example.com"),
    ("https://www.www.example.com", "https://example.com"),
    ("https://example.com", "https://example.org"),
    ("https://example.com:8443", "https://example.com"),
    ("https://example.com:80", "https://example.com"),
    ("http://example.com:443", "https://example.com"),
    ("https://example.com:80", "http://example.com:443"),
    ("https://stra\xdfe.example", "https://strasse.example"),
    ("https://example.com/www.", "https://example.com/"),
    ("https://[::1]", "https://[::2]"),
    ("https://1.2.3.4", "https://[::ffff:1.2.3.4]"),
    ("https://example.com/#/one", "https://example.com/#/two"),
    ("https://example.com/#!one", "https://example.com/"),
    ("https://example.com/#/one", "https://example.com/#one"),
    ("https://example.com/#/", "https://example.com/"),
    ("https://github.com/a/b/tree/main/docs", "https://github.com/a/b"),
    ("https://github.com/a/tree/main", "https://github.com/a"),
    ("https://github.com/a/b/issues", "https://github.com/a/b"),
    ("https://github.com/a/b/blob/main/docs/README.md", "https://github.com/a/b"),
    ("https://example.com/a/b/tree/main", "https://example.com/a/b"),
]  # fmt: skip
CASES = [
    *((pair, True, True) for pair in EQUAL),
    *((pair, False, True) for pair in DUPLICATES),
    *((pair, False, False) for pair in DIFFERENT),
]


@pytest.mark.parametrize(("pair", "no_review", "duplicate"), CASES, ids=ascii)
def test_the_table_of_both_equalities(pair, no_review, duplicate):
    assert [check_url(url) for url in pair] == [*pair]
    for one, other in (pair, pair[::-1]):
        assert needs_no_review(one, other) is no_review
        assert (url_key(one) == url_key(other)) is duplicate


HUB = "https://github.com"
REPOSITORIES = [
    (None, None, True), (f"{HUB}/a/b", None, True), (None, f"{HUB}/a/b", True), (f"{HUB}/a/b", f"{HUB}/a/c", False),
    (f"{HUB}/a/b", "http://www.github.com/A/B.git#readme", True), (f"{HUB}/a/b/tree/main", f"{HUB}/a/b", True),
    (f"{HUB}/a/b/tree/main/one", f"{HUB}/a/b/tree/main/two", False), ("not a URL", f"{HUB}/a/b", True),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "duplicates"), REPOSITORIES, ids=ascii)
def test_projects_of_one_website_are_duplicates_unless_their_repositories_differ(one, other, duplicates):
    website = "https://example.com/"
    assert are_duplicates((website, one), (f"{website}?utm_source=x", other)) is duplicates
    assert are_duplicates((website, other), (website, one)) is duplicates
    assert not are_duplicates((website, one), ("https://example.org", other))


def test_the_key_of_a_repository_is_that_of_its_address():
    assert repository_key("https://github.com/A/B.git") == url_key("https://github.com/a/b")
    assert repository_key(None) is None


@pytest.mark.parametrize("url", ["\u2488com", "https://[::g]", "ftp://example.com"], ids=ascii)
def test_what_the_rules_do_not_take_for_an_address_equals_itself_alone(url):
    assert needs_no_review(url, url)
    assert not needs_no_review(url, f"{url}/")


@pytest.mark.parametrize("old", ["\u2488com", "https://[::g]", "https://exa mple.com"], ids=ascii)
def test_from_what_the_rules_do_not_take_for_an_address_review_is_needed(old):
    assert needs_no_review(old, old)
    assert not needs_no_review(old, "https://example.com")


def test_the_capital_sharp_s_is_another_letter_of_a_host():
    # By its case alone it would be equal. Browsers read it as "ss", or as the small letter, by their age.
    one, other = "https://stra\u1e9ee.example", "https://stra\u00dfe.example"
    assert needs_no_review(one, other) == (url_key(one) == url_key(other))


def test_a_key_is_short_and_does_not_change_between_releases():
    # It is stored: a change would let the same link in twice.
    assert url_key("https://www.Example.com:443/a/?q#f") == hashlib.sha256(b"example.com/a?q").hexdigest()


@pytest.mark.parametrize("host", ["\u2488com", "a..b", "\u00fc" * 254, "\ud800.example"], ids=ascii)
def test_a_host_without_canonical_spelling_still_equals_itself(host):
    assert url_key(f"http://{host}") == url_key(f"https://www.{host.upper()}/#x")
    assert url_key(f"http://{host}") != url_key("http://example.com")


def test_what_is_no_address_has_no_key():
    with pytest.raises(ValueError, match="absolute URL"):
        url_key("example.com")


words = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12).map(lambda word: f"a{word}")
hosts = st.lists(words, min_size=1, max_size=4).map(".".join)
paths = st.lists(st.text("abcXYZ0.~é日/", max_size=8)).map(lambda steps: "".join(f"/{step}x" for step in steps))
queries = st.one_of(st.just(""), st.text("abc=/?é", min_size=1, max_size=10).map(lambda query: f"?{query}"))


@settings(deadline=None)
@given(hosts, paths, queries, st.text("abc/?é", max_size=5).filter(lambda text: text[:1] != "/"), st.data())
def test_each_listed_difference_needs_no_review_and_leaves_the_key_alone(host, path, query, fragment, data):
    scheme, port = data.draw(st.sampled_from([("http", ":80"), ("https", ":443"), ("http", ""), ("HTTPS", "")]))
    www = data.draw(st.sampled_from(["", "www.", "WWW."]))
    cased = "".join(data.draw(st.sampled_from([char, char.upper()])) for char in host)
    slash = data.draw(st.sampled_from(["", "/"]))
    variant = f"{scheme}://{www}{cased}{port}{path}{slash}{query}#{fragment}"
    plain = f"https://{host}{path}{query}"
    assert url_key(check_url(variant)) == url_key(check_url(plain))
    assert needs_no_review(plain, variant)
    assert needs_no_review(variant, plain)


@settings(deadline=None)
@given(hosts, st.tuples(paths, queries), st.tuples(paths, queries))
def test_another_path_or_query_is_another_key(host, one, other):
    same = url_key(f"https://{host}{''.join(one)}") == url_key(f"https://{host}{''.join(other)}")
    assert same == (one == other)


near = st.text("aA/.?#!&=%2e:@wW\u00fc", max_size=6)


@settings(deadline=None, max_examples=400)
@given(hosts, near, near, st.sampled_from(["https://", "http://www."]))
def test_what_needs_no_review_is_a_duplicate(host, one, other, beginning):
    pair = f"https://{host}{one}", f"{beginning}{host}{other}"
    if needs_no_review(*pair) and pair[0] != pair[1]:
        assert url_key(pair[0]) == url_key(pair[1])


@settings(deadline=None)
@given(st.one_of(st.text(st.characters()), st.text(st.characters()).map(lambda rest: f"https://{rest}")))
def test_whatever_is_sent_is_refused_or_stored_for_good(value):
    try:
        stored = check_url(value)
    except ValueError:
        return
    assert check_url(stored) == stored
    assert len(url_key(stored)) == 64


def test_a_key_apart_differs_by_project_and_from_the_key_of_the_address():
    url = "https://example.com/a"
    assert len({url_key(url), key_apart(url, 1), key_apart(url, 2)}) == 3
