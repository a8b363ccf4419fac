"""Passkeys: adding them to an account, and signing in by one without a username (WebAuthn).

A challenge is used once, by a failed answer too, and ends after five minutes. One to add a passkey belongs to a
session. The authenticator has to verify its user, by a PIN or a finger, each time.
"""

import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from itsdangerous import base64_decode, base64_encode
from sqlalchemy import delete, insert, select, update

from directory import events
from directory.db.errors import refusing
from directory.errors import (
    AccountSuspended,
    Conflict,
    Invalid,
    InvalidCredentials,
    LastWayIn,
    NotFound,
    PasskeyRequired,
    Unauthenticated,
)
from directory.extensions import db, modify
from directory.extras.passkeys import attestation
from directory.language.messages import _
from directory.models import AccountStatus, LinkPurpose, Passkey, PasskeyChallenge, User, now
from directory.services import audit, permissions
from directory.services.accounts import accounts, sessions
from directory.services.accounts.sessions import digest
from directory.services.delivery.channels import MailServer
from directory.services.delivery.mail import link_mails
from directory.services.identity import Caller
from directory.services.sign_in import ways_in

log = logging.getLogger(__name__)
LIFETIME = timedelta(minutes=5)
MOST = 20  # of an account
NAME = "Passkey"
ID_MAX = 1400  # characters of a credential's id; WebAuthn allows 1,023 bytes
KEY_MAX = 2000  # characters of a public key; one of RSA with 4,096 bits has 740
REFUSED = _("This passkey could not be added. Try again.")
NOT_KNOWN = _("This passkey is not known here, or its answer was refused. Sign in by your password.")


class TooManyPasskeys(Conflict):
    """The account has as many passkeys as it may have."""

    code = "too_many_passkeys"
    default = _("Your account has 20 passkeys, and can have no more. Remove one first.")


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The site in terms of WebAuthn: the origin of its pages, and the host that its passkeys are bound to."""

    origin: str
    host: str
    name: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A passkey whose possession was proved, and the counter of that answer."""

    passkey_id: int
    user_id: int
    counter: int


def registration_options(party: RelyingParty, *, by: Caller) -> dict[str, Any]:
    """The options of `navigator.credentials.create()` that add a passkey to the caller's account.

    Raises SignInAgain, PasskeyRequired, TooManyPasskeys.
    """
    from webauthn import generate_registration_options  # takes 0.2 s, which most processes never need
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    held = _may_change(by)
    if len(held) >= MOST:
        raise TooManyPasskeys
    options = generate_registration_options(
        rp_id=party.host,
        rp_name=party.name,
        user_id=_handle(by.id),
        user_name=by.username,
        challenge=_begin(by.session_id),
        timeout=int(LIFETIME.total_seconds() * 1000),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=base64_decode(credential_id)) for credential_id in held],
    )
    return options_to_json_dict(options)


def sign_in_options(party: RelyingParty) -> dict[str, Any]:
    """The options of `navigator.credentials.get()` that sign in by any passkey of this site."""
    from webauthn import generate_authentication_options
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import UserVerificationRequirement

    options = generate_authentication_options(
        rp_id=party.host,
        challenge=_begin(None),
        timeout=int(LIFETIME.total_seconds() * 1000),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def _begin(session_id: int | None) -> bytes:
    """A challenge, which is noted for a session that adds a passkey, or for a sign-in."""
    challenge = secrets.token_bytes(32)
    values = {
        "challenge_hash": digest(base64_encode(challenge).decode()),
        "session_id": session_id,
        "expires_at": now() + LIFETIME,
    }
    db.session.execute(insert(PasskeyChallenge).values(values))
    return challenge


def challenge_of(credential: dict[str, Any]) -> bytes | None:
    """The challenge that an answer names; None if it cannot be read."""
    try:
        from webauthn.helpers import base64url_to_bytes, parse_client_data_json

        data = base64url_to_bytes(credential["response"]["clientDataJSON"])
        return parse_client_data_json(data).challenge if len(data) <= attestation.SIZE_MAX else None
    except Exception:  # any text may come here
        return None


def take(challenge: bytes | None, session_id: int | None) -> bytes | None:
    """Use up a challenge, and return it; None if it was not given for this.

    The caller commits this before the answer is checked, so that an answer that fails uses it up too.
    """
    if challenge is None:
        return None
    mine = PasskeyChallenge.session_id.is_(None) if session_id is None else PasskeyChallenge.session_id == session_id
    deletion = delete(PasskeyChallenge).where(
        PasskeyChallenge.challenge_hash == digest(base64_encode(challenge).decode()),
        mine,
        PasskeyChallenge.expires_at > now(),
    )
    return challenge if modify(deletion) else None


def registered(credential: dict[str, Any], challenge: bytes | None, party: RelyingParty) -> Any:
    """The new credential of an answer, which is read outside of any transaction. Raises Invalid."""
    from webauthn import verify_registration_response

    try:
        if challenge is None:
            raise ValueError("unknown challenge")
        _require_plain_attestation(credential)
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
            require_user_verification=True,
        )
        if len(base64_encode(verified.credential_public_key)) > KEY_MAX:
            raise ValueError("long key")
        if len(base64_encode(verified.credential_id)) > ID_MAX:
            raise ValueError("long id")
    except Exception as error:  # it parses foreign bytes, and fails in many ways
        log.info("passkey refused", extra={"reason": str(error)[:200]})
        raise Invalid.field("credential", REFUSED) from None
    return verified


def _require_plain_attestation(credential: dict[str, Any]) -> None:
    """Raise an exception unless a general decoder of CBOR can safely read the answer of a registration."""
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.parse_cbor import parse_cbor

    data = base64url_to_bytes(credential["response"]["attestationObject"])
    attestation.require_item(data)
    attestation.require_authenticator_data(parse_cbor(data)["authData"])


def add(verified: Any, name: str | None, *, by: Caller, server: MailServer | None) -> dict[str, Any]:
    """Add a `registered` passkey to the caller's account, whose address gets a notice.

    Raises Unauthenticated, SignInAgain, PasskeyRequired, TooManyPasskeys, Invalid.
    """
    user = accounts.locked(by.id)
    if user.status != AccountStatus.ACTIVE:
        raise Unauthenticated
    if len(_may_change(by)) >= MOST:
        raise TooManyPasskeys
    passkey = Passkey(
        user_id=by.id,
        credential_id=base64_encode(verified.credential_id).decode(),
        public_key=base64_encode(verified.credential_public_key).decode(),
        sign_count=verified.sign_count,
        name=name or NAME,
    )
    db.session.add(passkey)
    with refusing(uq_passkeys_credential_id=Invalid.field("credential", _("This passkey was added before."))):
        db.session.flush()
    audit.record(events.USER_PASSKEY_ADDED, by=by, user_id=by.id)
    if server is not None:
        link_mails.queue(LinkPurpose.PASSKEY_ADDED, user, user.email, server)
    return ways_in.shown(passkey)


def proved(credential: dict[str, Any], challenge: bytes | None, party: RelyingParty) -> Proof:
    """The passkey whose possession an answer proves. The answer is read without a database connection.

    Raises InvalidCredentials.
    """
    credential_id = credential.get("id")
    if challenge is None or not isinstance(credential_id, str) or len(credential_id) > ID_MAX:
        raise InvalidCredentials(NOT_KNOWN)
    named = credential_id.encode("ascii", "replace").decode()  # no database takes NUL or half of a surrogate pair
    columns = select(Passkey.id, Passkey.user_id, Passkey.public_key)
    row = db.session.execute(columns.where(Passkey.credential_id == named.replace("\0", "?"))).one_or_none()
    accounts.release()
    if row is None:
        raise InvalidCredentials(NOT_KNOWN)
    return Proof(row.id, row.user_id, _counter(credential, challenge, row, party))


def sign_in(proof: Proof, *, user_agent: str) -> tuple[User, str]:
    """The account of a passkey, and the secret of a new session. Raises InvalidCredentials, AccountSuspended."""
    user = accounts.locked(proof.user_id)  # before the passkey: all that change a user's passkeys lock the user first
    passkey = db.session.scalar(select(Passkey).where(Passkey.id == proof.passkey_id))
    if passkey is None:
        raise InvalidCredentials(NOT_KNOWN)
    _count(passkey, proof.counter)
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended
    return user, sessions.begin(user.id, user_agent=user_agent, by_passkey=True)


def _counter(credential: dict[str, Any], challenge: bytes, passkey: Any, party: RelyingParty) -> int:
    """The counter of an answer that proves the possession of a passkey. Raises InvalidCredentials."""
    from webauthn import verify_authentication_response
    from webauthn.helpers import base64url_to_bytes

    try:
        response = credential["response"]
        attestation.require_authenticator_data(base64url_to_bytes(response["authenticatorData"]))
        handle = response.get("userHandle")
        if handle is not None and handle.rstrip("=") != base64_encode(_handle(passkey.user_id)).decode():
            raise ValueError("the passkey of another account")
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
            credential_public_key=base64_decode(passkey.public_key),
            credential_current_sign_count=0,  # _count judges it, and logs it
            require_user_verification=True,
        )
    except Exception as error:  # it parses foreign bytes, and fails in many ways
        log.info("passkey refused", extra={"reason": str(error)[:200], "user_id": passkey.user_id})
        raise InvalidCredentials(NOT_KNOWN) from None
    return verified.new_sign_count


def _count(passkey: Passkey, counter: int) -> None:
    """Note a sign-in with its counter. One that did not grow may come from a copy of the key.

    Raises InvalidCredentials.
    """
    grows = Passkey.sign_count < counter if counter else Passkey.sign_count == 0
    used = update(Passkey).where(Passkey.id == passkey.id, grows).values(sign_count=counter, last_used_at=now())
    if not modify(used):
        facts = {"user_id": passkey.user_id, "passkey_id": passkey.id, "counter": counter, "before": passkey.sign_count}
        log.warning("the counter of a passkey went back: it may have been copied", extra=facts)
        raise InvalidCredentials(NOT_KNOWN)


def rename(passkey_id: int, name: str, *, by: Caller) -> dict[str, Any]:
    """Give one of the caller's passkeys another name. Raises NotFound."""
    passkey = _own(passkey_id, by)
    passkey.name = name
    db.session.flush()
    return ways_in.shown(passkey)


def _own(passkey_id: int, by: Caller) -> Passkey:
    """Return one of the caller's passkeys, locked. Raises NotFound."""
    own = select(Passkey).where(Passkey.id == passkey_id, Passkey.user_id == by.id).with_for_update()
    passkey: Passkey | None = db.session.scalar(own)
    if passkey is None:
        raise NotFound
    return passkey


def remove(passkey_id: int, *, by: Caller, server: MailServer | None, passwords: bool = True) -> None:
    """Remove one of the caller's passkeys; the account's address gets a notice.

    `passwords` says whether accounts can be signed in to by a password. Raises NotFound, SignInAgain, PasskeyRequired,
    LastWayIn.
    """
    user = accounts.locked(by.id)
    passkey = _own(passkey_id, by)
    if len(_may_change(by)) == 1 and not passwords and not ways_in.identities(by):
        raise LastWayIn
    db.session.delete(passkey)
    audit.record(events.USER_PASSKEY_REMOVED, by=by, user_id=by.id)
    if server is not None:
        link_mails.queue(LinkPurpose.PASSKEY_REMOVED, user, user.email, server)


def reset(user_id: int, *, server: MailServer | None) -> int:
    """Remove all passkeys of an account whose key is lost, and end its sessions; how many there were.

    Tokens that were made in a session by passkey end too. It is for the operator's command line. Raises NotFound.
    """
    user = accounts.locked(user_id)
    removed = ways_in.end_passkeys(user_id)
    if removed:
        sessions.end_for_removed_passkeys(user_id)
        audit.record(events.USER_PASSKEYS_RESET, by=None, user_id=user_id)
        if server is not None:
            link_mails.queue(LinkPurpose.PASSKEY_REMOVED, user, user.email, server)
    return removed


def _may_change(by: Caller) -> list[str]:
    """The credentials of the caller, who may add and remove some. Raises SignInAgain, PasskeyRequired.

    With REQUIRE_PASSKEY an administrator who has a passkey needs it: otherwise a stolen password could replace it.
    """
    sessions.require_fresh(by)
    held = list(db.session.scalars(select(Passkey.credential_id).where(Passkey.user_id == by.id)))
    if held and permissions.needs_passkey(by):
        raise PasskeyRequired(_("Sign in by a passkey of yours first."))
    return held


def _handle(user_id: int) -> bytes:
    """The id of an account for authenticators."""
    return str(user_id).encode()
