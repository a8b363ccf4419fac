"""A provider on loopback that signs people in, speaks OpenID Connect and GitHub's OAuth, and lies as it is told."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT_ID, CLIENT_SECRET = "directory", "planted client secret"
Reply = tuple[int, bytes]


@cache
def key(kid: str) -> ECKey:
    """A key of the provider, made once."""
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig", "alg": "ES256"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_GET(self) -> None:
        self.server.owner.answer(self, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self.server.owner.answer(self, {name: values[0] for name, values in parse_qs(body).items()})

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: "LyingProvider"

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is nothing to print."""


class LyingProvider:
    """Listens from the start of a `with` to its end.

    `person` is who signs in, `claims` replaces claims of the next id_tokens (None removes one), `metadata` adds to what
    is published, `sign` makes a token of a header and claims, and `script` answers a path in place of the provider.
    """

    def __init__(self) -> None:
        self.person: dict[str, Any] = {"sub": "248289761001", "email": "ada@example.org", "email_verified": True}
        self.person |= {"preferred_username": "Ada"}
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.userinfo: dict[str, Any] | None = None
        self.emails: Any = [{"email": "ada@example.org", "primary": True, "verified": True}]
        self.kids = ["first"]
        self.sign: Callable[[dict[str, Any], dict[str, Any]], str] = self.signed
        self.script: dict[str, Callable[[Handler], None]] = {}
        self.asked: list[str] = []
        self.ending = threading.Event()
        self._codes: dict[str, dict[str, Any]] = {}
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()

    def settings(self, name: str = "company", **changes: str) -> dict[str, str]:
        """It as a member of OIDC_PROVIDERS."""
        given = {"name": name, "label": "Example Inc.", "issuer": self.issuer}
        return {**given, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **changes}

    @property
    def environment(self) -> dict[str, str]:
        """The settings of an application that signs in by it."""
        return {"OIDC_PROVIDERS": json.dumps([self.settings()])}

    def authorize(self, location: str) -> dict[str, str]:
        """Sign the person in who was sent to `location`: the parameters with which the browser goes back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        code = f"code-{self._server.server_port}-{len(self._codes)}"
        self._codes[code] = {**asked, "person": self.person}
        return {"code": code, "state": asked["state"]}

    def signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """A token as it should be."""
        return jwt.encode(header, claims, key(header["kid"]), algorithms=["ES256"])

    def answer(self, handler: Handler, form: dict[str, str]) -> None:
        path = urlsplit(handler.path).path
        self.asked.append(path)
        if path in self.script:
            self.script[path](handler)
            return
        known: dict[str, Callable[[Handler, dict[str, str]], Reply]] = {
            "/.well-known/openid-configuration": lambda *_: (200, self._published()),
            "/jwks": lambda *_: (200, _json({"keys": [key(kid).as_dict(private=False) for kid in self.kids]})),
            "/token": self._token,
            "/userinfo": lambda *_: (200, _json(self.userinfo)),
            "/login/oauth/access_token": lambda _, form: (200, _json(self._exchanged(form) or {"error": "bad_code"})),
            "/api/v3/user": lambda *_: (200, _json({"id": 583231, "login": "Ada", **self.claims})),
            "/api/v3/user/emails": lambda *_: (200, _json(self.emails)),
        }
        handler.reply(*known[path](handler, form))

    def _published(self) -> bytes:
        places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        if self.userinfo is not None:
            places["userinfo_endpoint"] = "/userinfo"
        found = {"issuer": self.issuer, **{name: f"{self.issuer}{path}" for name, path in places.items()}}
        return _json({**found, "id_token_signing_alg_values_supported": ["ES256"], **self.metadata})

    def _exchanged(self, form: dict[str, str]) -> dict[str, Any] | None:
        """The tokens for a code that is good; it is good once, and with its verifier."""
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or (asked["code_challenge"], asked["code_challenge_method"]) != (challenge, "S256"):
            return None
        if asked["redirect_uri"] != form["redirect_uri"]:
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        claims = {**claims, **asked["person"], **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        return {
            "access_token": "planted access token".replace(" ", "-"),
            "token_type": "Bearer",
            "id_token": self.sign({"alg": "ES256", "kid": self.kids[-1]}, claims),
        }

    def _token(self, handler: Handler, form: dict[str, str]) -> Reply:
        basic = "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        by_form = (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
        if handler.headers.get("Authorization") != basic and not by_form:
            return 401, _json({"error": "invalid_client"})
        found = self._exchanged(form)
        return (200, _json(found)) if found else (400, _json({"error": "invalid_grant"}))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def walk(browser: Any, provider: LyingProvider, name: str = "company", **query: str) -> Any:
    """Sign in by a provider: the answer to the browser that comes back."""
    went = browser.get(f"/api/auth/providers/{name}?{urlencode(query)}")
    assert went.status_code == 302, went.json
    return back(browser, provider.authorize(went.headers["Location"]), name)


def back(browser: Any, parameters: dict[str, str], name: str = "company", **options: Any) -> Any:
    """A browser that comes back from a provider."""
    return browser.get(f"/api/auth/providers/{name}/callback?{urlencode(parameters)}", **options)
