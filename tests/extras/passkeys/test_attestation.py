"""The check of CBOR before a general decoder reads it."""

import pytest

from directory.extras.passkeys import attestation
from tests.support.authenticator import cbor

HEAD = bytes(attestation.FLAGS_AT)
COUNTER = bytes(4)
KEY = cbor({1: 2, 3: -7, -1: 1, -2: b"x" * 32, -3: b"y" * 32})


def data(flags: int, rest: bytes) -> bytes:
    return HEAD + bytes([flags]) + COUNTER + rest


def attested(flags: int, rest: bytes) -> bytes:
    return data(flags | attestation.ATTESTED, b"\xff" * 16 + (5).to_bytes(2) + b"named" + rest)


@pytest.mark.parametrize("item", [
    b"\x00", b"\x17", b"\x18\x18", b"\x19\x01\x00", b"\x1a\x00\x01\x00\x00", b"\x1b\x00\x00\x00\x01" + bytes(4),
    b"\x20", b"\x40", b"\x60", b"\x63abc", b"\x80", b"\xa0", b"\xf4", b"\xf5", b"\xf6", KEY,
    cbor({"fmt": "packed", "attStmt": {"alg": -7, "sig": b"s" * 70}, "authData": b"d" * 300}),
    b"\xa1\x63x5c\x82\x41a\x41b", b"\x81\x81\x81\x80", b"\x59\x1f\xfd" + bytes(8189),
])  # fmt: skip
def test_plain_items_pass(item: bytes) -> None:
    attestation.require_item(item)


@pytest.mark.parametrize("item", [
    b"", b"\xc0\x00", b"\xd8\x23\x63abc", b"\xa1\x61x\xd8\x23\x63abc", b"\x81\xc2\x41a", b"\xd9\xd9\xf7\x00",
    b"\x1b" + bytes(8), b"\x18\x17", b"\x19\x00\xff", b"\x58\x05abcde", b"\x1c", b"\x1f", b"\x5f\x41a\xff", b"\x9f\xff",
    b"\xbf\xff", b"\xff", b"\xf7", b"\xf0", b"\xf8\x20", b"\xf9\x00\x00", b"\xfa" + bytes(4), b"\xfb" + bytes(8),
    b"\x42a", b"\x63ab", b"\x19\x01", b"\x82\x00", b"\xa1\x00", b"\xa1", b"\x9b" + b"\xff" * 8, b"\xa1\x80\x00",
    b"\xa1\xa0\x00", b"\xa1\x41a\x00", b"\xa1\xf5\x00", b"\x00\x00", b"\x81\x81\x81\x81\x80", b"\x81" * 5000 + b"\x80",
    b"\x59\x20\x00" + bytes(8192), b"\x59\x1f\xfe" + bytes(8190), b"\x1c" + b"\xff" * 16, b"\x1f" + b"\xff" * 128,
    b"\xd4", b"\xd4\x00",
])  # fmt: skip
def test_all_else_is_refused(item: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        attestation.require_item(item)


@pytest.mark.parametrize("given", [
    b"", data(5, b""), data(5, b"\xc0"), attested(5, KEY), data(0x85, b"\xa1\x63abc\xf5"),
    attested(0x85, KEY + b"\xa0"), attested(5, bytes.fromhex("a301634f4b500327206745643235353139") + b"\x21\x41x"),
])  # fmt: skip
def test_data_of_an_authenticator_passes_with_its_key_and_extensions(given: bytes) -> None:
    attestation.require_authenticator_data(given)


@pytest.mark.parametrize("given", [
    attested(5, b"\xd8\x23\x63abc"), data(0x85, b"\xd8\x23\x63abc"), attested(0x85, KEY + b"\xd8\x23\x63abc"),
    attested(5, b"\xa1\x01\x18\x02" + b"\x00"), attested(5, b"\x42a"), attested(5, b"\x1b" + b"\xff" * 7),
    attested(5, b"\xd4\x00"), bytes(attestation.SIZE_MAX + 1),
])  # fmt: skip
def test_data_with_anything_else_is_refused(given: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        attestation.require_authenticator_data(given)
