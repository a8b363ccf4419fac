"""The rules for links: which are taken, and which of them are the same."""

import pytest

from directory.services.text import links
from directory.services.text.links import URL_MAX, ascii_host


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
