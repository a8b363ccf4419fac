"""Decodes the multipart/form-data of an HTML form, which browsers send where a form has a file."""

from dataclasses import dataclass, field

from werkzeug.datastructures import Headers
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from directory.language.messages import _

PARTS_MAX = 30
HEAD_MAX = 8_192  # bytes before the content of a part, where the name of its field and of its file are


class _Decoder(MultipartDecoder):
    def _parse_headers(self, data: bytes | bytearray) -> Headers:
        # Of a head as large as the body Werkzeug's parser takes two seconds.
        if len(data) > HEAD_MAX:
            raise ValueError(_("The head of a part is too long."))
        return super()._parse_headers(data)


@dataclass(slots=True)
class FormContent:
    """What a form contains: its fields in their order, and the files that were chosen, by the names of their fields."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)


def decode(data: bytes, content_type: str) -> FormContent:
    """The content of a body. Raises ValueError if it cannot be read."""
    boundary = parse_options_header(content_type)[1].get("boundary", "")
    if not boundary or len(boundary) > 200:
        raise ValueError(_("The boundary is missing."))
    decoder = _Decoder(boundary.encode("ascii"), len(data), max_parts=PARTS_MAX)
    decoder.receive_data(data)
    decoder.receive_data(None)
    content, parts = FormContent(), _parts(decoder)
    for head, body in parts:
        if isinstance(head, Field):
            content.fields.append((head.name, body.decode("utf-8")))
        elif head.filename or body:  # a field without a chosen file has an empty one without a name
            if head.name in content.files:
                raise ValueError(_("A field has two files."))
            content.files[head.name] = body
    return content


def _parts(decoder: MultipartDecoder) -> list[tuple[Field | File, bytes]]:
    parts: list[tuple[Field | File, bytearray]] = []
    while not isinstance(event := decoder.next_event(), Epilogue):
        if isinstance(event, NeedData):
            raise ValueError(_("The body ends before its last boundary."))
        if isinstance(event, Field | File):
            if event.name is None:
                raise ValueError(_("A part has no name."))
            parts.append((event, bytearray()))
        elif isinstance(event, Data):
            parts[-1][1].extend(event.data)
    return [(head, bytes(body)) for head, body in parts]
