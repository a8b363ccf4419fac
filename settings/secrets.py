"""Secrets that anybody would guess: placeholders of examples, and one character or word repeated."""

import base64
import binascii
import re

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
DIGITS = "01234567890123456789"
WEBHOOK_PREFIX = "whsec_"


def is_guessable(secret: str) -> bool:
    """Whether a secret is a placeholder, a row of digits, or one character or placeholder repeated.

    A secret of webhooks is also checked in its base64-decoded form.
    """
    return any(map(_is_guessable, (secret, *_decoded(secret))))


def _is_guessable(text: str) -> bool:
    plain = re.sub(r"[\W_]", "", text.lower())
    if len(set(plain)) <= 1:
        return True
    units = {plain, _unit(plain), _unit(plain.rstrip("0123456789") or plain)}
    return any(unit in PLACEHOLDERS or unit in DIGITS or unit in DIGITS[::-1] for unit in units)


def _unit(text: str) -> str:
    """The shortest text of which this one is a repetition."""
    length = (text + text).index(text, 1)
    return text[:length]


def _decoded(secret: str) -> list[str]:
    try:
        return [base64.b64decode(secret.removeprefix(WEBHOOK_PREFIX), validate=True).decode("ascii")]
    except (binascii.Error, ValueError):
        return []
