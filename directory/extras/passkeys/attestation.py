"""Checks the CBOR of an authenticator's answer before a general decoder reads it.

A general decoder builds what tags ask for: regular expressions, big numbers, messages. WebAuthn needs maps, arrays,
bytes, texts, integers, true, false and null, each in the shortest form, so all else is refused here.
"""

SIZE_MAX = 8_192  # bytes; an answer with a long credential id and a chain of certificates has some 5,000
DEEPEST = 4  # an attestation with certificates has 3: map, statement, list
UINT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, _TAG, SIMPLE = range(8)
CONSTANTS = (20, 21, 22)  # false, true, null
HEADER, FLAGS_AT, CREDENTIAL_AT = 37, 32, 55  # places in the data of an authenticator
ATTESTED, EXTENDED = 0x40, 0x80


def require_item(data: bytes) -> None:
    """Raise ValueError unless the bytes are one plain item of CBOR, and of a bounded size."""
    _require_short(data)
    if _end(data, 0) != len(data):
        raise ValueError("bytes behind the item")


def require_authenticator_data(data: bytes) -> None:
    """Raise ValueError unless what follows the header and the credential id is plain items of CBOR alone.

    They are the public key and the extensions. They are read as a sequence, because some authenticators count the
    members of their key wrongly, which the library corrects.
    """
    _require_short(data)
    if len(data) <= HEADER or not data[FLAGS_AT] & (ATTESTED | EXTENDED):
        return
    at = HEADER
    if data[FLAGS_AT] & ATTESTED:
        at = CREDENTIAL_AT + int.from_bytes(data[CREDENTIAL_AT - 2 : CREDENTIAL_AT])
    while at < len(data):
        at = _end(data, at)


def _require_short(data: bytes) -> None:
    if len(data) > SIZE_MAX:
        raise ValueError("too long")


def _end(data: bytes, at: int, depth: int = 0) -> int:
    """The place behind the item that begins at a place. Raises ValueError."""
    kind, number, at = _head(data, at)
    if kind in (UINT, NEGATIVE):
        return at
    if kind in (BYTES, TEXT):
        if at + number > len(data):
            raise ValueError("the data ends within an item")
        return at + number
    if kind in (ARRAY, MAP) and depth < DEEPEST:
        for _ in range(number):
            if kind == MAP:
                _require_key(data, at)
                at = _end(data, at, depth + 1)
            at = _end(data, at, depth + 1)
        return at
    if kind == SIMPLE and number in CONSTANTS:
        return at
    raise ValueError("an item that no authenticator needs")


def _require_key(data: bytes, at: int) -> None:
    """Raise ValueError unless the item there can be a key of a map: a number or a text."""
    if _head(data, at)[0] not in (UINT, NEGATIVE, TEXT):
        raise ValueError("a key that is neither a number nor a text")


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """The kind of an item, its number (a value or a length), and the place behind both. Raises ValueError.

    The number has to be in its shortest form: the library finds the end of a key by encoding it again.
    """
    if at >= len(data):
        raise ValueError("the data ends before an item")
    kind, short = data[at] >> 5, data[at] & 31
    if short < 24:
        return kind, short, at + 1
    if short > 27 or kind == SIMPLE:
        raise ValueError("an item without a definite length, or a float")
    size = 1 << (short - 24)
    number = int.from_bytes(data[at + 1 : at + 1 + size])
    if at + 1 + size > len(data) or number < (24 if size == 1 else 1 << (4 * size)):
        raise ValueError("a number that is not in its shortest form")
    return kind, number, at + 1 + size
