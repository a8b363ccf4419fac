"""OpenID Connect: the authorization code flow with state, nonce and PKCE. Authlib does the protocol."""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from authlib.integrations.requests_client.oauth2_session import OAuth2ClientAuth
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import (
    BadSignatureError,
    ClaimError,
    ExpiredTokenError,
    InvalidKeyIdError,
    JoseError,
    UnsupportedAlgorithmError,
)
from joserfc.jws import JWSRegistry

from directory.extras.providers.provider import Claims, Secrets, claims_of, code_of
from directory.extras.providers.published import Published
from directory.extras.providers.refusals import ProviderFailed, SignInCancelled, SignInRefused
from directory.extras.providers.roles import RoleRules
from directory.extras.providers.transport import Access, Transport

log = logging.getLogger(__name__)
SCOPE = "openid profile email"
LEEWAY = 60  # seconds by which clocks may differ
# Those with a public key alone. With HS256 the public key, which all know, would be the secret.
ALGORITHMS = ("RS256", "ES256", "PS256", "RS384", "ES384", "PS384", "RS512", "ES512", "PS512")
REASONS = {
    "iss": "wrong_issuer",
    "aud": "wrong_audience",
    "azp": "wrong_audience",
    "nonce": "wrong_nonce",
    "iat": "issued_in_future",
    "exp": "expired",
    "sub": "no_subject",
    "at_hash": "wrong_access_token",
}


class OpenIdProvider:
    """A provider with an issuer, whose metadata says where everything is."""

    def __init__(self, settings: Mapping[str, Any], access: Access) -> None:
        self.name, self.label, self.issuer = settings["name"], settings["label"], settings["issuer"]
        self._client_id, self._client_secret = settings["client_id"], settings["client_secret"]
        self._email_claim = settings.get("email_claim", "email")
        self._trusts_email = settings.get("trusts_email", False)
        self._scope = " ".join(dict.fromkeys(f"{SCOPE} {settings.get('scope', '')}".split()))
        self._roles = RoleRules(settings["roles"]) if "roles" in settings else None
        self._access, self._published = access, Published(self.issuer)

    def authorization_url(self, secrets: Secrets, redirect_uri: str) -> str:
        """Where the browser goes to sign in. Raises ProviderUnavailable, ProviderFailed."""
        with self._access.opened() as transport:
            endpoint = self._published.metadata(transport)["authorization_endpoint"]
        return authorization_url(endpoint, self._client_id, self._scope, secrets, redirect_uri, nonce=secrets.nonce)

    def identify(self, answer: Mapping[str, str], secrets: Secrets, redirect_uri: str) -> Claims:
        """The claims of the user who signs in, from the parameters with which the browser came back.

        Raises SignInCancelled, SignInRefused, ProviderUnavailable, ProviderFailed.
        """
        with self._access.opened() as transport:
            self._check_issuer(answer, self._published.metadata(transport))
            refuse_error(answer)
            token = self._exchange(transport, code_of(answer), secrets, redirect_uri)
            claims, more = self._checked(transport, token, secrets.nonce), {}
            if self._email_claim not in claims or (self._roles is not None and self._roles.is_absent(claims)):
                more = self._more(transport, token, claims["sub"])
        membership = None if self._roles is None else self._roles.membership(claims, more)
        if self._email_claim not in claims:  # then userinfo says whether it is verified, not the id_token
            claims = {**claims, "email_verified": None, **more}
        names = (claims.get("preferred_username"), claims.get("nickname"), claims.get("name"))
        identified = claims_of(self, claims["sub"], claims.get(self._email_claim), self._is_verified(claims), names)
        return replace(identified, membership=membership)

    def _is_verified(self, claims: dict[str, Any]) -> Any:
        """Whether the address is verified: `email_verified` is about the claim `email` alone."""
        return self._trusts_email or (self._email_claim == "email" and claims.get("email_verified"))

    def _check_issuer(self, answer: Mapping[str, str], metadata: dict[str, Any]) -> None:
        """Check that the code is not from another provider (mix-up attack, RFC 9207), by the answer's issuer."""
        has_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
        if answer.get("iss", None if has_issuer else self.issuer) != self.issuer:
            raise SignInRefused("wrong_issuer")

    def _exchange(self, transport: Transport, code: str, secrets: Secrets, redirect_uri: str) -> dict[str, Any]:
        metadata = self._published.metadata(transport)
        methods = metadata.get("token_endpoint_auth_methods_supported")
        by_form = isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods
        method = "client_secret_post" if by_form else "client_secret_basic"
        client = (self._client_id, self._client_secret, method)
        return exchange(self.name, transport, metadata["token_endpoint"], client, code, secrets, redirect_uri)

    def _checked(self, transport: Transport, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of the id_token, whose signature, issuer, audience, times and nonce hold. Raises SignInRefused."""
        encoded = token.get("id_token")
        if not isinstance(encoded, str):
            raise SignInRefused("no_token")
        try:
            decoded = self._decoded(transport, encoded)
            options: Any = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self._client_id},
            }
            params = {"nonce": nonce, "client_id": self._client_id, "access_token": token.get("access_token")}
            claims = CodeIDToken(decoded.claims, decoded.header, options, params)
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise SignInRefused(_reason(error)) from None
        return dict(claims)

    def _decoded(self, transport: Transport, token: str) -> jwt.Token:
        supported = self._published.metadata(transport).get("id_token_signing_alg_values_supported")
        offered = supported if isinstance(supported, list) else ["RS256"]
        usable = [name for name in ALGORITHMS if name in offered]
        if not usable:  # an empty list would allow what the library recommends
            raise SignInRefused("algorithm")
        allowed = JWSRegistry(algorithms=usable, strict_check_header=False)
        try:
            return jwt.decode(token, self._published.keys(transport), registry=allowed)
        except InvalidKeyIdError:
            return jwt.decode(token, self._published.keys(transport, unknown=True), registry=allowed)

    def _more(self, transport: Transport, token: dict[str, Any], subject: Any) -> dict[str, Any]:
        """The provider's claims about the same subject that are not in the id_token, if any. Raises SignInRefused."""
        url, access_token = self._published.userinfo_endpoint(transport), token.get("access_token")
        if url is None or not isinstance(access_token, str) or not access_token.isprintable():
            return {}
        more: dict[str, Any] = transport.get(url, {"Authorization": f"Bearer {access_token}"}).expect(dict)
        if more.get("sub") != subject:
            raise SignInRefused("wrong_subject")
        return more


def refuse_error(answer: Mapping[str, str]) -> None:
    """Raise SignInCancelled or SignInRefused where the provider sent the browser back with an error."""
    if answer.get("error") == "access_denied":
        raise SignInCancelled
    if "error" in answer:
        raise SignInRefused("provider_error")


def authorization_url(
    endpoint: str, client_id: str, scope: str, secrets: Secrets, redirect_uri: str, **more: str
) -> str:
    """The address at which the person signs in, with state and PKCE."""
    client = OAuth2Client(None, client_id, scope=scope, redirect_uri=redirect_uri, code_challenge_method="S256")
    url, _ = client.create_authorization_url(endpoint, state=secrets.state, code_verifier=secrets.verifier, **more)
    return str(url)


class _Client(OAuth2Client):  # type: ignore[misc]
    client_auth_class = OAuth2ClientAuth


def exchange(
    name: str,
    transport: Transport,
    endpoint: str,
    client: tuple[str, str, str],
    code: str,
    secrets: Secrets,
    redirect_uri: str,
) -> dict[str, Any]:
    """The tokens for a code. `client` is its id, its secret, and how it proves itself. Raises SignInRefused."""
    client_id, client_secret, method = client
    asking = _Client(transport, client_id, client_secret, token_endpoint_auth_method=method, redirect_uri=redirect_uri)
    try:
        token = asking.fetch_token(endpoint, grant_type="authorization_code", code=code, code_verifier=secrets.verifier)
    except OAuth2Error as error:
        is_plain = isinstance(error.error, str) and re.fullmatch("[a-z_]{1,40}", error.error)
        reason = error.error if is_plain else "unknown"
        log.warning("provider refused the code", extra={"provider": name, "reason": reason})
        raise SignInRefused("code_refused") from None
    except (ValueError, TypeError, OverflowError):  # Authlib reads the times of the token as numbers
        raise ProviderFailed("no_json") from None
    return dict(token)


def _reason(error: Exception) -> str:
    """Why a token is refused, in one of our words."""
    if isinstance(error, ExpiredTokenError):
        return "expired"
    if isinstance(error, ClaimError):
        return REASONS.get(error.claim, "wrong_claim")
    kinds = {
        InvalidKeyIdError: "unknown_key",
        UnsupportedAlgorithmError: "algorithm",
        BadSignatureError: "signature",
    }
    return next((word for kind, word in kinds.items() if isinstance(error, kind)), "malformed_token")
