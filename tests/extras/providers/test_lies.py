"""A provider that lies, is slow, or is down: each has its refusal, in bounded time, and signs nobody in."""

import base64
import hmac
import json
import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

import pytest
from flask import Flask
from joserfc import jwt

from directory.extras.providers import transport
from directory.extras.providers.published import Published
from directory.extras.providers.refusals import ProviderFailed, ProviderUnavailable
from directory.extras.providers.transport import Access
from tests.support.browsers import Browser
from tests.support.lying_provider import CLIENT_SECRET, Handler, LyingProvider, back, key

JSON = {"Accept": "application/json"}
HOUR = 3600


@pytest.fixture
def app(make_app: Any, provider: LyingProvider) -> Flask:
    return make_app(**provider.environment)  # type: ignore[no-any-return]


@pytest.fixture
def browser(app: Flask) -> Browser:
    return Browser(app)


def begun(browser: Browser, provider: LyingProvider) -> dict[str, str]:
    """The parameters with which the browser is sent back."""
    went = browser.get("/api/auth/providers/company", headers=JSON)
    assert went.status_code == 302, went.json
    return provider.authorize(went.headers["Location"])


def outcome(browser: Browser, parameters: dict[str, str], name: str = "company") -> tuple[Any, ...]:
    """The status, code and reason with which a sign-in is refused."""
    answer = back(browser, parameters, name, headers=JSON)
    assert answer.status_code >= 400, answer.headers
    assert not browser.signed_in()
    return answer.status_code, answer.json["code"], answer.json.get("reason")


def refused(reason: str) -> tuple[Any, ...]:
    return 403, "sign_in_refused", reason


def far(seconds: float) -> int:
    return int(time.time() + seconds)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example"}, "wrong_issuer"),
        ({"iss": None}, "wrong_issuer"),
        ({"aud": "another"}, "wrong_audience"),
        ({"aud": "another", "azp": "directory"}, "wrong_audience"),
        ({"aud": ["directory", "another"]}, "wrong_audience"),
        ({"aud": ["directory"], "azp": "another"}, "wrong_audience"),
        ({"nonce": "another"}, "wrong_nonce"),
        ({"nonce": None}, "wrong_nonce"),
        ({"exp": 1}, "expired"),
        ({"exp": None}, "expired"),
        ({"exp": "soon"}, "expired"),
        ({"iat": far(HOUR)}, "issued_in_future"),
        ({"sub": None}, "no_subject"),
        ({"sub": ""}, "no_subject"),
        ({"sub": 7}, "no_subject"),
        ({"sub": "x" * 256}, "no_subject"),
        ({"sub": "é\u0000"}, "no_subject"),
        ({"at_hash": "nonsense"}, "wrong_access_token"),
        ({"nbf": far(HOUR)}, "wrong_claim"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(
    browser: Browser, provider: LyingProvider, claims: dict[str, Any], reason: str
) -> None:
    provider.claims = claims
    assert outcome(browser, begun(browser, provider)) == refused(reason)


def by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    """A token that no good library makes."""
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims))
    text = b".".join(parts)
    signature = hmac.digest(secret, text, "sha256") if secret else b""
    return f"{text.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def unsigned(_header: dict[str, Any], claims: dict[str, Any]) -> str:
    return by_hand({"alg": "none"}, claims, b"")


def by_public_key(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return by_hand({"alg": "HS256", "kid": header["kid"]}, claims, key("first").as_pem(private=False))


def by_client_secret(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return by_hand({"alg": "HS256", "kid": header["kid"]}, claims, CLIENT_SECRET.encode())


def by_another_key(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return jwt.encode(header, claims, key("not published"), algorithms=["ES256"])


def by_unknown_key(_header: dict[str, Any], claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "ES256", "kid": "unknown"}, claims, key("unknown"), algorithms=["ES256"])


@pytest.mark.parametrize(
    ("sign", "reason"),
    [
        (unsigned, "algorithm"),
        (by_public_key, "algorithm"),
        (by_client_secret, "algorithm"),
        (by_another_key, "signature"),
        (by_unknown_key, "unknown_key"),
        (lambda *_: "nonsense", "malformed_token"),
        (lambda *_: "e30.e30.e30", "malformed_token"),
        (lambda *_: {"a": 1}, "no_token"),
        (lambda *_: None, "no_token"),
    ],
)
def test_a_token_that_is_signed_wrongly_is_refused(
    browser: Browser, provider: LyingProvider, sign: Any, reason: str
) -> None:
    provider.sign = sign
    assert outcome(browser, begun(browser, provider)) == refused(reason)
    provider.sign = provider.signed
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"


def test_neither_none_nor_a_shared_secret_is_taken_where_the_provider_says_that_it_signs_so(
    browser: Browser, provider: LyingProvider
) -> None:
    provider.metadata = {"id_token_signing_alg_values_supported": ["none", "HS256", "ES256"]}
    for sign in (unsigned, by_public_key, by_client_secret):
        provider.sign = sign
        assert outcome(browser, begun(browser, provider)) == refused("algorithm")


@pytest.mark.parametrize("told", [[], ["none"], ["HS256"], ["EdDSA", 7, ["ES256"]]])
def test_a_provider_that_names_no_usable_algorithm_is_refused(
    browser: Browser, provider: LyingProvider, told: list[Any]
) -> None:
    provider.metadata = {"id_token_signing_alg_values_supported": told}
    for sign in (unsigned, by_public_key, by_client_secret, provider.signed):
        provider.sign = sign
        assert outcome(browser, begun(browser, provider)) == refused("algorithm")


def test_a_new_key_is_found_and_unknown_ones_are_asked_for_once_a_minute(
    browser: Browser, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"
    provider.kids = ["first", "second"]
    browser.post("/api/auth/logout")
    assert outcome(browser, begun(browser, provider)) == refused("unknown_key")
    assert provider.asked.count("/jwks") == 1, "the keys were read less than a minute ago"
    monkeypatch.setattr("directory.extras.providers.published.KEYS_PAUSE", -1.0)
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"
    assert provider.asked.count("/jwks") == 2
    assert provider.asked.count("/.well-known/openid-configuration") == 1


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"error": "access_denied"}, (403, "sign_in_cancelled", None)),
        ({"error": "server_error", "error_description": "<b>x</b>"}, refused("provider_error")),
        ({"error": "access_denied", "iss": "https://evil.example"}, refused("wrong_issuer")),
        ({"iss": "https://evil.example"}, refused("wrong_issuer")),
        ({"code": ""}, refused("no_code")),
        ({"code": "x" * 3000}, refused("no_code")),
        ({"code": "é"}, refused("no_code")),
        ({"code": "another"}, refused("code_refused")),
    ],
)
def test_an_answer_by_the_browser_that_is_no_code_of_this_provider_is_refused(
    browser: Browser, provider: LyingProvider, parameters: dict[str, str], expected: tuple[Any, ...]
) -> None:
    assert outcome(browser, {**begun(browser, provider), **parameters}) == expected


def test_a_code_of_one_provider_does_not_work_at_another(make_app: Any, provider: LyingProvider) -> None:
    with LyingProvider() as evil:
        app = make_app(OIDC_PROVIDERS=json.dumps([provider.settings(), evil.settings("evil")]))
        browser = Browser(app)
        honest = begun(browser, provider)
        at_evil = evil.authorize(browser.get("/api/auth/providers/evil").headers["Location"])
        # The state of the one with the code of the other; with iss where the provider adds it.
        assert outcome(browser, {**at_evil, "code": honest["code"], "iss": provider.issuer}, "evil") == refused(
            "wrong_issuer"
        )
        assert outcome(browser, {**honest, "code": at_evil["code"]}) == refused("code_refused")
        assert "/token" not in evil.asked


def test_where_the_provider_says_that_it_adds_its_issuer_an_answer_without_is_refused(
    browser: Browser, provider: LyingProvider
) -> None:
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    assert outcome(browser, begun(browser, provider)) == refused("wrong_issuer")
    went = {**begun(browser, provider), "iss": provider.issuer, "session_state": "x"}
    assert back(browser, went).headers["Location"] == "/"


def test_a_code_of_another_sign_in_does_not_work_without_its_verifier(
    app: Flask, browser: Browser, provider: LyingProvider
) -> None:
    stolen = begun(Browser(app), provider)["code"]
    assert outcome(browser, {**begun(browser, provider), "code": stolen}) == refused("code_refused")


def test_an_address_comes_from_userinfo_where_the_token_has_none(browser: Browser, provider: LyingProvider) -> None:
    provider.claims = {"email": None, "email_verified": None}
    for subject in ({"sub": "somebody else"}, {"sub": None}, {}):
        provider.userinfo = {**subject, "email": "eve@example.org"}
        assert outcome(browser, begun(browser, provider)) == refused("wrong_subject")
    provider.userinfo = {"sub": "248289761001", "email": "Ada@Example.org", "email_verified": True}
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"
    me = browser.get("/api/auth/me").json
    assert (me["email"], me["email_verified"]) == ("ada@example.org", True)


def test_an_address_from_userinfo_is_verified_by_what_is_told_beside_it(
    browser: Browser, provider: LyingProvider
) -> None:
    provider.claims = {"email": None, "email_verified": True}
    provider.userinfo = {"sub": "248289761001", "email": "eve@example.org"}
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"
    me = browser.get("/api/auth/me").json
    assert (me["email"], me["email_verified"]) == ("eve@example.org", False)


def test_a_provider_that_takes_the_secret_in_the_form_gets_it_there(browser: Browser, provider: LyingProvider) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"


def hang(handler: Handler) -> None:
    handler.server.owner.ending.wait()


def drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.owner.ending.wait(0.02):
        handler.wfile.write(b" ")


def replying(status: int, body: bytes, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, body, **headers)


def close(handler: Handler) -> None:
    handler.close_connection = True


FAULTS = [
    (replying(200, b"{"), (502, "provider_failed", "no_json")),
    (replying(200, b"[1]"), (502, "provider_failed", "no_json")),
    (replying(500, b"{}"), (502, "provider_failed", "status")),
    (replying(404, b"x"), (502, "provider_failed", "status")),
    (replying(302, b"", Location="http://127.0.0.1:1/"), (502, "provider_failed", "redirect")),
    (replying(200, b" " * 300_000), (502, "provider_failed", "too_large")),
    (close, (503, "provider_unavailable", "unreachable")),
    (hang, (503, "provider_unavailable", "slow")),
    (drip, (503, "provider_unavailable", "slow")),
]


@pytest.mark.parametrize(
    "body", [b'{"expires_at": {}}', b'{"expires_in": "x"}', b'{"expires_in": 1e999}', b"[" * 100_000, b"null", b"\xff"]
)
def test_tokens_that_make_no_sense_are_refused(browser: Browser, provider: LyingProvider, body: bytes) -> None:
    provider.script["/token"] = replying(200, body)
    assert outcome(browser, begun(browser, provider)) == (502, "provider_failed", "no_json")


PATHS = ("/.well-known/openid-configuration", "/token", "/jwks")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("fault", "expected"), FAULTS)
def test_a_provider_that_fails_has_its_refusal_at_each_step(
    make_app: Any, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch, path: str, fault: Any, expected: Any
) -> None:
    if expected[2] == "slow":
        monkeypatch.setattr(transport, "SECONDS", 0.4)
    browser = Browser(make_app(**provider.environment))
    provider.script[path] = fault
    if path == PATHS[0]:
        answer = browser.get("/api/auth/providers/company", headers=JSON)
        found = answer.status_code, answer.json["code"], answer.json["reason"]
    else:
        found = outcome(browser, begun(browser, provider))
    assert found == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"issuer": "https://evil.example"}, "wrong_issuer"),
        ({"token_endpoint": "file:///etc/passwd"}, "metadata"),
        ({"jwks_uri": None}, "metadata"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "metadata"),
    ],
)
def test_metadata_that_make_no_sense_are_refused(
    browser: Browser, provider: LyingProvider, body: dict[str, Any], reason: str
) -> None:
    provider.metadata = body
    answer = browser.get("/api/auth/providers/company", headers=JSON)
    assert (answer.status_code, answer.json["reason"]) == (502, reason)
    provider.metadata = {}
    assert browser.get("/api/auth/providers/company").status_code == 302, "nothing wrong is stored"


@pytest.mark.parametrize("listed", [None, [], [{"kty": "oct", "k": "eA"}], ["x"], [{"kty": "EC", "crv": "x"}]])
def test_keys_that_are_none_are_refused(browser: Browser, provider: LyingProvider, listed: Any) -> None:
    provider.script["/jwks"] = replying(200, json.dumps({"keys": listed}).encode())
    assert outcome(browser, begun(browser, provider)) == (502, "provider_failed", "keys")


def test_a_key_that_is_not_understood_does_not_spoil_the_others(browser: Browser, provider: LyingProvider) -> None:
    good = key("first").as_dict(private=False)
    listed = [{"kty": "AKP"}, {**good, "use": "enc", "kid": "other"}, {"kty": "RSA"}, good]
    provider.script["/jwks"] = replying(200, json.dumps({"keys": listed}).encode())
    assert back(browser, begun(browser, provider)).headers["Location"] == "/"


def test_over_tls_no_endpoint_without_it_is_used() -> None:
    with LyingProvider() as one:
        published = Published("https://login.example.org")
        assert not published._is_safe(f"{one.issuer}/token")
        assert published._is_safe("https://elsewhere.example.org/token")


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Access:
    return Access("company", BoundedSemaphore(2))


def fail(access: Access) -> str:
    """The reason for which a provider that is slow is not reached."""
    with pytest.raises(ProviderUnavailable) as caught, access.opened():
        raise ProviderUnavailable("slow")
    return str(caught.value.extra["reason"])


def test_few_callers_wait_at_a_time_and_the_others_are_refused_at_once(access: Access) -> None:
    with access.opened(), access.opened():
        assert fail(access) == "busy"
    with access.opened():
        pass


def test_a_provider_that_fails_again_and_again_is_left_alone_for_a_while(
    access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [fail(access) for _ in range(transport.FAILURES)] == ["slow"] * transport.FAILURES
    assert fail(access) == "left_alone"
    monkeypatch.setattr(access, "_left_alone_until", 0.0)
    assert [fail(access), fail(access)] == ["slow", "left_alone"], "one caller tries"
    monkeypatch.setattr(access, "_left_alone_until", 0.0)
    with access.opened():
        pass
    assert fail(access) == "slow"


def test_an_answer_that_makes_no_sense_is_an_answer_all_the_same(access: Access) -> None:
    for _ in range(transport.FAILURES + 1):
        with pytest.raises(ProviderFailed), access.opened():
            raise ProviderFailed("no_json")


def test_no_log_line_and_no_answer_tells_a_secret(
    browser: Browser, provider: LyingProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    told = []
    for path, fault in ((None, None), ("/token", close), ("/token", replying(400, b'{"error": "invalid_client"}'))):
        went = begun(browser, provider)
        if path and fault:
            provider.script[path] = fault
        answer = back(browser, went, headers=JSON)
        told += [answer.data.decode(), went["code"], went["state"]]
    lines = "\n".join(f"{record.__dict__}" for record in caplog.records)
    assert "provider unavailable" in lines
    assert "invalid_client" in lines
    for secret in (CLIENT_SECRET, "planted-access-token", told[-1], told[-2]):
        assert secret not in lines
        assert secret not in told[0] + told[3] + told[6]
