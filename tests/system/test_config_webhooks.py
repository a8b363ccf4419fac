"""The webhook's settings: one endpoint from three variables or a list in JSON; no message repeats a secret."""

import base64
import json

import pytest

import config
from config import ConfigError
from directory.services.delivery.channels import stable_name

SECRET = base64.b64encode(b"s" * 24).decode()


def load(**environ):
    return config.load({"SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e", **environ})


def refusal(**environ):
    """The line that stops the start."""
    with pytest.raises(ConfigError) as caught:
        load(**environ)
    line = str(caught.value.code)
    assert "\n" not in line
    return line


def test_one_endpoint_comes_from_three_settings():
    assert load(WEBHOOK_URL=" https://h.example/x ", WEBHOOK_SECRET=f"{SECRET}, whsec_{SECRET}")[
        "WEBHOOK_ENDPOINTS"
    ] == [
        {
            "name": "",
            "url": "https://h.example/x",
            "format": "standard",
            "events": ["project.approved"],
            "secrets": [SECRET, f"whsec_{SECRET}"],
            "names": True,
        }
    ]
    discord = load(WEBHOOK_URL="https://discord.example/1/token", WEBHOOK_FORMAT="discord")["WEBHOOK_ENDPOINTS"]
    assert [(each["format"], each["secrets"]) for each in discord] == [("discord", [])]


def test_several_endpoints_come_from_a_json_list():
    given = [
        {"url": "https://a.example", "secret": [SECRET, SECRET[::-1].lstrip("=")]},
        {"url": "http://b.example:8080/x?y", "format": "slack", "events": ["project.rejected", "project.deleted"]},
    ]
    first, second = load(WEBHOOK_ENDPOINTS=json.dumps(given), WEBHOOK_URL="https://unused.example")["WEBHOOK_ENDPOINTS"]
    assert (first["format"], first["events"], len(first["secrets"])) == ("standard", ["project.approved"], 2)
    assert (second["url"], second["format"]) == ("http://b.example:8080/x?y", "slack")
    assert second["events"] == ["project.rejected", "project.deleted"]


def test_an_endpoint_may_be_kept_from_learning_who_decided():
    given = [{"url": "https://a.example", "format": "slack"}]
    given.append({"url": "https://b.example", "format": "slack", "names": False})
    assert [each["names"] for each in load(WEBHOOK_ENDPOINTS=json.dumps(given))["WEBHOOK_ENDPOINTS"]] == [True, False]
    for value in ("false", None, 0):
        given[1]["names"] = value
        line = refusal(WEBHOOK_ENDPOINTS=json.dumps(given))
        assert line == "WEBHOOK_ENDPOINTS: an endpoint's names must be true or false"


def test_an_endpoint_may_have_a_name():
    given = [{"name": f"Chat.{'x' * 59}", "url": "https://a.example", "format": "slack"}]
    given.append({"name": "1", "url": "https://b.example", "format": "slack"})
    found = load(WEBHOOK_ENDPOINTS=json.dumps(given))["WEBHOOK_ENDPOINTS"]
    assert [each["name"] for each in found] == [given[0]["name"], "1"]


@pytest.mark.parametrize("name", ["same", stable_name("https://a.example/")])
def test_two_endpoints_of_one_name_stop_the_start(name):
    given = [{"url": f"https://{host}.example/", "format": "slack"} for host in ("a", "b", "c")]
    given[1]["name"] = name
    if name == "same":
        given[2]["name"] = name
    line = refusal(WEBHOOK_ENDPOINTS=json.dumps(given))
    assert line == f"WEBHOOK_ENDPOINTS: two endpoints have the name {name}"


PLANTED = "hunter2"
ENDPOINT = {"url": f"https://h.example/{PLANTED}", "secret": f"whsec_{SECRET}"}


@pytest.mark.parametrize(
    "given",
    [
        PLANTED,
        f'{{"{PLANTED}": 1}}',
        f'["{PLANTED}"]',
        f'[{{"url": "{PLANTED}",]',
        "[" * 100_000,
        *(
            json.dumps([ENDPOINT | change])
            for change in (
                {PLANTED: 1},
                *(
                    {"url": url}
                    for url in (None, PLANTED, f"ftp://{PLANTED}", f"http://[{PLANTED}", f"http://h:{PLANTED}/")
                ),
                *(
                    {"url": url}
                    for url in (f"https://h/ {PLANTED}", f"https://h/\n{PLANTED}", f"https:///{PLANTED}", 1)
                ),
                *(
                    {"secret": secret}
                    for secret in (5, None, {}, [], "", "  ", [""], [PLANTED, 5], f"{PLANTED}!", "whsec_")
                ),
                *(
                    {"name": name}
                    for name in ("", PLANTED + "/", " " + PLANTED, "." + PLANTED, PLANTED * 10, 1, None, [])
                ),
                *({"format": style} for style in (PLANTED, None, [PLANTED], {}, 1, "Standard")),
                *({"events": events} for events in (PLANTED, [], [PLANTED], [[PLANTED]], [{}], [1], None, {})),
            )
        ),
        json.dumps([ENDPOINT, ENDPOINT]),
    ],
    ids=lambda given: given[:60],
)
def test_endpoints_that_make_no_sense_stop_the_start_without_repeating_a_secret(given):
    line = refusal(WEBHOOK_ENDPOINTS=given)
    assert line.startswith("WEBHOOK_ENDPOINTS: ")
    assert PLANTED not in line
    assert SECRET not in line


@pytest.mark.parametrize(
    ("name", "environ"),
    [
        ("WEBHOOK_URL", {"WEBHOOK_URL": f"ftp://{PLANTED}", "WEBHOOK_SECRET": SECRET}),
        ("WEBHOOK_SECRET", {"WEBHOOK_URL": ENDPOINT["url"]}),
        ("WEBHOOK_SECRET", {"WEBHOOK_URL": ENDPOINT["url"], "WEBHOOK_SECRET": f"{PLANTED}!"}),
        ("WEBHOOK_SECRET", {"WEBHOOK_URL": ENDPOINT["url"], "WEBHOOK_SECRET": f"{SECRET},,"}),
        ("WEBHOOK_FORMAT", {"WEBHOOK_URL": ENDPOINT["url"], "WEBHOOK_SECRET": SECRET, "WEBHOOK_FORMAT": "teams"}),
        ("WEBHOOK_FORMAT", {"WEBHOOK_FORMAT": "teams"}),
    ],
)
def test_of_the_three_settings_the_one_that_makes_no_sense_is_named(name, environ):
    line = refusal(**environ)
    assert line.startswith(f"{name}: ")
    assert PLANTED not in line
    assert SECRET not in line


def test_an_endpoint_of_another_scheme_is_refused_for_that_and_not_for_its_missing_secret():
    why = "an endpoint's url must be an http or https address"
    assert refusal(WEBHOOK_ENDPOINTS='[{"url": "ftp://files.example/"}]') == f"WEBHOOK_ENDPOINTS: {why}"
    assert refusal(WEBHOOK_URL="ftp://files.example/") == f"WEBHOOK_URL: {why}"
