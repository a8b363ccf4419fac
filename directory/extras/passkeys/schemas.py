"""The schemas of passkeys. Options and credentials are WebAuthn's own objects."""

from marshmallow import fields

from directory.api.schemas.accounts import PasskeyOutput
from directory.http.fields import Line, Strict

CREDENTIAL = "What `PublicKeyCredential.toJSON()` returns."
NAMED = {"examples": ["Blue security key"]}


def _object(**facts: object) -> fields.Dict:
    return fields.Dict(keys=fields.String(), required=True, metadata=facts)


class CreationOptions(Strict):
    """The argument of `PublicKeyCredential.parseCreationOptionsFromJSON()`."""

    rp = _object()
    user = _object()
    challenge = fields.String(required=True)
    pubKeyCredParams = fields.List(fields.Dict(), required=True)
    timeout = fields.Integer(required=True)
    excludeCredentials = fields.List(fields.Dict(), required=True)
    authenticatorSelection = _object()
    attestation = fields.String(required=True)


class RequestOptions(Strict):
    """The argument of `PublicKeyCredential.parseRequestOptionsFromJSON()`."""

    challenge = fields.String(required=True)
    timeout = fields.Integer(required=True)
    rpId = fields.String(required=True)
    allowCredentials = fields.List(fields.Dict(), required=True)
    userVerification = fields.String(required=True)


class PasskeyInput(Strict):
    """A new passkey: the answer of an authenticator, and a name for the list."""

    credential = _object(description=CREDENTIAL)
    name = Line(1, 100, metadata=NAMED)


class PasskeyChanges(Strict):
    """Another name for a passkey."""

    name = Line(1, 100, required=True, metadata=NAMED)


class PasskeySignIn(Strict):
    """The answer of an authenticator to a sign-in."""

    credential = _object(description=CREDENTIAL)


class PasskeyList(Strict):
    """One's passkeys."""

    items = fields.List(fields.Nested(PasskeyOutput), required=True)
