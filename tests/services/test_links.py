"""The rules for links: which are taken, and which of them are the same."""

import hashlib
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directory.services import links
from directory.services.links import URL_MAX, ascii_host, key_apart, url_key


def check_url(value):
    """The rule without its bound to the public internet, which has tests of its own below."""
    return links.check_url(value, internal=True)


TAKEN = [
    "https://example.com", "http://example.com/", "HTTPS://Example.COM/Path",
    "https://volans-.github.io/", "https://-example.com", "https://-", "https://a.-b-.c", "https://ab--cd.example",
    "https://\u00fc-.com", "https://-\u00fc.com",
    "https://example.com/a/b?q=1&r=a+b#part", "https://example.com?q=http://other.example/@me",
    "https://example.com/@user/a:b", "https://example.com#@", "https://example.com/%E2%82%AC/100%",
    "https://example.com/\u20ac/\u6771\u4eac?\u00fc", "https://example.com:1", "https://example.com:443/",
    "https://example.com:00080/", "https://example.com:65535/", "https://localhost:3000", "https://a",
    "https://my_app.example.com", "https://_.example.com", "https://xn--bcher-kva.example",
    "https://b\u00fccher.example", "https://\u65e5\u672c\u3002jp", "https://i\u2764.example",
    "https://\U0001f600.example", "https://1and1.com", "https://127.0.0.1/", "https://1.2.3.4.com",
    "https://0xcafe.com", "https://[::1]/", "https://[2001:DB8::1]:8443/x", "https://[::ffff:1.2.3.4]",
    "https://" + ".".join(["a" * 63] * 3) + "." + "a" * 61, "https://a--b.example",
    "https://example.com/'(){}|^`[]~!$*;,", "https://example.com//double//",
    "https://example.com/" + "a" * (URL_MAX - 20),
]  # fmt: skip


@pytest.mark.parametrize("url", TAKEN, ids=ascii)
def test_an_absolute_web_address_is_taken_as_it_is(url):
    assert check_url(url) == url


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("  https://example.com/ ", "https://example.com/"),
        ("\u3000https://example.com/\u00a0", "https://example.com/"),
        ("https://example.com/cafe\u0301", "https://example.com/cafe\u0301"),
    ],
)
def test_it_is_stored_trimmed_and_otherwise_as_typed(sent, stored):
    assert check_url(sent) == stored


SCHEMES = [
    "example.com", "//example.com", "/path", "ftp://example.com", "ftps://example.com",
    "javascript:alert(1)", "JavaScript://example.com/%0aalert(1)", "data:text/html,x", "file:///etc/passwd",
    "mailto:a@example.com", "http:example.com", "http:/example.com", "https//example.com",
    "httpss://example.com", "http\u017f://example.com", "https:example.com", "x:https://example.com",
    "view-source:https://example.com",
]  # fmt: skip
HOSTS = [
    "https://", "https:///path", "https://?q", "https://#f", "https://:80", "https://.",
    "https://.example.com", "https://example.com.", "https://example..com",
    "https://exam%70le.com", "https://exa$mple.com", "https://exa,mple.com",
    "https://exa'mple.com", "https://exa|mple.com", "https://[::1", "https://::1]", "https://[]",
    "https://[::1]x", "https://[v1.x]", "https://[::g]", "https://[1.2.3.4]", "https://[fe80::1%25eth0]",
    "https://[fe80::1%eth0]", "https://[[::1]]", "https://a[::1]", "https://999.1.1.1", "https://1.2.3",
    "https://2130706433", "https://127.0.0.01", "https://0x7f.1", "https://0x7f000001",
    "https://example.0x", "https://example.123", "https://" + "a" * 64 + ".com",
    "https://" + ".".join(["a" * 63] * 3) + "." + "a" * 62, "https://" + "\u00fc" * 60 + ".com",
    "https://" + "\u00fc" * 254,
    "https://" + ".".join("".join(chr(0x4E00 + 977 * step) for step in range(14)) for _ in range(6)),
    "https://\u2100.com", "https://example.com\uff0fpath", "https://user\uff20example.com",
    "https://example.com\uff1a80", "https://\u2488com", "https://\u00fc..com",
]  # fmt: skip
PORTS = [
    ":", ":0", ":00", ":65536", ":99999", ":123456", ":-1", ":+1", ":8_0", ":http", ":80:80", ":\u0661",
    ": 80",
]  # fmt: skip
USERS = ["user@", "user:secret@", "@", ":@", "user%40x@", "user:p@ss@", "\u00fc@"]
UNSAFE = [
    *(chr(point) for point in (*range(0x21), *range(0x7F, 0xA1))),
    *'\\<>"',
    *"\u00ad\u061c\u180e\u1680\u2003\u200b\u200d\u200e\u2028\u2029\u202e\u202f\u205f\u2060\u2066\u3000\ufeff\ufff9",
    "\U000e0041",
    "\ud800",
    "\udfff",
    "\ufffe",
    "\U0010ffff",
]


@pytest.mark.parametrize("url", SCHEMES, ids=ascii)
def test_other_than_absolute_http_and_https_is_refused(url):
    with pytest.raises(ValueError, match="http:// or https://"):
        check_url(url)


@pytest.mark.parametrize("url", HOSTS, ids=ascii)
def test_what_names_no_host_is_refused(url):
    with pytest.raises(ValueError, match="Must"):
        check_url(url)


@pytest.mark.parametrize("port", PORTS, ids=ascii)
def test_a_port_is_a_number_from_1_to_65535(port):
    with pytest.raises(ValueError, match=r"port|white space"):
        check_url(f"https://example.com{port}/")


@pytest.mark.parametrize("user", USERS, ids=ascii)
def test_credentials_are_refused(user):
    with pytest.raises(ValueError, match="user name or password"):
        check_url(f"https://{user}example.com/")


@pytest.mark.parametrize("char", UNSAFE, ids=ascii)
@pytest.mark.parametrize("shape", ["https://exam{}ple.com/", "https://example.com/a{}b", "https://e.com/?{}=#{}b"])
def test_unsafe_and_invisible_characters_are_refused_anywhere(char, shape):
    with pytest.raises(ValueError, match="Must"):
        check_url(shape.format(char, char))


@pytest.mark.parametrize("value", ["", " ", "\u200b", "https://example.com/\n", "\thttps://example.com/", "a" * 9000])
def test_blanks_and_controls_around_it_are_refused(value):
    with pytest.raises(ValueError, match="Must"):
        check_url(value)


def test_it_is_at_most_2048_characters_long():
    with pytest.raises(ValueError, match="2048"):
        check_url("https://example.com/" + "a" * (URL_MAX - 19))


SAME = [
    ("http://example.com/a", "https://example.com/a"), ("HTTP://example.com/a", "hTTps://example.com/a"),
    ("https://EXAMPLE.com/a", "https://example.COM/a"),
    ("https://www.example.com/a", "https://example.com/a"),
    ("https://VOLANS-.github.io", "http://volans-.github.io/"),
    ("https://\u00dc-.example", "https://\u00fc-.example"),
    ("https://\u00fc-.example", "https://xn----dha.example"),
    ("https://WWW.example.com/a", "https://example.com/a"),
    ("https://example.com:443/a", "https://example.com/a"),
    ("http://example.com:80/a", "https://example.com/a"),
    ("http://example.com:00080/a", "https://example.com/a"),
    ("https://example.com:8443/a", "http://example.com:08443/a"),
    ("https://example.com/", "https://example.com"), ("https://example.com/a/", "https://example.com/a"),
    ("https://example.com/a/?q=1", "https://example.com/a?q=1"),
    ("https://example.com/?q", "https://example.com?q"),
    ("https://example.com/a#b", "https://example.com/a"),
    ("https://example.com/a#", "https://example.com/a"),
    ("https://example.com/a?q#/b?c", "https://example.com/a?q"),
    ("https://example.com/a", "https://example.com/a?"), ("https://example.com/a?&&", "https://example.com/a"),
    # RFC 3986 section 6.2.2: escapes and dot segments.
    ("https://example.com/%7Eu", "https://example.com/~u"), ("https://example.com/a%2fb", "https://example.com/a%2Fb"),
    ("https://example.com/a/./b", "https://example.com/a/b"), ("https://example.com/a/c/../b", "https://example.com/a/b"),
    ("https://example.com/a/%2e/b", "https://example.com/a/b"), ("https://example.com/%41", "https://example.com/A"),
    ("https://example.com/{x}|y", "https://example.com/%7Bx%7D%7cy"),
    ("https://example.com/\u00e9", "https://example.com/%C3%A9"), ("https://example.com/%ff", "https://example.com/%FF"),
    ("https://example.com/%ff%41%c3%a9%c3", "https://example.com/%FFA\u00e9%C3"),
    ("https://example.com/?q=%7e", "https://example.com/?q=~"), ("https://example.com/?a+b", "https://example.com/?a%20b"),
    # Unicode's two forms of a letter.
    ("https://example.com/caf\u00e9", "https://example.com/cafe\u0301"),
    ("https://example.com/cafe%CC%81", "https://example.com/caf%C3%A9"),
    # Parameters that track visitors, and the order of the others.
    ("https://example.com/a?utm_source=x&utm_medium=y", "https://example.com/a"),
    ("https://example.com/a?fbclid=1&q=2&gclid=3&ref=hn", "https://example.com/a?q=2"),
    ("https://example.com/a?UTM_Source=x", "https://example.com/a"),
    ("https://example.com/a?mtm_campaign=x&pk_kwd=y&hsa_acc=1&matomo_source=z", "https://example.com/a"),
    ("https://example.com/a?srsltid=1&gad_source=1&__hstc=2&hsCtaTracking=3&ScCid=4&q=2", "https://example.com/a?q=2"),
    ("https://example.com/a?wt_mc=1&at_custom1=2&itm_source=3&__cft__%5B0%5D=4&Referrer=5", "https://example.com/a"),
    ("https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2"),
    # Repositories.
    ("https://github.com/Pallets/Flask", "https://github.com/pallets/flask"),
    ("https://github.com/pallets/flask.git", "http://www.GitHub.com/pallets/flask/"),
    ("https://gitlab.com/Group/Sub/Project.git", "https://gitlab.com/group/sub/project"),
    ("https://codeberg.org/A/B.git", "https://codeberg.org/a/b"), ("https://gitea.com/A/B.git", "https://gitea.com/a/b"),
    ("https://salsa.debian.org/Team/Sub/A.git", "https://salsa.debian.org/team/sub/a"),
    ("https://gitlab.gnome.org/GNOME/gimp.git", "https://gitlab.gnome.org/gnome/GIMP"),
    ("https://forgejo.example.org/A/b.git", "https://forgejo.example.org/a/b"),
    ("https://github.com/a/b?tab=readme-ov-file#use", "https://github.com/a/b"),
    ("https://github.com/A/B/blob/main/README", "https://github.com/a/b/blob/main/README"),
    ("HTTP://WWW.EXAMPLE.COM:80/#top", "https://example.com"),
    ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
    ("https://B\u00dcCHER.example", "https://www.XN--BCHER-KVA.example"),
    ("https://\u65e5\u672c\u3002jp", "https://\u65e5\u672c.jp"),
    ("https://\u2603.example", "https://xn--n3h.example"),
    ("https://my_b\u00fccher.example", "https://xn--my_bcher-95a.example"),
    ("https://\uff11\uff12\uff17.0.0.1", "https://127.0.0.1"),
    ("https://[::1]:443/", "http://[0:0:0:0:0:0:0:1]"),
    ("https://[2001:DB8::A]", "https://[2001:db8:0::a]"),
    ("https://[::ffff:1.2.3.4]", "https://[::ffff:102:304]"),
]  # fmt: skip
DIFFERENT = [
    ("https://example.com/a", "https://example.com/b"), ("https://example.com/a", "https://example.com/A"),
    ("https://example.com/a", "https://example.com/a//"),
    ("https://example.com/a?q=1", "https://example.com/a?q=2"),
    ("https://example.com/a?q=1", "https://example.com/a?Q=1"),
    ("https://example.com/a?q=/", "https://example.com/a?q="),
    ("https://example.com/a", "https://example.com"), ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ("https://example.com/a%3Fb", "https://example.com/a?b"), ("https://example.com/%25", "https://example.com/%"),
    ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"), ("https://example.com/?utm=1", "https://example.com/"),
    ("https://example.com/?pk_id=1", "https://example.com/?pk_id=2"), ("https://example.com/%ff", "https://example.com/%fe"),
    ("https://example.com/?a%26b", "https://example.com/?a&b"), ("https://example.com/a.git", "https://example.com/a"),
    ("https://example.com/?tab=a", "https://example.com/"), ("https://git.example.com/a", "https://git.example.com/A"),
    ("https://gitea.example.com/a/b/src/A", "https://gitea.example.com/a/b/src/a"),
    ("https://github.com/a/b/blob/main/A", "https://github.com/a/b/blob/main/a"),
    ("https://gitlab.com/a/b/-/blob/A", "https://gitlab.com/a/b/-/blob/a"), ("https://github.com/a", "https://github.com/b"),
    ("https://example.com", "https://sub.example.com"),
    ("https://www.www.example.com", "https://example.com"), ("https://example.com", "https://example.org"),
    ("https://example.com:8443", "https://example.com"), ("https://example.com:80", "https://example.com"),
    ("http://example.com:443", "https://example.com"), ("https://example.com:80", "http://example.com:443"),
    ("https://stra\u00dfe.example", "https://strasse.example"),
    ("https://example.com/www.", "https://example.com/"), ("https://[::1]", "https://[::2]"),
    ("https://1.2.3.4", "https://[::ffff:1.2.3.4]"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_address_have_one_key(one, other):
    assert check_url(one)
    assert check_url(other)
    assert url_key(one) == url_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_addresses_have_different_keys(one, other):
    assert check_url(one)
    assert check_url(other)
    assert url_key(one) != url_key(other)


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
@given(hosts, paths, queries, st.text("abc/?é", max_size=5), st.data())
def test_each_listed_difference_leaves_the_key_alone(host, path, query, fragment, data):
    scheme, port = data.draw(st.sampled_from([("http", ":80"), ("https", ":443"), ("http", ""), ("HTTPS", "")]))
    www = data.draw(st.sampled_from(["", "www.", "WWW."]))
    cased = "".join(data.draw(st.sampled_from([char, char.upper()])) for char in host)
    slash = data.draw(st.sampled_from(["", "/"]))
    variant = f"{scheme}://{www}{cased}{port}{path}{slash}{query}#{fragment}"
    plain = f"https://{host}{path}{query}"
    assert url_key(check_url(variant)) == url_key(check_url(plain))


@settings(deadline=None)
@given(hosts, st.tuples(paths, queries), st.tuples(paths, queries))
def test_another_path_or_query_is_another_key(host, one, other):
    same = url_key(f"https://{host}{''.join(one)}") == url_key(f"https://{host}{''.join(other)}")
    assert same == (one == other)


@settings(deadline=None)
@given(st.one_of(st.text(st.characters()), st.text(st.characters()).map(lambda rest: f"https://{rest}")))
def test_whatever_is_sent_is_refused_or_stored_for_good(value):
    try:
        stored = check_url(value)
    except ValueError:
        return
    assert check_url(stored) == stored
    assert len(url_key(stored)) == 64


INTERNAL = [
    "http://localhost:3000", "http://LOCALHOST/", "http://app.localhost", "http://intranet/", "http://printer.local",
    "http://nas.lan", "http://router.home.arpa", "http://db.internal", "http://git.corp", "http://127.0.0.1/",
    "http://127.1.2.3", "http://0.0.0.0", "http://10.0.0.1", "http://172.16.5.4", "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data", "http://100.64.0.1", "http://198.18.0.1", "http://224.0.0.1",
    "http://255.255.255.255", "http://[::1]/", "http://[::]", "http://[fe80::1]", "http://[fd00::1]", "http://[ff02::1]",
    "http://[::ffff:127.0.0.1]", "http://[::ffff:10.0.0.1]", "http://[64:ff9b::10.0.0.1]", "http://[2002:7f00:1::]",
    "http://\uff11\uff12\uff17.0.0.1", "http://\uff4cocalhost", "http://192.0.2.1", "http://[2001:db8::1]",
    "http://[::127.0.0.1]", "http://[::a00:1]", "http://[::ffff:0:127.0.0.1]", "http://[64:ff9b:1::10.0.0.1]",
    "http://home.arpa", "http://1.0.0.127.in-addr.arpa", "http://web.mail",
    "http://[fec0::1]", "http://[5f00::1]", "http://[3fff::1]", "http://192.0.0.8",
]  # fmt: skip
PUBLIC = [
    "http://93.184.216.34", "http://8.8.8.8:53/", "http://[2606:4700::1111]", "http://[::ffff:8.8.8.8]",
    "http://[64:ff9b::8.8.8.8]", "https://localhost.example.com", "https://local.dev", "https://internal.example",
    "https://homelab.example", "https://arpa.example", "https://web.mail.example",
]  # fmt: skip


@pytest.mark.parametrize("url", INTERNAL, ids=ascii)
def test_an_address_of_a_private_network_is_refused_unless_it_is_allowed(url):
    with pytest.raises(ValueError, match=r"^Must be an address on the public internet"):
        links.check_url(url)
    assert links.check_url(url, internal=True) == url


@pytest.mark.parametrize("url", PUBLIC)
def test_an_address_of_the_internet_is_accepted(url):
    assert links.check_url(url) == url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://www.\u0430\u0440\u0440\u04cf\u0435.com/store", "www.xn--80ak6aa92e.com"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"), ("https://apple.com/\u0430", None),
        ("https://xn--bcher-kva.example", None), ("https://example.com", None), ("not a url", None),
    ],
)  # fmt: skip
def test_a_host_in_other_letters_is_also_shown_in_ascii(url, shown):
    assert ascii_host(url) == shown


def test_a_key_apart_differs_by_project_and_from_the_key_of_the_address():
    url = "https://example.com/a"
    assert len({url_key(url), key_apart(url, 1), key_apart(url, 2)}) == 3
