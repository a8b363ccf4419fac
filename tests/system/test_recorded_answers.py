"""The record of the answers that tests get, and its comparison."""

import json
from pathlib import Path

import pytest

from tests.support.answers import Answer, differences, main


def line(status: str, body: bytes, *headers: str) -> str:
    return str(Answer("GET /x", status, headers, [body]))


def test_times_ids_and_tokens_do_not_differ() -> None:
    one = line("200 OK", b'{"at":"2026-01-02T03:04:05.678Z"}', f"X-Request-ID: {'ab' * 16}", "Content-Length: 33")
    other = line("200 OK", b'{"at":"2027-01-02T03:04:05.6Z"}', "Content-Length: 31", f"X-Request-ID: {'cd' * 16}")
    assert one == other


@pytest.mark.parametrize(
    "other",
    [
        line("201 CREATED", b"{}", "A: b"),
        line("200 OK", b"[]", "A: b"),
        line("200 OK", b"{}", "A: c"),
        line("200 OK", b"{}", "A: b", "Content-Length: 3"),
    ],
)
def test_a_status_a_header_a_body_and_a_wrong_length_differ(other: str) -> None:
    assert [*differences({"test": [line("200 OK", b"{}", "A: b")]}, {"test": [other]})]


def test_answers_at_the_same_time_may_come_in_another_order() -> None:
    assert not [*differences({"test": ["a", "b"]}, {"test": ["b", "a"]})]


def test_the_comparison_prints_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "before", tmp_path / "after"
    for record, status, alone in zip(records, ("200", "500"), ("old", "new"), strict=True):
        tests = [{"test": "same", "answers": ["x"]}, {"test": "t", "answers": [status]}, {"test": alone, "answers": []}]
        record.write_text("\n".join(map(json.dumps, tests)))
    before, after = map(str, records)
    assert main(before, after) == 1
    printed = capsys.readouterr().out
    assert "-200\n+500" in printed
    assert f"only in {before}: old\nonly in {after}: new\n" in printed
    assert main(before, before) == 0
