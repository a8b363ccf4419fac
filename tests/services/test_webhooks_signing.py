"""Signatures, judged by the reference library, and what can be a secret."""

import base64
import time

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

import config
from directory.services.delivery.webhooks import formats
from tests.support.receiver import SECRET

OTHER = f"whsec_{base64.b64encode(b'another key of 28 bytes here').decode()}"
BODY = '{"title":"Grüße"}'.encode()


def signed(*secrets: str, body: bytes = BODY, at: int | None = None) -> dict[str, str]:
    return formats.signed_headers(secrets, "msg_1", body, at=int(time.time()) if at is None else at)


@pytest.mark.parametrize(
    "secret", [SECRET, SECRET.removeprefix("whsec_"), OTHER, OTHER.rstrip("="), "c2hvcnQ", "a+/b" * 8]
)
def test_the_reference_library_verifies_what_each_kind_of_secret_signs(secret: str) -> None:
    assert Webhook(secret).verify(BODY, signed(secret)) == {"title": "Grüße"}


def test_during_a_rotation_the_old_secret_and_the_new_one_both_verify() -> None:
    headers = signed(OTHER, SECRET)

    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (OTHER, SECRET):
        Webhook(secret).verify(BODY, headers)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (signed(OTHER), BODY),
        (signed(SECRET), BODY + b" "),
        ({**signed(SECRET), "webhook-id": "msg_2"}, BODY),
        (signed(SECRET, at=int(time.time()) - 3600), BODY),
    ],
    ids=["another secret", "another body", "another id", "an hour ago"],
)
def test_nothing_else_verifies(headers: dict[str, str], body: bytes) -> None:
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, headers)


def test_without_a_secret_there_is_no_signature() -> None:
    assert signed().keys() == {"webhook-id", "webhook-timestamp"}


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "not base64!", "abcde", "dash-and_underscore=", "YWJj ZGVm", "YWJj=YWJj"]
)
def test_what_the_libraries_would_not_agree_on_is_no_secret(secret: str) -> None:
    with pytest.raises(ValueError):
        formats.key_of(secret)


@pytest.mark.parametrize(
    "environment",
    [
        {"WEBHOOK_URL": "https://here.example/x", "WEBHOOK_SECRET": "my-secret-word!"},
        {"WEBHOOK_ENDPOINTS": '[{"url": "https://here.example/x", "secret": ["my-secret-word!"]}]'},
    ],
)
def test_a_secret_of_no_use_stops_the_start_and_is_not_repeated(environment: dict[str, str]) -> None:
    with pytest.raises(config.ConfigError) as refusal:
        config.load({"SECRET_KEY": "x" * 40, **environment})

    said = str(refusal.value)
    assert said.startswith(f"{list(environment)[-1]}: ")
    assert "my-secret-word!" not in said
    assert "\n" not in said
