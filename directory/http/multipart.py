"""Decodes the multipart/form-data of an HTML form, which browsers send where a form has a file."""

from dataclasses import dataclass, field

from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

PARTS_MAX = 30


@dataclass(slots=True)
class FormContent:
    """What a form contains: its fields in their order, and the files that were chosen, by the names of their fields."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)


def decode(data: bytes, content_type: str) -> FormContent:
    """The content of a body. Raises ValueError if it cannot be read."""
    boundary = parse_options_header(content_type)[1].get("boundary", "")
    if not boundary or len(boundary) > 200:
        raise ValueError("The boundary is missing.")
    decoder = MultipartDecoder(boundary.encode("ascii"), len(data), max_parts=PARTS_MAX)
    decoder.receive_data(data)
    decoder.receive_data(None)
    content, parts = FormContent(), _parts(decoder)
    for head, body in parts:
        if isinstance(head, Field):
            content.fields.append((head.name, body.decode("utf-8")))
        elif head.filename or body:  # a field without a chosen file has an empty one without a name
            content.files[head.name] = body
    return content


def _parts(decoder: MultipartDecoder) -> list[tuple[Field | File, bytes]]:
    found: list[tuple[Field | File, bytearray]] = []
    while not isinstance(event := decoder.next_event(), Epilogue):
        if isinstance(event, NeedData):
            raise ValueError("The body ends before its last boundary.")
        if isinstance(event, Field | File):
            found.append((event, bytearray()))
        elif isinstance(event, Data):
            found[-1][1].extend(event.data)
    return [(head, bytes(body)) for head, body in found]
