"""What an answer of an authenticator costs."""

from functools import partial

from itsdangerous import base64_encode

from directory.extras.passkeys import passkeys
from tests.http.test_budget import Spending, _part, _tried
from tests.support.authenticator import Authenticator
from tests.support.hostile_texts import CBOR


def test_no_answer_of_an_authenticator_costs_much() -> None:
    party = passkeys.RelyingParty("https://example.net", "example.net", "Example")
    options = {"user": {"id": _part("1")}, "rp": {"id": party.host}, "challenge": _part("c" * 32)}
    answer, spending = Authenticator(party.origin).create(options), Spending()
    for item in (*CBOR, *(each[:length] for each in CBOR for length in (5_000, 500))):
        given = {**answer, "response": {**answer["response"], "attestationObject": base64_encode(item).decode()}}
        spending.send(f"CBOR {item[:60]!r}", partial(_tried, passkeys.registered, given, b"c" * 32, party))
    assert passkeys.registered(answer, b"c" * 32, party).sign_count == 1, "what is changed was good"
    assert spending.costly == []
