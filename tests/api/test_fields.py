"""The values that fields of bodies and headers accept, in the cases that are easily wrong."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError

from directory.api.schemas.accounts import Email
from directory.api.schemas.review import DecisionsInput
from directory.http import fields as http_fields
from directory.services.clock import timestamp

TAKEN = ["a@b.cd", "A.b+c@Sub.Example.ORG", "o'neill@a-b.example", "1@1.1", "a@xn--bcher-kva.example"]
REFUSED = [
    "a",
    "a@b",
    "@b.cd",
    "a@.cd",
    "a@b.",
    ".a@b.cd",
    "a.@b.cd",
    "a..b@c.de",
    "a@-.de",
    "a@b-.de",
    "a@b..cd",
    "a@b.cd@e.fg",
    "é@b.cd",
    "K@b.cd",
    '"a"@b.cd',
    "a@[::1]",
]


@pytest.mark.parametrize("address", [*TAKEN, "x" * 64 + "@example.org"])
def test_an_email_address_is_kept_in_lower_case(address):
    assert Email().deserialize(address) == address.lower()


@pytest.mark.parametrize(
    "address",
    [*REFUSED, "a b@c.de", "a@b.cd\n", "x" * 65 + "@example.org", "a@" + "b" * 64 + ".cd", "a@" + "b.c" * 100, 7, None],
)
def test_what_is_no_email_address_is_refused(address):
    with pytest.raises(ValidationError):
        Email().deserialize(address)


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("User@Exämple.DE", "user@xn--exmple-cua.de"),
        ("user@exa\u0308mple.de", "user@xn--exmple-cua.de"),
        (" user@XN--EXMPLE-CUA.de ", "user@xn--exmple-cua.de"),
        ("user@例え。テスト", "user@xn--r8jz45g.xn--zckzah"),
        ("user@straße.example", "user@xn--strae-oqa.example"),
    ],
)
def test_a_domain_outside_of_ascii_is_stored_as_its_a_labels(typed, stored):
    assert Email().deserialize(typed) == stored


@pytest.mark.parametrize(
    "address", ["ü@exämple.de", "a@ä..de", "a@-ä.de", "a@ä b.de", "a@" + "ä" * 64 + ".de", "a@ä\u200b", "a@ä", "@ä.de"]
)
def test_what_has_no_form_in_ascii_is_refused(address):
    with pytest.raises(ValidationError):
        Email().deserialize(address)


def test_a_whole_number_may_be_written_with_a_point():
    body = {"decision": "approve", "ids": [7.0, 8]}
    assert DecisionsInput().load(body)["ids"] == [7, 8]


@pytest.mark.parametrize("number", [7.5, "7", True, None, 0, -1, 2**63, 1e300, [7]])
def test_what_is_no_id_is_refused(number):
    with pytest.raises(ValidationError) as error:
        DecisionsInput().load({"decision": "approve", "ids": [number]})
    assert error.value.messages.keys() == {"ids"}


@pytest.mark.parametrize("tag", ['""', 'W/""', '"" , "x"', "x", ",", '"9999999999999999999999-a"', '"-"'])
def test_an_if_match_that_names_no_version_lets_nothing_through(world, tag):
    owner = world.user()
    project_id = world.project(owner)
    answer = world.caller(owner).delete(f"/api/projects/{project_id}", headers={"If-Match": tag})
    assert (answer.status_code, answer.json["code"]) == (412, "precondition_failed")
    assert world.row(project_id) is not None


@given(st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("UTC")])), st.booleans())
def test_an_instant_is_written_with_microseconds_also_where_they_are_none(instant, whole):
    instant = instant.replace(microsecond=0) if whole else instant
    assert timestamp(instant) == f"{instant.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


@pytest.mark.parametrize(("path", "name"), [
    ("/api/admin/categories", "slug"), ("/api/projects", "tags"), ("/api/projects", "url"),
    ("/api/projects", "repository_url"), ("/api/auth/login", "login"), ("/api/auth/register", "username"),
])  # fmt: skip
def test_the_length_of_a_text_is_checked_before_anything_else(world, monkeypatch, path, name):
    looked: list[str] = []
    for module, function in ((http_fields, "without_invisible"), (http_fields, "check_url")):
        monkeypatch.setattr(module, function, looked.append)
    long = "\U0001f3f4\U000e0067" * 2_500
    admin = world.caller(world.admin())
    answer = admin.post(path, {name: [long] if name == "tags" else long})
    place = f"#/{name}/0" if name == "tags" else f"#/{name}"
    assert place in [error["pointer"] for error in answer.json["errors"]]
    assert looked == []
