"""Reading the query string: every parameter once, in UTF-8, by a name that can be sent back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directory.errors import Invalid
from directory.http.validation import PARAMETERS_MAX, read_query


def query(raw: bytes) -> dict[str, str]:
    """What is read of a query string that arrives as these bytes."""
    return read_query(raw)


def refusal(raw: bytes) -> dict[str, str]:
    with pytest.raises(Invalid) as caught:
        query(raw)
    (error,) = caught.value.errors
    return error


@pytest.mark.parametrize(
    ("raw", "parameters"),
    [
        (b"", {}),
        (b"&&", {}),
        (b"page=2&limit=20", {"page": "2", "limit": "20"}),
        (b"page=2&", {"page": "2"}),
        (b"q=a+b%20c%2Bd%26e%3D", {"q": "a b c+d&e="}),
        (b"q=a=b==", {"q": "a=b=="}),
        (b"q", {"q": ""}),
        (b"q=", {"q": ""}),
        (b"q=%C3%A9\xc3\xa9%e2%82%ac", {"q": "éé€"}),
        (b"q=%00%0a", {"q": "\x00\n"}),
        (b"%71=1&Q=2", {"q": "1", "Q": "2"}),
        (b"q=a;b=c", {"q": "a;b=c"}),
    ],
)
def test_a_query_is_read(raw, parameters):
    assert query(raw) == parameters


@pytest.mark.parametrize(
    ("raw", "name", "detail"),
    [
        (b"q=1&q=1", "q", "once"),
        (b"q=1&page=2&%71=", "q", "once"),
        (b"q=%ff", "q", "UTF-8"),
        (b"q=%ED%A0%80", "q", "UTF-8"),
        (b"q=\xff", "q", "UTF-8"),
        (b"q=%C0%80", "q", "UTF-8"),
        (b"q=100%", "q", "%25"),
        (b"q=%zz", "q", "%25"),
        (b"q=%u0041", "q", "%25"),
        (b"=1", "", "name"),
        (b"=", "", "name"),
        (b"%ff=1", "%ff", "UTF-8"),
        (b"\xff\x00=1", "\ufffd?", "UTF-8"),
        (b"a%=1", "a%", "%25"),
        (b"a%0ab=1", "a?b", "no such"),
        (b"%E2%80%AEq=1", "?q", "no such"),
        (b"%00=1", "?", "no such"),
        (b"a" * 65 + b"=1", "a" * 64 + "…", "no such"),
    ],
)
def test_a_query_that_says_two_things_or_nothing_is_refused_by_name(raw, name, detail):
    error = refusal(raw)
    assert error["parameter"] == name
    assert detail in error["detail"]


def test_a_query_has_at_most_thirty_parameters():
    pairs = [b"p%d=" % number for number in range(PARAMETERS_MAX + 1)]
    assert len(query(b"&".join(pairs[:-1]))) == PARAMETERS_MAX
    assert refusal(b"&".join(pairs)) == {"parameter": "p30", "detail": "There must be at most 30 parameters."}


@settings(deadline=None)
@given(st.binary())
def test_any_query_is_read_or_refused_in_words_that_can_be_sent(raw):
    try:
        sent = list(query(raw))
    except Invalid as error:
        sent = [error.errors[0]["parameter"]]
    assert all(name.isprintable() for name in sent)
    json.dumps(sent, ensure_ascii=False).encode("utf-8")
