"""Which clients accept compressed answers."""

import pytest

from directory.http.client import takes_gzip


@pytest.mark.parametrize(("accepts", "is_taken"), [
    ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("deflate, gzip;q=1.0, *;q=0.5", True), ("*", True),
    ("gzip;q=0.001", True), ("identity;q=0, *", True), ("gzip, identity", True), ("gzip;q=0.5, identity;q=0.4", True),
    ("", False), ("identity", False), ("br", False), ("gzip;q=0", False), ("gzip; q=0.0", False), ("x-gzip", False),
    ("*;q=0", False), ("gzip;q=0, *", False), ("*, gzip;q=0", False), ("identity;q=0", False),
    ("identity;q=0, br", False),
    ("identity, gzip;q=0.5", False), ("*;q=0.8, gzip;q=0.3", False), (",;q=,", False), ("gzip;q=none", False),
])  # fmt: skip
def test_gzip_is_taken_where_the_client_accepts_it_and_prefers_nothing_plain(accepts: str, is_taken: bool) -> None:
    assert takes_gzip(accepts) is is_taken
