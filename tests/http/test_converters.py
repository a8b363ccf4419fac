"""Which paths there are: ids and slugs that cannot be lead nowhere, on every method."""

import re
from random import Random

import pytest

from directory.http.converters import IdConverter
from directory.models.base import HIGHEST_ID
from tests.support.factories import Api

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


def test_an_id_is_a_positive_number_of_63_bits():
    chance = Random(1)
    near = [HIGHEST_ID + chance.randrange(-(10**digits), 10**digits) for digits in range(1, 19) for _ in range(50)]
    for number in (0, 1, 9, 10, HIGHEST_ID - 1, HIGHEST_ID, HIGHEST_ID + 1, 2**64, *near):
        assert bool(re.fullmatch(IdConverter.regex, str(number))) == (1 <= number <= HIGHEST_ID), number


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["0", "01", "-1", "+1", "1.0", "x", str(HIGHEST_ID + 1), "9" * 19, "9" * 4000])
def test_an_id_that_cannot_be_leads_nowhere_on_any_method(api, method, text):
    for path in (f"/api/projects/{text}", f"/api/projects/{text}/upvote"):
        assert api.call(method, path).status_code == 404


@pytest.mark.parametrize(("method", "status"), [("GET", 404), ("PUT", 401), ("PATCH", 405)])
def test_the_highest_id_is_one(api, method, status):
    assert api.call(method, f"/api/projects/{HIGHEST_ID}").status_code == status


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("slug", ["a" * 51, "A", "a--b", "-a", "a-", "a_b"])
def test_a_slug_that_cannot_be_leads_nowhere_on_any_method(world, method, slug):
    admin = world.caller(world.admin())
    assert admin.call(method, f"/api/admin/categories/{slug}").status_code == 404


@pytest.mark.parametrize("offer", ["websocket", "WebSocket", "h2c", "TLS/1.2, HTTP/2.0"])
@pytest.mark.parametrize("path", ["/", "/healthz", "/api/projects", "/api/auth/me", "/nothing"])
def test_an_offer_of_another_protocol_changes_no_answer(api, path, offer):
    usual = api.get(path).status_code
    for connection in ("Upgrade", "keep-alive, upgrade"):
        assert api.get(path, headers={"Connection": connection, "Upgrade": offer}).status_code == usual


@pytest.mark.parametrize("scheme", ["ws", "WSS"])
def test_nor_does_it_where_a_proxy_names_the_scheme_of_the_offer(make_app, scheme):
    behind = Api(make_app(TRUSTED_PROXIES=1))
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "X-Forwarded-Proto": scheme}
    for path in ("/", "/api/projects", "/api/auth/me"):
        usual = behind.get(path, headers={"X-Forwarded-Proto": "https"}).status_code
        assert behind.get(path, headers=headers).status_code == usual


def test_the_longest_slug_is_one(world):
    admin = world.caller(world.admin())
    assert admin.call("PATCH", f"/api/admin/categories/{'a' * 50}").status_code == 405
