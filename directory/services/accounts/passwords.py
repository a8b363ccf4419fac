"""Password hashing by Argon2id, and which passwords are refused.

Hashing takes tens of milliseconds and may wait for its turn: call it outside any database transaction.
"""

import os
import sys
import unicodedata
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from directory.db.slots import given_back
from directory.language.messages import _

MIN_LENGTH = 8
MAX_LENGTH = 128

# A password with more code points than this is refused before it is normalised, which could take quadratic time for a
# long run of combining marks. NFC joins at most four code points into one, so it is too long in NFC, too.
_MAX_RAW_LENGTH = 4 * MAX_LENGTH
_COMMON_PASSWORDS = Path(__file__).resolve().parents[2] / "data" / "common_passwords.txt"

AT_ONCE = 2  # every hash holds its own block of memory and a core: unbounded, a burst of logins takes the machine
_NICENESS = 5  # no more: where others keep all processors busy, a login still has to end within its time
_NICENESS_MAX = 19  # Linux knows no lower priority


def _give_way() -> None:
    """Let others have the processor before this thread, for the rest of its life: only root could undo it."""
    if sys.platform == "linux":  # elsewhere a priority is the whole process's
        with suppress(OSError):  # it may be forbidden
            own = os.getpriority(os.PRIO_PROCESS, 0)  # of this thread, as it was inherited
            os.setpriority(os.PRIO_PROCESS, 0, min(own + _NICENESS, _NICENESS_MAX))


_hashers = ThreadPoolExecutor(AT_ONCE, "hasher", _give_way)


@dataclass(frozen=True)
class _Scheme:
    """The hasher in use, and a hash of the same cost that no known password matches."""

    hasher: PasswordHasher
    decoy: str


def _scheme(memory_kib: int, time_cost: int, parallelism: int) -> _Scheme:
    hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=parallelism)
    # Random bytes in a hash's place: verifying costs the same, and making it costs nothing, so that
    # not even the first unknown user takes longer.
    salt, digest = _unpadded(os.urandom(hasher.salt_len)), _unpadded(os.urandom(hasher.hash_len))
    return _Scheme(hasher, f"$argon2id$v=19$m={memory_kib},t={time_cost},p={parallelism}${salt}${digest}")


def _unpadded(raw: bytes) -> str:
    return b64encode(raw).decode("ascii").rstrip("=")


def configure(memory_kib: int, time_cost: int, parallelism: int) -> None:
    """Set the cost of hashes from now on: memory in KiB, passes, parallelism. The tests lower it."""
    global _current
    _current = _scheme(memory_kib, time_cost, parallelism)


# OWASP's Password Storage Cheat Sheet: Argon2id with 19 MiB, two passes, parallelism of one.
_current = _scheme(memory_kib=19 * 1024, time_cost=2, parallelism=1)


def hash_password(password: str) -> str:
    """The hash to store; ValueError if too long or not valid Unicode. Not within a database transaction."""
    secret = _secret(password)
    if secret is None:
        raise ValueError("A password is at most 128 characters of valid Unicode; check the rules first.")
    scheme = _current
    with given_back():
        return _hashers.submit(scheme.hasher.hash, secret).result()


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password is the stored one; None, for an unknown user, takes as long as a wrong password.

    Not within a database transaction. A malformed hash matches nothing.
    """
    secret = _secret(password)
    if secret is None:
        return False
    scheme = _current
    matches = _matches(scheme.hasher, scheme.decoy if stored is None else stored, secret)
    return matches and stored is not None


def _matches(hasher: PasswordHasher, stored: str, secret: bytes) -> bool:
    try:
        with given_back():
            return _hashers.submit(hasher.verify, stored, secret).result()
    except (Argon2Error, InvalidHashError, UnicodeEncodeError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether the hash was made with other parameters than today's, or is unreadable."""
    try:
        return _current.hasher.check_needs_rehash(stored)
    except InvalidHashError:
        return True


TOO_LONG = _("Use at most {number} characters.", number=MAX_LENGTH)


def check_password_rules(password: str, *, username: str = "", email: str = "") -> str | None:
    """Why the password is refused, as a sentence for the user, or None if it is fine."""
    if len(password) > _MAX_RAW_LENGTH:
        return TOO_LONG
    if not _encodable(password):
        return _("Use valid Unicode characters only.")
    length, folded = len(unicodedata.normalize("NFC", password)), _folded(password)
    refusals = {
        _("Use at least {number} characters.", number=MIN_LENGTH): length < MIN_LENGTH,
        TOO_LONG: length > MAX_LENGTH,
        _("The password must not be the username."): folded == _folded(username),
        _("The password must not be the e-mail address."): folded == _folded(email),
        _("This password is among the most common ones; choose another."): folded in _common(),
    }
    return next((refusal for refusal, applies in refusals.items() if applies), None)


@cache
def _common() -> frozenset[str]:
    return frozenset(map(_folded, _COMMON_PASSWORDS.read_text(encoding="utf-8").splitlines()))


def _folded(text: str) -> str:
    # Folding can undo the normal form, and is itself defined on normalised text, so NFC comes before and after it.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _secret(password: str) -> bytes | None:
    """The bytes that are hashed: NFC in UTF-8, so that one password typed on two keyboards is the same."""
    if len(password) > _MAX_RAW_LENGTH or not _encodable(password):
        return None
    normal = unicodedata.normalize("NFC", password)
    return normal.encode("utf-8") if len(normal) <= MAX_LENGTH else None


def _encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text: lone surrogates cannot be encoded."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
