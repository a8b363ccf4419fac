"""The only reader of the environment. A value that makes no sense stops the start with one line that names it."""

import os
import secrets
from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping, Set
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from settings import HOME, ConfigError, Setting, declared, extras, mail, names, webhooks
from settings.secrets import require_random

T = TypeVar("T")
INSTANCE = HOME / "instance"
ENV_FILE = HOME / ".env"
SETTINGS = (*declared.SETTINGS, *extras.SETTINGS)
DECLARED = {setting.name: setting for setting in SETTINGS}
SECRETS = tuple(setting.name for setting in SETTINGS if setting.is_secret)
SHORTEST_KEY = 32  # characters
LONGEST_SECRET_FILE = 64 * 1024  # bytes


def load(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings from the environment and `.env`, or from `environ` alone, checked. Raises ConfigError."""
    env = _with_secret_files(_environment() if environ is None else environ)
    read = {setting.name: _read(env, setting) for setting in SETTINGS}
    settings: dict[str, Any] = {name: read[name] for name, setting in DECLARED.items() if setting.value == name}
    settings |= {
        "SECRET_KEY": _secret_key(read),
        "SQLALCHEMY_DATABASE_URI": read["DATABASE_URL"] or f"sqlite:///{_default_file()}",
        "WEB_CONCURRENCY": read["WEB_CONCURRENCY"] or (2 if read["REDIS_URL"] else 1),
        "SITE_LANGUAGES": read["SITE_LANGUAGES"] or (read["SITE_LANGUAGE"],),
        "WEBHOOK_ENDPOINTS": _webhooks(read),
        "MAIL": _mail(read),
        "LOG_COLOURS": not read["NO_COLOR"],
        **extras.together(read),
    }
    _languages_have_that_of_the_site(settings)
    _one_process_on_memory(settings)
    _shared_caches_count_no_reads(settings)
    _shared_caches_hold_nothing_private(settings)
    _mail_has_its_name_and_links(settings)
    _passkeys_have_their_host(settings)
    _accounts_have_a_way_in(settings)
    if settings["APP_ENV"] == "production":
        _production_has_secrets(settings, read)
        _production_names_its_database(read)
        _production_has_tls(settings)
    return settings


def warnings(environ: Mapping[str, str] | None = None) -> list[str]:
    """A line for each thing that the start says about settings that make sense: misspelled names, and what is off."""
    given = _environment() if environ is None else environ
    settings = load(given)
    lines = names.misspelled(given, {*DECLARED, *(f"{name}_FILE" for name in SECRETS)})
    if settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        lines.append(
            "SITE_URL is not set: passkeys and the sitemap are off, and so are links in webhooks and absolute links"
        )
    return lines


def load_for(command: Set[str], environ: Mapping[str, str] | None = None) -> tuple[dict[str, Any], list[str]]:
    """The settings for a command, and a line for each fault in those that it does not need, which are left out.

    `command` has its names and its kinds, as declarations have them. Raises ConfigError for a fault in what it needs.
    """
    env = dict(_environment() if environ is None else environ)
    faults: list[str] = []
    while True:
        try:
            return load(env), faults
        except ConfigError as fault:
            without = fault.because or _together(fault.name.removesuffix("_FILE"))
            left_out = {given for name in without for given in (name, f"{name}_FILE")} & env.keys()
            if not (left_out and all(command.isdisjoint(DECLARED[name].needed_by) for name in without)):
                raise
            env = {name: value for name, value in env.items() if name not in left_out}
            faults.append(str(fault))


def _environment() -> Mapping[str, str]:
    """Return the environment, and what it leaves out from `.env` or from the file that ENV_FILE names.

    FLASK_SKIP_DOTENV skips `.env`, as it has Flask do.
    """
    named = os.environ.get("ENV_FILE", "").strip()
    if not named and (os.environ.get("FLASK_SKIP_DOTENV") or not ENV_FILE.is_file()):
        return os.environ
    from dotenv import dotenv_values  # most have no such file

    try:
        with open(named or ENV_FILE, encoding="utf-8") as file:  # dotenv takes a missing file for an empty one
            given = dotenv_values(stream=file)
    except (OSError, ValueError) as error:
        raise ConfigError("ENV_FILE" if named else ".env", f"cannot be read: {error}") from None
    return {**{name: value for name, value in given.items() if value is not None}, **os.environ}


def _with_secret_files(env: Mapping[str, str]) -> Mapping[str, str]:
    """Add the secrets that NAME_FILE settings name files for. No message repeats what a file contains."""
    secrets_read = {}
    for name in SECRETS:
        if path := env.get(f"{name}_FILE", "").strip():
            if env.get(name, "").strip():
                raise ConfigError(f"{name}_FILE", f"set either {name} or {name}_FILE, not both")
            secrets_read[name] = _secret_file(f"{name}_FILE", Path(path))
    return ChainMap(secrets_read, cast(MutableMapping[str, str], env)) if secrets_read else env


def _secret_file(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_SECRET_FILE + 1)
        text = content.decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(name, f"{str(path)!r} cannot be read: {why}") from None
    if len(content) > LONGEST_SECRET_FILE:
        raise ConfigError(name, f"{str(path)!r} is larger than {LONGEST_SECRET_FILE // 1024} KiB")
    return text.removesuffix("\n").removesuffix("\r")


def _read(env: Mapping[str, str], setting: Setting) -> Any:
    """The value of a setting; set to nothing it is as if unset."""
    return _parsed(setting.name, setting.parse, env.get(setting.name, "").strip() or setting.default)


def _parsed(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:  # our own, whose words are for the operator
        raise ConfigError(name, str(error)) from None


def _together(name: str) -> frozenset[str]:
    """The names of the settings that make sense with the one of this name, or not at all."""
    value = DECLARED[name].value if name in DECLARED else ""
    return frozenset({name, *(setting.name for setting in SETTINGS if setting.value == value)})


def _secret_key(read: Mapping[str, Any]) -> str:
    """The key that signs. In production it and the other keys that are accepted have a length."""
    key: str = read["SECRET_KEY"]
    if read["APP_ENV"] == "production":
        if len(key) < SHORTEST_KEY:
            raise ConfigError("SECRET_KEY", f"set at least {SHORTEST_KEY} random characters when APP_ENV=production")
        if any(len(other) < SHORTEST_KEY for other in read["SECRET_KEY_FALLBACKS"]):
            raise ConfigError("SECRET_KEY_FALLBACKS", f"each key needs at least {SHORTEST_KEY} characters")
    return key or _development_key()


def _development_key() -> str:
    """A key that is generated once and stored, so that its signatures stay valid after a restart."""
    path = INSTANCE / "secret_key"
    try:
        if not path.exists() or not path.stat().st_size:
            INSTANCE.mkdir(exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.touch(0o600)
            draft.write_text(secrets.token_hex(32))
            draft.replace(path)  # whole or not at all: a process that starts at the same time never reads a part of it
        return path.read_text().strip()
    except OSError as error:
        raise ConfigError("SECRET_KEY", f"is not set, and none can be stored in {path}: {error.strerror}") from None


def _webhooks(read: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Endpoints from WEBHOOK_ENDPOINTS, or the one of WEBHOOK_URL, each complete and checked."""
    if read["WEBHOOK_ENDPOINTS"] is not None:
        listed: list[dict[str, Any]] = read["WEBHOOK_ENDPOINTS"]
        return listed
    if not read["WEBHOOK_URL"] and read["WEBHOOK_FORMAT"] == DECLARED["WEBHOOK_FORMAT"].default:
        return []
    style = _parsed("WEBHOOK_FORMAT", webhooks.format_name, read["WEBHOOK_FORMAT"])
    if not read["WEBHOOK_URL"]:
        return []
    url = _parsed("WEBHOOK_URL", webhooks.address, read["WEBHOOK_URL"])
    given: list[str] = read["WEBHOOK_SECRET"].split(",") if read["WEBHOOK_SECRET"] else []
    secrets = _parsed("WEBHOOK_SECRET", lambda _: webhooks.signing_secrets(given, style), "")
    events = list(webhooks.DEFAULT_EVENTS)
    return [{"name": "", "url": url, "format": style, "events": events, "secrets": secrets, "names": True}]


def _mail(read: Mapping[str, Any]) -> dict[str, Any] | None:
    """The mail server with the sender; None if no mail is sent."""
    server, sender = read["MAIL_URL"], read["MAIL_FROM"]
    if server is None:
        return None
    if sender is None:
        raise ConfigError("MAIL_FROM", "set the address that mail comes from, as MAIL_URL is set")
    return {**server, "sender": sender}


def _default_file() -> Path:
    try:
        INSTANCE.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError("DATABASE_URL", f"is not set, and {INSTANCE} cannot be made: {error.strerror}") from None
    return INSTANCE / "directory.db"


def _production_has_secrets(settings: dict[str, Any], read: Mapping[str, Any]) -> None:
    """Raise ConfigError for a secret that anybody would guess."""
    webhook = "WEBHOOK_SECRET" if read["WEBHOOK_ENDPOINTS"] is None else "WEBHOOK_ENDPOINTS"
    named = [("SECRET_KEY", settings["SECRET_KEY"])]
    named += [("SECRET_KEY_FALLBACKS", key) for key in settings["SECRET_KEY_FALLBACKS"]]
    named += [(webhook, secret) for endpoint in settings["WEBHOOK_ENDPOINTS"] for secret in endpoint["secrets"]]
    for name, secret in named:
        require_random(name, secret)


def _production_names_its_database(read: Mapping[str, Any]) -> None:
    """A server without DATABASE_URL would begin with an empty file, and look as if all data were lost."""
    if read["DATABASE_URL"] is None:
        why = (
            "set it when APP_ENV=production, as sqlite:////path/to/file or postgresql+psycopg://user:password@host/name"
        )
        raise ConfigError("DATABASE_URL", why)


def _production_has_tls(settings: dict[str, Any]) -> None:
    """Browsers drop the session cookie, which is Secure in production, at an http address other than this machine."""
    address = urlsplit(settings["SITE_URL"])
    if address.scheme == "http" and not mail.is_loopback(str(address.hostname)):
        why = "use an https address when APP_ENV=production: at an http address browsers drop the session cookie"
        raise ConfigError("SITE_URL", why)


def _languages_have_that_of_the_site(settings: dict[str, Any]) -> None:
    """The site's language is one of those that readers choose from."""
    if settings["SITE_LANGUAGE"] not in settings["SITE_LANGUAGES"]:
        why = f"{settings['SITE_LANGUAGE']} is not among SITE_LANGUAGES: {', '.join(settings['SITE_LANGUAGES'])}"
        raise ConfigError("SITE_LANGUAGE", why)


def _one_process_on_memory(settings: dict[str, Any]) -> None:
    """Limits in memory count per process: n processes would allow n times as much."""
    if settings["WEB_CONCURRENCY"] > 1 and not settings["REDIS_URL"] and settings["RATELIMIT_ENABLED"]:
        why = "several processes need REDIS_URL, because rate limits in memory hold for one process only"
        raise ConfigError("WEB_CONCURRENCY", why)


def _shared_caches_count_no_reads(settings: dict[str, Any]) -> None:
    """A cache would give one caller's RateLimit to others, and the reads that it answers would not be counted."""
    if settings["PUBLIC_MAX_AGE"] is not None and settings["RATELIMIT_READ"] and settings["RATELIMIT_ENABLED"]:
        why = "leave it out where RATELIMIT_READ is set: a CDN would repeat what one caller has left to all others"
        raise ConfigError("PUBLIC_MAX_AGE", why)


def _shared_caches_hold_nothing_private(settings: dict[str, Any]) -> None:
    """A CDN would give anybody what one member has read."""
    if settings["PUBLIC_MAX_AGE"] is not None and settings["READS"] == "members":
        why = "leave it out where READS=members: a CDN would give to anybody what a member has read"
        raise ConfigError("PUBLIC_MAX_AGE", why)


def _mail_has_its_name_and_links(settings: dict[str, Any]) -> None:
    """Mail has links to the site. Never by the Host header of a request: a forged one would send a member's to another.

    Without SITE_URL they name the address that the server listens on, which is of use during development alone.
    """
    if any(endpoint["name"] == mail.NAME for endpoint in settings["WEBHOOK_ENDPOINTS"]):
        raise ConfigError("WEBHOOK_ENDPOINTS", f"no endpoint can be called {mail.NAME}, as the mail server is")
    if settings["MAIL"] is None:
        if settings["REQUIRE_VERIFIED_EMAIL"] != "none":
            raise ConfigError("REQUIRE_VERIFIED_EMAIL", "set MAIL_URL: without mail no address can be confirmed")
        return
    if settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        raise ConfigError(
            "SITE_URL",
            "set the public address of the site, as MAIL_URL is set: mail has links to it",
            because=_together("MAIL_URL"),
        )
    settings["MAIL"]["site_url"] = settings["SITE_URL"] or f"http://{settings['HOST']}:{settings['PORT']}"


def _passkeys_have_their_host(settings: dict[str, Any]) -> None:
    """Passkeys are an extra, and bound to the host of the site, so in production they need SITE_URL."""
    if settings["REQUIRE_PASSKEY"] != "none" and not extras.is_on(settings["EXTRAS"], "passkeys"):
        raise ConfigError("EXTRAS", "leave passkeys on, as REQUIRE_PASSKEY is set", because={"REQUIRE_PASSKEY"})
    if settings["REQUIRE_PASSKEY"] != "none" and settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        why = "set the public address of the site, as REQUIRE_PASSKEY is set: passkeys are bound to it"
        raise ConfigError("SITE_URL", why, because={"REQUIRE_PASSKEY"})


def _accounts_have_a_way_in(settings: dict[str, Any]) -> None:
    """Refuse what would leave nobody a way to open an account, or to sign in."""
    if settings.get("PROVIDERS"):  # an extra makes them
        return
    if settings["SIGNUP_DOMAINS"] and settings["MAIL"] is None:
        why = "set MAIL_URL or a provider: without either no address can be confirmed, and no account opened"
        raise ConfigError("SIGNUP_DOMAINS", why)
    if settings["PASSWORDS"] == "on":
        return
    if not extras.is_on(settings["EXTRAS"], "passkeys"):
        raise ConfigError("PASSWORDS", "set a provider, or leave passkeys on: without either nobody can sign in")
    if not settings["SITE_URL"] and settings["APP_ENV"] == "production":
        raise ConfigError("PASSWORDS", "set a provider, or SITE_URL for passkeys: without either nobody can sign in")
