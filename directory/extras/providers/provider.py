"""The interface of a provider to the rest of the service, whatever its protocol."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from itsdangerous import base64_encode

from directory.extras.providers.refusals import SignInRefused
from directory.extras.providers.roles import Membership
from directory.services.text.rules import ascii_address, is_email

SUBJECT_MAX = 255  # of OpenID Connect
CODE_MAX = 2048


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets that recognise a sign-in that comes back. `nonce` and `verifier` are made of `state` by a key."""

    state: str
    nonce: str
    verifier: str


def mark_of(key: str) -> str:
    """Return what a state ends with: it names the key of its secrets, so that a sign-in survives a change of keys."""
    return _derived(key, "sign-in key")[:8]


def secrets_of(state: str, keys: Sequence[str]) -> Secrets:
    """Return the secrets that belong to a state, by the key that its mark names, else by the first."""
    key = next((key for key in keys if state.endswith(mark_of(key))), keys[0])
    return Secrets(state, _derived(key, f"sign-in nonce {state}"), _derived(key, f"sign-in verifier {state}"))


def _derived(key: str, purpose: str) -> str:
    digest = hmac.digest(key.encode(), purpose.encode("utf-8", "replace"), "sha256")
    return base64_encode(digest).decode()


@dataclass(frozen=True, slots=True)
class Claims:
    """The user who signs in, as the provider proves it. `email` is None if it returned no usable address.

    `membership` is what it says of the user's groups; None if it gives no roles.
    """

    provider: str
    issuer: str
    subject: str
    email: str | None
    email_verified: bool
    names: tuple[str, ...]
    membership: Membership | None = None


class Provider(Protocol):
    """A configured provider. No secret of it is in its representation."""

    name: str
    label: str
    issuer: str

    def authorization_url(self, secrets: Secrets, redirect_uri: str) -> str:
        """Where the browser goes to sign in. Raises ProviderUnavailable, ProviderFailed."""

    def identify(self, answer: Mapping[str, str], secrets: Secrets, redirect_uri: str) -> Claims:
        """The claims of the user who signs in, from the parameters with which the browser came back.

        Raises SignInCancelled, SignInRefused, ProviderUnavailable, ProviderFailed.
        """


def claims_of(provider: Provider, subject: Any, email: Any, email_verified: Any, names: tuple[Any, ...]) -> Claims:
    """The claims, each only in the form that can be used. Raises SignInRefused if the subject has no such form."""
    if not isinstance(subject, str) or not 1 <= len(subject) <= SUBJECT_MAX:
        raise SignInRefused("no_subject")
    if not (subject.isascii() and subject.isprintable()):
        raise SignInRefused("no_subject")
    written = ascii_address(email) if isinstance(email, str) else ""
    address = written if is_email(written) else None
    local_part = address.partition("@")[0] if address else None
    texts = tuple(name for name in (*names, local_part) if isinstance(name, str))
    return Claims(provider.name, provider.issuer, subject, address, _is_true(email_verified), texts)


def _is_true(value: Any) -> bool:
    """Whether a claim is true. Some providers send it as text: Apple, and Amazon Cognito from its userinfo."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def code_of(answer: Mapping[str, str]) -> str:
    """The code that the browser brought. Raises SignInRefused."""
    code = answer.get("code", "")
    if not 1 <= len(code) <= CODE_MAX or not (code.isascii() and code.isprintable()):
        raise SignInRefused("no_code")
    return code
