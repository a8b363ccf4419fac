"""A browser: it sends its session cookie, and with each request the site that it comes from."""

from typing import Any

from flask import Flask

from tests.support.factories import PASSWORD, Methods

COOKIE = "__Host-directory"


class Browser(Methods):
    """One browser at the service's own pages. Each call is a request of its own."""

    def __init__(self, app: Flask, cookie: str | None = None) -> None:
        self.client = app.test_client()
        if cookie is not None:
            self.client.set_cookie(COOKIE, cookie)

    @property
    def cookie(self) -> str | None:
        """The session cookie's value."""
        found = self.client.get_cookie(COOKIE)
        return found.value if found else None

    def call(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        headers = {"Sec-Fetch-Site": "same-origin", **options.pop("headers", {})}
        if json is not None:
            options["json"] = json
        return self.client.open(path, method=method, headers=headers, **options)

    def sign_in(self, login: str, password: str = PASSWORD) -> "Browser":
        """Sign in, which must succeed."""
        answer = self.post("/api/auth/login", {"login": login, "password": password})
        assert answer.status_code == 200, answer.json
        return self

    def copy(self, app: Flask) -> "Browser":
        """A browser with a copy of this one's cookie."""
        return Browser(app, self.cookie)

    def signed_in(self) -> bool:
        """Whether the service takes this browser for signed in."""
        return bool(self.get("/api/auth/me").status_code == 200)
