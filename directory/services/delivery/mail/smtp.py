"""One try over SMTP: bounded in time and bytes whatever the server does, encrypted as configured, silent on secrets."""

import re
import smtplib
import socket
import ssl
from base64 import b64encode
from typing import Any

from directory.services.delivery.channels import MailServer
from directory.services.delivery.leases import RECIPIENT_REFUSED, Outcome
from directory.services.delivery.mail.messages import Message
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.delivery.wire import Wire, excerpt, reason, until_deadline

REPLIES_MAX = 64 * 1024  # bytes of all replies of an exchange
FAULTS: dict[type[BaseException], str] = {smtplib.SMTPServerDisconnected: "connection closed without an answer"}


def send(message: Message, server: MailServer, policy: DeliveryPolicy) -> Outcome:
    """Hand a message in, once. Whatever goes wrong is in the outcome; its status is the reply code of the server."""
    exchange = _Exchange(message, server, policy)
    milliseconds, ended = until_deadline(exchange.run, exchange.wire, "mail-exchange", policy)
    return exchange.outcome(milliseconds, ended=ended)


# Permanent refusals that no later try changes. Extended codes (RFC 3463): of the recipient's address (but for X.1.0,
# X.1.7 and X.1.8, which mail servers also use for the sender's), a mailbox that is disabled, a message that is too
# long, and its contents. A full mailbox may be emptied, and policies, relaying and protocols are for operators to
# correct.
FINAL = re.compile(r"5\.(1\.([1-46]|10)|2\.[13]|3\.4|6\.[0-9]+)\b")
EXTENDED = re.compile(r"[245]\.[0-9]{1,3}\.[0-9]{1,3}\b")
# Without an extended code (RFC 5321, RFC 7504): no such mailbox, or a domain without mail. 550 also refuses to relay.
FINAL_CODES, RELAYING = {550, 551, 553, 556}, re.compile("relay", re.IGNORECASE)
# Refusals, for now or for good, of the recipient's address (4.1.2: its domain cannot be found) or mailbox: they say
# nothing about the server. Without an extended code 450 is a mailbox that is not available.
OF_RECIPIENT = re.compile(r"[45]\.(1\.([1-6]|9|10)|2\.[0-9]+)\b")
CODES_OF_RECIPIENT = {450, *FINAL_CODES}


def _is_final(code: int, reply: bytes) -> bool:
    """Whether a reply to the recipient or to the message refuses it for good."""
    text = reply.decode("ascii", "replace").lstrip()
    if EXTENDED.match(text):
        return code // 100 == 5 and FINAL.match(text) is not None
    return code in FINAL_CODES and RELAYING.search(text) is None


def _is_of_recipient(code: int, reply: bytes) -> bool:
    """Whether a reply to the recipient or to the message says something about the recipient, not about the server."""
    text = reply.decode("ascii", "replace").lstrip()
    if EXTENDED.match(text):
        return OF_RECIPIENT.match(text) is not None
    return code in CODES_OF_RECIPIENT and RELAYING.search(text) is None


class _NoReply(Exception):
    """There is no reply to report; the words say why."""


class _Replies:
    """The lines of a server, up to a bound: a reply may have any number of them."""

    def __init__(self, connection: socket.socket) -> None:
        self._file, self._left = connection.makefile("rb"), REPLIES_MAX

    def readline(self, most: int) -> bytes:
        """The next line. Raises OSError beyond the bound."""
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise OSError("too long")
        return line

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Client(smtplib.SMTP):
    """The library's client over a wire that can be cut, with bounded replies."""

    def __init__(self, server: MailServer, wire: Wire, policy: DeliveryPolicy) -> None:
        # The name to greet with: the library would ask name servers for one.
        super().__init__(timeout=policy.deadline, local_hostname=server.sender[1].rpartition("@")[2])
        self._server, self._wire, self._policy = server, wire, policy
        self._host = server.host_name  # whose certificate STARTTLS verifies

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection = self._wire.admit(socket.create_connection((host, port), self._policy.connect))
        connection.settimeout(timeout)
        if self._server.encryption != "tls":
            return connection
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)

    def getreply(self) -> tuple[int, bytes]:
        """The next reply of the server. Raises SMTPServerDisconnected, _NoReply."""
        if self.file is None:
            self.file: Any = _Replies(self.sock)  # type: ignore[arg-type]
        try:
            code, reply = super().getreply()
        except smtplib.SMTPResponseException as error:  # the library's own, for a line that is too long
            raise _NoReply("the answer is not SMTP") from error
        if not 200 <= code <= 599:
            raise _NoReply("the answer is not SMTP")
        return code, reply


class _Exchange:
    """The message of one try, and the server's replies to it."""

    def __init__(self, message: Message, server: MailServer, policy: DeliveryPolicy) -> None:
        self.wire = Wire()
        self._message, self._server, self._policy = message, server, policy
        self._code: int | None = None
        self._reply = b""
        self._is_addressed = False  # whether a reply is to the recipient or to the message
        self._error: str | None = None

    def run(self) -> None:
        """Hand the message in, and remember the reply that decides."""
        client = _Client(self._server, self.wire, self._policy)
        try:
            self._code, self._reply = self._hand_in(client)
            client.putcmd("QUIT")  # its reply does not matter
        except _NoReply as error:
            self._error = str(error)
        except smtplib.SMTPResponseException as refused:
            reply = refused.smtp_error
            self._code, self._reply = refused.smtp_code, reply.encode() if isinstance(reply, str) else reply
        except Exception as error:
            self._error = reason(error, self._policy, FAULTS)
        finally:
            client.close()
            self.wire.close()

    def outcome(self, milliseconds: int, *, ended: bool) -> Outcome:
        """How it went. The reply after the content decides, even where the connection is cut after it."""
        if self._code is not None:
            is_final = self._is_addressed and _is_final(self._code, self._reply)
            is_of_recipient = self._is_addressed and _is_of_recipient(self._code, self._reply)
            error = RECIPIENT_REFUSED if is_of_recipient else None
            return Outcome(self._code, error, milliseconds, self._excerpt(), is_final=is_final)
        if not ended or self.wire.was_cut:
            return Outcome(None, f"no answer within {self._policy.deadline:g} s", milliseconds)
        return Outcome(None, self._error, milliseconds)

    def _hand_in(self, client: _Client) -> tuple[int, bytes]:
        server = self._server
        _require(*client.connect(server.host_name, server.port))
        client.ehlo_or_helo_if_needed()
        if server.encryption == "starttls":
            if not client.has_extn("starttls"):
                raise _NoReply("the server offers no encryption (STARTTLS)")
            client.starttls(context=ssl.create_default_context())
            client.ehlo_or_helo_if_needed()
        if server.user:
            if not client.has_extn("auth"):
                raise _NoReply("the server offers no sign-in (AUTH)")
            client.login(server.user, server.password)
        _require(*client.mail(server.sender[1]))
        self._is_addressed = True
        _require(*client.rcpt(self._message.to))
        return _require(*client.data(self._message.content.as_bytes()))

    def _excerpt(self) -> str:
        user, password = self._server.user, self._server.password
        signed_in = (password, *(b64encode(text.encode()).decode() for text in (password, f"\0{user}\0{password}")))
        # The address as well: the stored excerpt outlives the account, and must contain ids alone.
        hidden = {self._message.to, *self._message.secrets, *(signed_in if password else ())}
        return excerpt(self._reply, hidden)


def _require(code: int, reply: bytes) -> tuple[int, bytes]:
    """The reply, if the server goes along. Raises SMTPResponseException."""
    if code // 100 != 2:
        raise smtplib.SMTPResponseException(code, reply)
    return code, reply
