"""Which requests are cacheable: reads of the API, and nothing that may be understood in two ways."""

from typing import Any

import pytest
from flask import Flask, request

from directory.cache.reads import UNCACHEABLE, Read, read_from
from directory.services.accounts.sessions import Credential, of_cookie, of_token
from tests.support.browsers import COOKIE


def environ(**changes: str) -> dict[str, Any]:
    """The WSGI environment of an anonymous read, with changes."""
    return {
        "REQUEST_METHOD": "GET", "wsgi.url_scheme": "https", "PATH_INFO": "/api/projects", "QUERY_STRING": "page=2",
        "HTTP_X_REQUEST_ID": "mine", **changes,
    }  # fmt: skip


def test_an_anonymous_read_is_cacheable_by_its_address() -> None:
    anonymous = read(environ(HTTP_USER_AGENT="any", HTTP_IF_NONE_MATCH='"a", W/"b"'))
    assert anonymous == Read("https", "/api/projects", "page=2", "mine", '"a", W/"b"')
    assert anonymous is not None
    assert anonymous.key == ("https", "/api/projects", "page=2", "")


def test_the_path_begins_with_one_slash_as_in_the_application_whose_links_contain_it() -> None:
    with Flask("any").request_context(sent := environ(PATH_INFO="//api/projects")):
        assert read(sent) == read(environ(PATH_INFO=request.path))


def read(given: dict[str, Any]) -> Read | None:
    """The read in an environment."""
    return read_from(given, COOKIE)


@pytest.mark.parametrize("header", UNCACHEABLE)
def test_a_request_with_such_a_header_is_not_cacheable(header: str) -> None:
    assert read(environ(**{f"HTTP_{header.upper().replace('-', '_')}": ""})) is None


@pytest.mark.parametrize(
    ("sent", "credential"),
    [
        ({"HTTP_COOKIE": f"a=b; {COOKIE}=secret"}, of_cookie("secret")),
        ({"HTTP_AUTHORIZATION": "Bearer secret"}, of_token("secret")),
        ({"HTTP_AUTHORIZATION": "Bearer secret", "HTTP_COOKIE": f"{COOKIE}=other"}, of_token("secret")),
    ],
)
def test_a_read_has_the_credential_by_which_the_application_would_identify_the_caller(
    sent: dict[str, str], credential: Credential
) -> None:
    anonymous, known = read(environ()), read(environ(**sent))
    assert anonymous is not None
    assert anonymous.credential is None
    assert known == anonymous._replace(credential=credential)


@pytest.mark.parametrize("sent", [{"HTTP_COOKIE": "a=b"}, {"HTTP_COOKIE": ""}, {"HTTP_AUTHORIZATION": "Basic eA=="}])
def test_a_credential_that_is_not_ours_is_left_to_the_application(sent: dict[str, str]) -> None:
    assert read(environ(**sent)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"REQUEST_METHOD": "HEAD", "HTTP_COOKIE": "a=b"}, {"REQUEST_METHOD": "POST"},
        {"PATH_INFO": "/", "HTTP_ACCEPT": "application/JSON"}, {"PATH_INFO": "/", "HTTP_ACCEPT": "application/*;q=0.1"},
        {"HTTP_IF_NONE_MATCH": "a"}, {"HTTP_IF_NONE_MATCH": '"a" "b"'}, {"HTTP_IF_NONE_MATCH": ""},
    ],
)  # fmt: skip
def test_any_other_method_or_doubtful_header_is_left_to_the_application(changes: dict[str, str]) -> None:
    assert read(environ(**changes)) is None


@pytest.mark.parametrize(
    "changes", [{"PATH_INFO": "/", "HTTP_ACCEPT": "text/html,*/*;q=0.8"}, {"HTTP_ACCEPT": "application/json"}]
)
def test_a_page_and_the_api_are_cacheable_for_all_who_get_the_same(changes: dict[str, str]) -> None:
    assert read(environ(**changes)) is not None


def test_an_invalid_request_id_is_replaced() -> None:
    request = read(environ(HTTP_X_REQUEST_ID="<script>"))
    assert request is not None
    assert len(request.request_id) == 32


@pytest.mark.parametrize(
    ("if_none_match", "matches"),
    [(None, False), ("*", True), ('"e"', True), ('W/"e"', True), ('"x", "e"', True), ('"x"', False), ('"ee"', False)],
)
def test_an_etag_matches_by_weak_comparison(if_none_match: str | None, matches: bool) -> None:
    assert Read("http", "/api/x", "", "id", if_none_match).matches('"e"') is matches
