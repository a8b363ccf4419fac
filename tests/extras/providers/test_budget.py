"""What an id_token costs."""

import json
from functools import partial
from threading import BoundedSemaphore
from typing import Any

from directory.extras.providers.openid import OpenIdProvider
from directory.extras.providers.transport import Access
from tests.http.test_budget import Spending, _part, _tried
from tests.support.lying_provider import CLIENT_ID, LyingProvider


def test_no_id_token_costs_much(provider: LyingProvider) -> None:
    spending, texts = Spending(), ("[" * 60_000, '{"a":' * 12_000, "9" * 60_000, '"a' * 20_000, '["a",' * 12_000)
    known = {"alg": "ES256", "kid": "first"}
    claims = {"iss": provider.issuer, "aud": CLIENT_ID, "nonce": "n", "sub": "9" * 60_000, "exp": 2**40, "iat": 1}
    heads = [_part(head) for head in (*texts, json.dumps(known), json.dumps({**known, "zip": "DEF", "b64": False}))]
    changes: tuple[dict[str, Any], ...] = ({}, {"exp": 10**4_000, "iat": "9" * 4_000}, {"aud": [CLIENT_ID] * 10_000})
    tokens = [provider.signed(known, {**claims, **changed}) for changed in changes]
    tokens += [f"{head}.{_part(text)}.{'A' * 86}" for head in heads for text in texts]
    tokens += ["." * 60_000, "A" * 60_000, "-_" * 30_000 + "..", f"{_part('{}')}.." + "A" * 60_000]
    encrypted = {"alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2c": 2**31, "p2s": "a"}
    tokens.append(f"{_part(json.dumps(encrypted))}.a.a.a.a")
    access = Access("company", BoundedSemaphore())
    joined = OpenIdProvider(provider.settings(), access)
    with access.opened() as transport:
        assert joined._checked(transport, {"id_token": tokens[0]}, "n")["sub"] == claims["sub"], "one is good"
        for token in tokens:
            call = partial(_tried, joined._checked, transport, {"id_token": token}, "n")
            spending.send(f"id_token {token[:60]}", call)
    assert spending.sent > 30
    assert spending.costly == []
