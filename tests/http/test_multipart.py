"""Reading multipart/form-data: whole and in its order, or refused."""

import pytest

from directory.http import multipart

TYPE = "multipart/form-data; boundary=x"


def part(name, content, filename=None):
    more = "" if filename is None else f'; filename="{filename}"\r\nContent-Type: image/png'
    head = f'--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def test_fields_and_files_are_read_in_their_order():
    body = part("b", b"1\r\n2") + part("logo", b"\x89PNG\r\n\0", "a.png") + part("a", "ü".encode()) + b"--x--\r\n"
    content = multipart.decode(body, TYPE)
    assert content.fields == [("b", "1\r\n2"), ("a", "ü")]
    assert content.files == {"logo": b"\x89PNG\r\n\0"}


def test_a_field_without_a_chosen_file_has_none():
    assert multipart.decode(part("logo", b"", "") + b"--x--\r\n", TYPE).files == {}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (part("a", b"1"), TYPE), (part("a", b"1") + b"--y--\r\n", TYPE), (b"nothing", TYPE),
        (part("a", b"1", "a.png") + part("a", b"2", "b.png") + b"--x--\r\n", TYPE),
        (part("a", b"\xff") + b"--x--\r\n", TYPE), (part("a", b"1") + b"--x--\r\n", "multipart/form-data"),
        (part("a", b"1") + b"--x--\r\n", f"multipart/form-data; boundary={'x' * 300}"),
        (part("a", b"1") + b"--x--\r\n", "multipart/form-data; boundary=ü"),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--\r\n", TYPE),
        (b'--x\r\nContent-Disposition: form-data; filename="a.png"\r\n\r\n1\r\n--x--\r\n', TYPE),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(body, content_type):
    with pytest.raises(ValueError):
        multipart.decode(body, content_type)


def test_the_head_of_a_part_has_a_limit():
    assert multipart.decode(part("a", b"1", "n" * 8_000) + b"--x--\r\n", TYPE).files == {"a": b"1"}
    with pytest.raises(ValueError, match="too long"):
        multipart.decode(part("a", b"1", "n" * multipart.HEAD_MAX) + b"--x--\r\n", TYPE)


def test_more_parts_than_allowed_are_refused():
    body = b"".join(part(f"a{number}", b"1") for number in range(multipart.PARTS_MAX + 1)) + b"--x--\r\n"
    with pytest.raises(Exception, match="exceeds the capacity"):
        multipart.decode(body, TYPE)
