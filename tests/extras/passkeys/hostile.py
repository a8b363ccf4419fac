"""A member who sends passkeys that are made to be costly."""

import http.client
from typing import Any

from tests.extras.passkeys.test_passkeys import COSTLY, KEYS, with_member
from tests.support.authenticator import Authenticator
from tests.support.factories import PASSWORD
from tests.system.chaos.load import Answer, Step, call
from tests.system.chaos.stage import Stage

ACCOUNT = {"username": "hostile", "email": "hostile@example.org", "password": PASSWORD}


def registrar(at: Stage) -> Step:
    """Adds passkeys that a general decoder would take seconds for."""
    assert at.service is not None
    port, cookie = at.service.port, _signed_in(at)

    def step() -> Answer:
        asked = _by_cookie(port, cookie, f"{KEYS}/options", None)
        if asked.status != 200:
            return asked
        credential = Authenticator(f"http://127.0.0.1:{port}").create(asked.json)
        return _by_cookie(port, cookie, KEYS, {"credential": with_member(credential, COSTLY)})

    return step


def _signed_in(at: Stage) -> str:
    """The cookie of a new member's session."""
    assert at.service is not None
    assert at.ask("POST", "/api/auth/register", body=ACCOUNT).status == 201
    connection = http.client.HTTPConnection("127.0.0.1", at.service.port, timeout=30)
    sent = b'{"login": "hostile", "password": "%s"}' % PASSWORD.encode()
    connection.request("POST", "/api/auth/login", sent, {"Content-Type": "application/json"})
    cookie = connection.getresponse().headers["Set-Cookie"].partition(";")[0]
    connection.close()
    return cookie


def _by_cookie(port: int, cookie: str, path: str, body: Any) -> Answer:
    return call(port, "POST", path, None, body, {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
