"""A real SMTP server on loopback that does at each step what a script tells it, and remembers what it took."""

import asyncio
import ssl
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from directory.services.delivery.channels import MailServer
from directory.services.site import Site

USER, PASSWORD = "directory", "planted mail password"
SENDER = ("Project Directory", "directory@example.net")
SITE = Site("Project Directory", "https://directory.example.net")
STEPS = ("EHLO", "MAIL", "RCPT", "DATA")


@dataclass(frozen=True)
class Taken:
    """One message as it came."""

    sender: str
    to: list[str]
    raw: bytes
    signed_in: bool
    encrypted: bool

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.raw, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def text(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")


Script = Callable[
    [str, int], Any
]  # a step and the number of its message: a reply, a coroutine of one, None for success


class Mailbox:
    """Listens from the start of a `with` to its end. `script` answers a step in place of the server."""

    def __init__(
        self,
        script: Script | dict[str, Any] | None = None,
        *,
        tls: str | None = None,
        starttls: str | None = None,
        auth: bool = False,
    ) -> None:
        self.script = script or {}
        self.taken: list[Taken] = []
        self.asked = dict.fromkeys(STEPS, 0)
        self._tls, self._starttls, self._auth = _context(tls), _context(starttls), auth
        self._loop = asyncio.new_event_loop()
        self._changed = threading.Condition()
        self.ending = asyncio.Event()
        self._sessions: list[SMTP] = []
        self.port = 0

    def __enter__(self) -> Self:
        self._listen(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self.ending.set)
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _listen(self, port: int) -> None:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        opening = self._loop.create_server(self._session, "127.0.0.1", port, ssl=self._tls)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(10)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def hang_up(self) -> None:
        """End the connection of the message that is being handled, as a server does that is killed."""
        for session in self._sessions:
            session.transport.abort()
        await asyncio.sleep(30)

    def _session(self) -> SMTP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about signing in without TLS: on loopback that is meant
            session = SMTP(
                self,
                hostname="mail.example.net",
                tls_context=self._starttls,
                require_starttls=self._starttls is not None,
                auth_required=self._auth,
                auth_require_tls=False,
                authenticator=self._authenticate if self._auth else None,
                loop=self._loop,
            )
        self._sessions.append(session)
        return session

    def _authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
        return AuthResult(success=(given.login, given.password) == (USER.encode(), PASSWORD.encode()), handled=False)

    async def _answer(self, step: str) -> Any:
        self.asked[step] += 1
        answer = self.script.get(step) if isinstance(self.script, dict) else self.script(step, self.asked[step])
        return await answer(self) if callable(answer) else answer

    async def handle_EHLO(self, _server: Any, session: Session, _envelope: Any, name: str, responses: Any) -> Any:  # noqa: N802
        session.host_name = name
        answer = await self._answer("EHLO")
        return [answer] if answer else responses

    async def handle_MAIL(self, _server: Any, _session: Any, envelope: Envelope, address: str, _options: Any) -> Any:  # noqa: N802
        answer = await self._answer("MAIL")
        if answer is None:
            envelope.mail_from = address
        return answer or "250 OK"

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Envelope, address: str, _options: Any) -> Any:  # noqa: N802
        answer = await self._answer("RCPT")
        if answer is None:
            envelope.rcpt_tos.append(address)
        return answer or "250 OK"

    async def handle_DATA(self, _server: Any, session: Session, envelope: Envelope) -> Any:  # noqa: N802
        answer = await self._answer("DATA")
        if answer is None or answer.startswith("2"):
            raw = envelope.content if isinstance(envelope.content, bytes) else b""
            signed_in, encrypted = bool(session.authenticated), session.ssl is not None or self._tls is not None
            with self._changed:
                self.taken.append(Taken(envelope.mail_from or "", list(envelope.rcpt_tos), raw, signed_in, encrypted))
                self._changed.notify_all()
        return answer or "250 taken"

    def wait(self, count: int, seconds: float = 60.0) -> list[Taken]:
        """The messages, once there are so many. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.taken) >= count, seconds):
                raise TimeoutError(f"{len(self.taken)} of {count} messages came")
            return list(self.taken)

    @property
    def url(self) -> str:
        """The MAIL_URL of it."""
        credentials = f"{USER}:{PASSWORD.replace(' ', '%20')}@" if self._auth else ""
        return f"{'smtps' if self._tls else 'smtp'}://{credentials}127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """The settings of an application that sends by it."""
        return {"MAIL_URL": self.url, "MAIL_FROM": f"{SENDER[0]} <{SENDER[1]}>", "SITE_URL": SITE.url}

    def server(self, password: str = PASSWORD, **changes: Any) -> MailServer:
        """It as the service knows it."""
        encryption = "tls" if self._tls else "starttls" if self._starttls else "none"
        credentials = {"user": USER, "password": password} if self._auth else {}
        return server(self.port, **{"encryption": encryption, **credentials, **changes})


async def hang(mailbox: Mailbox) -> None:
    """No answer for as long as the server lives."""
    await mailbox.ending.wait()


def server(port: int, **changes: Any) -> MailServer:
    """A mail server on this machine."""
    facts: dict[str, Any] = {"host_name": "127.0.0.1", "port": port, "encryption": "none", "sender": SENDER}
    facts |= {"user": "", "password": "", "keys": (b"k" * 32,)} | changes
    return MailServer("mail", f"smtp://127.0.0.1:{port}", "mail", frozenset(), SITE, **facts)


def _context(certificate: str | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
