"""Secrets that anybody would guess: placeholders of examples, and one character or word repeated."""

import base64
import binascii
import re

from settings import ConfigError

# As examples, tutorials and lists of passwords have them, in lower case and without anything but letters and digits.
PLACEHOLDERS = frozenset(
    {
        "abc", "abcd", "abcdef", "abcdefgh", "abc123", "admin", "administrator", "bar", "baz", "changeit", "changeme",
        "changethis", "default", "demo", "dev", "development", "django", "djangoinsecure", "dummy", "example", "flask",
        "foo", "foobar", "foobarbaz", "fixme", "hunter2", "insecure", "insertsecrethere", "key", "letmein", "mykey",
        "mysecret", "mysecretkey", "none", "null", "password", "passw0rd", "placeholder", "pleasechangeme",
        "pleasechange", "private", "production", "qwerty", "replace", "replaceme", "replacethis", "root", "sample",
        "secret", "secretkey", "secretsecret", "string", "supersecret", "supersecretkey", "test", "testing", "todo",
        "topsecret", "undefined", "unsafe", "verysecret", "webhooksecret", "whsec", "xxx", "yoursecret",
        "yoursecrethere", "yoursecretkey", "yoursecretkeyhere", "yourwebhooksecret",
    }
)  # fmt: skip
ROWS = ("01234567890123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm")
SHORTEST_UNIT = 9  # characters; anybody would guess what repeats fewer of them three times
WEBHOOK_PREFIX = "whsec_"


def require_random(name: str, secret: str) -> None:
    """Raise ConfigError, which names the setting and not the secret, if anybody would guess the secret."""
    if is_guessable(secret):
        raise ConfigError(name, "is a placeholder, or a few characters repeated: use random characters in production")


def is_guessable(secret: str) -> bool:
    """Whether a secret is a placeholder, a row of digits or letters, or a placeholder or a few characters repeated.

    A secret of webhooks is also checked without its prefix, and in its base64-decoded form.
    """
    plain = secret.removeprefix(WEBHOOK_PREFIX)
    return any(map(_is_guessable, (secret, plain, *_decoded(plain))))


def _is_guessable(text: str) -> bool:
    plain = re.sub(r"[\W_]", "", text.lower())
    if len(set(plain)) <= 1:
        return True
    units = {plain, _unit(plain), _unit(plain.rstrip("0123456789") or plain)}
    if len(_unit(plain)) < SHORTEST_UNIT and len(plain) >= 3 * len(_unit(plain)):
        return True
    return any(unit in PLACEHOLDERS or any(unit in row or unit in row[::-1] for row in ROWS) for unit in units)


def _unit(text: str) -> str:
    """The shortest text of which this one is a repetition."""
    length = (text + text).index(text, 1)
    return text[:length]


def _decoded(secret: str) -> list[str]:
    """The bytes of a secret in base64, each as a character."""
    try:
        return [base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True).decode("latin-1")]
    except (binascii.Error, ValueError):
        return []
