"""JSON, parsed strictly: what is no JSON, what is too much of it, and where a value is wrong."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directory.errors import DirectoryError, Invalid, MalformedJson
from directory.http.request_body import BODY_MAX, DEPTH_MAX, DIGITS_MAX, parse_json, pointer


def nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * depth + closing * depth).encode()


MALFORMED = [
    b"", b" ", b"{", b"}", b"[1,]", b'{"a":1,}', b"{a:1}", b"{'a':1}", b"{} {}", b"{}x", b"{}\x00",
    b"\x00{}", b"[1] // x", b"01", b"+1", b"1.", b".5", b"0x10", b"1_0", b"\xef\xbc\x91", b"\xd9\xa1",
    b"True", b"None", b"undefined", b"NaN", b"-NaN", b"Infinity", b"-Infinity", b'{"a": NaN}',
    b"[[-Infinity]]", b"1e999", b"-1e999", b"[1.0e400]", b"9" * (DIGITS_MAX + 1),
    b"-" + b"9" * (DIGITS_MAX + 1), b'{"a": 1, "a": 2}', b'{"a": 1, "\\u0061": 1}',
    b'[{"b": {"": 1, "": 1}}]', b'{"\\ud800": 1, "\\ud800": 2}', b'"\n"', b'"\t"', b'"\x00"', b'"a', b'"\\',
    b'"\\x41"', b'"\\u12"', b'"\\u+123"', b'"\xff"', b"\xff", b'"\xc0\x80"', b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 2 + b"{}",
    "{}".encode("utf-16"), b" \xef\xbb\xbf{}",
    "{}".encode("utf-16-le"), "{}".encode("utf-16-be"), "{}".encode("utf-32"),
    "{}".encode("utf-32-be"), b"\xa0{}", b"\xc2\xa0{}", b"\x0c{}",
    nested(DEPTH_MAX + 1), nested(DEPTH_MAX + 1, '{"a":', "}").replace(b":}", b":1}"),
    b'{"a":' + nested(DEPTH_MAX) + b"}", nested(20_000), b"[" * BODY_MAX, b'{"a":' * 10_000,
    b'"' + b"\\" * 65_000, b'"' * 65_000,
]  # fmt: skip


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: ascii(data[:30]))
def test_what_is_not_strictly_json_is_malformed(data):
    with pytest.raises(MalformedJson) as caught:
        parse_json(data)
    caught.value.detail.encode("utf-8")


def test_the_error_says_where():
    with pytest.raises(MalformedJson, match="line 2, column 7"):
        parse_json(b'{\n "a": x}')
    with pytest.raises(MalformedJson, match="UTF-8 at byte 2"):
        parse_json(b'{"\xff": 1}')
    with pytest.raises(MalformedJson, match='names "title" twice'):
        parse_json(b'{"title": 1, "title": 2}')


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"0", 0),
        (b'\xef\xbb\xbf{"a": "\xef\xbb\xbf"}', {"a": "\ufeff"}),
        (b"-0", 0),
        (b"1e5", 1e5),
        (b"1e-999", 0.0),
        (b"9" * 400, int("9" * 400)),
        (b" \t\r\n{ }\n", {}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"\U0001f600"'.encode(), "\U0001f600"),
        (b'"\\u0000"', "\x00"),
        (b'{"a": [{"a": 1}, {"a": 2}], "A": 3}', {"a": [{"a": 1}, {"a": 2}], "A": 3}),
        (b'"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["', "[" * 36),
        (b'["\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]', ['"' + "[" * 44]),
        (b"[" + b"[]," * 1000 + b"[]]", [[]] * 1001),
    ],
    ids=lambda data: ascii(data)[:30],
)
def test_json_is_taken(data, value):
    assert parse_json(data) == value


def test_as_many_digits_and_levels_as_allowed_are_taken():
    assert parse_json(b"-" + b"9" * DIGITS_MAX) < 0
    assert parse_json(nested(DEPTH_MAX)) == json.loads(nested(DEPTH_MAX))


def test_depth_is_judged_before_the_stack_is_short():
    limit = sys.getrecursionlimit()

    def deeper(left: int) -> None:
        if left:
            deeper(left - 1)
            return
        with pytest.raises(MalformedJson, match="deeper than 32"):
            parse_json(b"[" * BODY_MAX)

    deeper(limit // 2)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (rb'"\ud800"', "#"),
        (rb'"\udc00\ud800"', "#"),
        (rb'{"title": "a\uD83D"}', "#/title"),
        (rb'{"tags": ["a", "b", "\udfff"]}', "#/tags/2"),
        (rb'{"a": {"b/c": [{"d~e": "\ud800"}]}}', "#/a/b~1c/0/d~0e"),
        (rb'{"\ud800": 1}', "#/?"),
        (rb'{"a": {"x\udc00y": {}}}', "#/a/x?y"),
        (rb'{"": "\ud800"}', "#/"),
    ],
)
def test_half_a_surrogate_pair_is_refused_with_its_place(data, place):
    with pytest.raises(Invalid) as caught:
        parse_json(data)
    assert caught.value.errors == [{"pointer": place, "detail": "Must not contain half of a surrogate pair."}]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ([], "#"),
        (["url"], "#/url"),
        (["tags", 0], "#/tags/0"),
        (["a/b", "m~n", "~1"], "#/a~1b/m~0n/~01"),
        ([""], "#/"),
        (["é\U0001f600"], "#/é\U0001f600"),
        (["\ud800\n\u202e\x00"], "#/????"),
        (["a" * 64], "#/" + "a" * 64),
        (["a" * 65], "#/" + "a" * 64 + "…"),
    ],
    ids=ascii,
)
def test_a_pointer_leads_to_its_place_and_is_safe_to_send_back(path, shown):
    assert pointer(path) == shown


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | keys
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20)


@settings(deadline=None)
@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_every_json_text_reads_as_the_standard_library_reads_it(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse_json(text.encode()) == json.loads(text) == value


@settings(deadline=None)
@given(st.one_of(st.binary(), st.text('[]{}",:\\ud8019e-.NI ').map(str.encode)))
def test_anything_else_is_refused_in_our_own_words(data):
    try:
        value = parse_json(data)
    except DirectoryError as error:
        error.detail.encode("utf-8")
    else:
        assert value == json.loads(data)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
