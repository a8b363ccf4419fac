"""The only reader of the environment. A value that makes no sense stops the start with one line that names it."""

import os
import secrets
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Set
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from settings import colours, domains, extras, mail, names, providers, site, values, webhooks
from settings.secrets import is_guessable

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent
# A wheel has no setup.cfg: what it stores stays out of its folder of code.
HOME = ROOT if (ROOT / "setup.cfg").is_file() else Path.cwd()
INSTANCE = HOME / "instance"
ENV_FILE = HOME / ".env"

# Settings that hold a secret. NAME_FILE names a file to read one from, as containers and systemd hand secrets over.
SECRETS = (
    "DATABASE_URL", "GITHUB_CLIENT_SECRET", "MAIL_URL", "OIDC_PROVIDERS", "REDIS_URL", "SECRET_KEY",
    "SECRET_KEY_FALLBACKS", "SENTRY_DSN", "WEBHOOK_ENDPOINTS", "WEBHOOK_SECRET", "WEBHOOK_URL",
)  # fmt: skip
SHORTEST_KEY = 32  # characters
LONGEST_SECRET_FILE = 64 * 1024  # bytes

WEBHOOK = frozenset({"WEBHOOK_URL", "WEBHOOK_FORMAT", "WEBHOOK_SECRET"})
MAIL = frozenset({"MAIL_URL", "MAIL_FROM"})
GITHUB = frozenset({"GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET", "GITHUB_BASE_URL"})
TOGETHER = (WEBHOOK, MAIL, GITHUB)  # settings that make sense together, or not at all

RATELIMITS = {
    "RATELIMIT_VOTING": "30 per minute; 300 per hour",
    "RATELIMIT_SUBMISSION": "5 per hour; 20 per day",
    "RATELIMIT_MESSAGES": "20 per hour",
    "RATELIMIT_AUTH": "10 per 5 minutes",
    "RATELIMIT_WRITE": "60 per minute",
    "RATELIMIT_ADMIN": "600 per minute",
    "RATELIMIT_REPORTS": "5 per hour",
    "RATELIMIT_PICTURES": "60 per hour",
    "RATELIMIT_READ": "",
}


EVERY, NOTIFYING = "every command", "commands that may notify somebody"
# What needs a setting besides the server, which needs all: commands by name, or a kind of them. A fault in a setting is
# a warning of a command that does not need it.
NEEDED_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("APP_ENV", "DATABASE_URL", "EXTRAS", "READ_ONLY", "SECRET_KEY", "SECRET_KEY_FALLBACKS"), (EVERY,)),
    **dict.fromkeys(WEBHOOK | MAIL | {"WEBHOOK_ENDPOINTS", "WEBHOOK_WORKER", "REQUIRE_VERIFIED_EMAIL"}, (NOTIFYING,)),
    **dict.fromkeys(("SITE_NAME", "SITE_URL", "SITE_LANGUAGE", "SITE_LANGUAGES", "REPORTS"), (NOTIFYING,)),
    **dict.fromkeys(("AUDIT_RETENTION", "CHANGES_DAYS", "RULE_FACTS_DAYS"), ("tidy", "webhooks work")),
    "ALLOW_INTERNAL_URLS": ("import", "seed"),
    "REVIEWER_NAMES": ("users export",),
    "SIGNUP_DOMAINS": ("users list",),
}


class ConfigError(SystemExit):
    """A setting that makes no sense; as a SystemExit it ends the start with its one line on standard error."""

    def __init__(self, name: str, why: str, *, because: Collection[str] = ()) -> None:
        """`because` names the settings that demand the one that is missing."""
        super().__init__(f"{name}: {why}")
        alone = name.removesuffix("_FILE")
        # Without these the others would do.
        self.left_out = frozenset(because) or next((group for group in TOGETHER if alone in group), frozenset({alone}))


def load(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings from the environment and `.env`, or from `environ` alone, checked. Raises ConfigError."""
    env = _with_secret_files(_environment() if environ is None else environ)
    app_env = _choice(env, "APP_ENV", "development", {"development", "production", "testing"})
    redis_url = _read(env, "REDIS_URL", "", values.redis_url)
    settings: dict[str, Any] = {
        "APP_ENV": app_env,
        "SECRET_KEY": _secret_key(env, production=app_env == "production"),
        "SECRET_KEY_FALLBACKS": _fallbacks(env, production=app_env == "production"),
        "SQLALCHEMY_DATABASE_URI": _read(env, "DATABASE_URL", "", _database_url),
        "PREPARE_DATABASE": _flag(env, "PREPARE_DATABASE", False),
        "REDIS_URL": redis_url,
        "HOST": _read(env, "HOST", "127.0.0.1", values.host),
        "PORT": _whole(env, "PORT", 8000, 1, 65535),
        "THREADS": _whole(env, "THREADS", 8, 1, 256),
        "SERVER_WORKER": _choice(env, "SERVER_WORKER", "loop", {"loop", "gthread"}),
        "WEB_CONCURRENCY": _whole(env, "WEB_CONCURRENCY", 2 if redis_url else 1, 1, 64),
        "RATELIMIT_ENABLED": _flag(env, "RATELIMIT_ENABLED", True),
        "EXTRAS": _read(env, "EXTRAS", "all", extras.choice),
        "CORS_ORIGINS": _read(env, "CORS_ORIGINS", "", values.origins),
        "TRUSTED_PROXIES": _whole(env, "TRUSTED_PROXIES", 0, 0, 10),
        "HSTS_SUBDOMAINS": _flag(env, "HSTS_SUBDOMAINS", True),
        "REGISTRATION_OPEN": _flag(env, "REGISTRATION_OPEN", True),
        "SIGNUP_DOMAINS": _read(env, "SIGNUP_DOMAINS", "", domains.signup),
        "PASSWORDS": _choice(env, "PASSWORDS", "on", {"on", "off"}),
        "SESSION_HOURS": _count(env, "SESSION_HOURS", 8760),
        "ALLOW_INTERNAL_URLS": _flag(env, "ALLOW_INTERNAL_URLS", False),
        "READ_ONLY": _flag(env, "READ_ONLY", False),
        "RESPONSE_CACHE": _flag(env, "RESPONSE_CACHE", True),
        "PUBLIC_MAX_AGE": _count(env, "PUBLIC_MAX_AGE", 86_400),
        "READS": _choice(env, "READS", "public", {"public", "members"}),
        "OPEN_PAGES": _read(env, "OPEN_PAGES", "imprint,privacy,terms", site.page_names),
        "REPORTS": _choice(env, "REPORTS", "off", {"off", "members", "everybody"}),
        "REVIEW_ON_EDIT": _choice(env, "REVIEW_ON_EDIT", "material", {"material", "always", "never"}),
        "SELF_REVIEW": _choice(env, "SELF_REVIEW", "allow", {"allow", "refuse"}),
        "APPROVALS_REQUIRED": _whole(env, "APPROVALS_REQUIRED", 1, 1, 3),
        "CLAIM_MINUTES": _whole(env, "CLAIM_MINUTES", 15, 0, 1440),
        "WEBHOOK_ENDPOINTS": _webhooks(env),
        "WEBHOOK_WORKER": _flag(env, "WEBHOOK_WORKER", True),
        "MAIL": _mail(env),
        "PROVIDERS": _providers(env),
        "REQUIRE_VERIFIED_EMAIL": _choice(env, "REQUIRE_VERIFIED_EMAIL", "none", {"none", "submit", "vote"}),
        "REQUIRE_PASSKEY": _choice(env, "REQUIRE_PASSKEY", "none", {"none", "admins", "reviewers"}),
        "APPEALS": _choice(env, "APPEALS", "off", {"off", "on"}),
        "CHANGES_DAYS": _whole(env, "CHANGES_DAYS", 30, 0, 3650),
        "REVIEWER_NAMES": _choice(env, "REVIEWER_NAMES", "hidden", {"hidden", "shown"}),
        "MEMBER_BYTES_PER_DAY": _whole(env, "MEMBER_BYTES_PER_DAY", 50_000_000, 0, 999_999_999),
        "RULE_FACTS_DAYS": _whole(env, "RULE_FACTS_DAYS", 365, 1, 3650),
        "AUDIT_RETENTION": _count(env, "AUDIT_RETENTION", 36_500),
        "METRICS_ENABLED": _flag(env, "METRICS_ENABLED", False),
        "OTEL_EXPORTER_OTLP_ENDPOINT": _read(env, "OTEL_EXPORTER_OTLP_ENDPOINT", "", extras.otlp_endpoint),
        "SENTRY_DSN": _read(env, "SENTRY_DSN", "", extras.sentry_dsn),
        "WEB_ENABLED": _flag(env, "WEB_ENABLED", True),
        "SITE_NAME": _read(env, "SITE_NAME", "Project Directory", values.site_name),
        "SITE_URL": _read(env, "SITE_URL", "", values.site_url),
        "SITE_LANGUAGE": _read(env, "SITE_LANGUAGE", "en", site.language),
        "SITE_LANGUAGES": _read(env, "SITE_LANGUAGES", "", site.languages),
        "SITE_TAGLINE": _read(env, "SITE_TAGLINE", "", site.tagline),
        "SITE_HEADLINE": _read(env, "SITE_HEADLINE", "", site.tagline),
        "SITE_ACCENT": _read(env, "SITE_ACCENT", "", colours.accent),
        "SITE_LOGO": _read(env, "SITE_LOGO", "", lambda value: site.picture(value, HOME)),
        "SITE_IMAGE": _read(env, "SITE_IMAGE", "", lambda value: site.picture(value, HOME)),
        "SITE_LINKS": _read(env, "SITE_LINKS", "", site.links),
        "SECURITY_CONTACT": _read(env, "SECURITY_CONTACT", "", site.security_contact),
        "SITE_DIR": _read(env, "SITE_DIR", "", lambda value: site.folder(value, HOME / "site")),
        "LOG_LEVEL": _choice(env, "LOG_LEVEL", "INFO", {"DEBUG", "INFO", "WARNING", "ERROR"}),
        "LOG_FORMAT": _choice(env, "LOG_FORMAT", "", {"text", "json"}),
        "LOG_COLOURS": not env.get("NO_COLOR", "").strip(),
    }
    settings |= {name: _read(env, name, default, values.ratelimit) for name, default in RATELIMITS.items()}
    _languages_have_that_of_the_site(settings)
    _one_process_on_memory(settings)
    _shared_caches_count_no_reads(settings)
    _shared_caches_hold_nothing_private(settings)
    _mail_has_its_name_and_links(settings)
    _providers_know_the_way_back(settings)
    _passkeys_have_their_host(settings)
    _accounts_have_a_way_in(settings)
    if app_env == "production":
        _production_has_secrets(settings, env)
        _production_names_its_database(env)
        _production_has_tls(settings)
    return settings


class _Asked(Mapping[str, str]):
    """An environment that notes the names that it is asked for: those are the settings."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.names = {"ENV_FILE", "WEBHOOK_FORMAT", *SECRETS}  # these are not asked for in every case

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def warnings(environ: Mapping[str, str] | None = None) -> list[str]:
    """A line for each thing that the start says about settings that make sense: misspelled names, and what is off."""
    given = _environment() if environ is None else environ
    asked = _Asked(given)
    settings = load(asked)
    found = names.misspelled(given, asked.names)
    if settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        found.append(
            "SITE_URL is not set: passkeys and the sitemap are off, and so are links in webhooks and absolute links"
        )
    return found


def load_for(command: Set[str], environ: Mapping[str, str] | None = None) -> tuple[dict[str, Any], list[str]]:
    """The settings for a command, and a line for each fault in those that it does not need, which are left out.

    `command` has its names and its kinds, as NEEDED_BY has them. Raises ConfigError for a fault in what it needs.
    """
    env = dict(_environment() if environ is None else environ)
    faults: list[str] = []
    while True:
        try:
            return load(env), faults
        except ConfigError as fault:
            left_out = {given for name in fault.left_out for given in (name, f"{name}_FILE")} & env.keys()
            if not (left_out and all(command.isdisjoint(NEEDED_BY.get(name, ())) for name in fault.left_out)):
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
    found = {}
    for name in SECRETS:
        if path := env.get(f"{name}_FILE", "").strip():
            if env.get(name, "").strip():
                raise ConfigError(f"{name}_FILE", f"set either {name} or {name}_FILE, not both")
            found[name] = _secret_file(f"{name}_FILE", Path(path))
    return ChainMap(found, cast(MutableMapping[str, str], env)) if found else env


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


def _read(env: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    """A setting as `parse` makes it of its text; set to nothing it is as if unset. The ValueErrors are our own."""
    try:
        return parse(env.get(name, "").strip() or default)
    except ValueError as error:
        raise ConfigError(name, str(error)) from None


def _choice(env: Mapping[str, str], name: str, default: str, words: set[str]) -> str:
    value = env.get(name, "").strip() or default
    if value not in {default, *words}:
        raise ConfigError(name, f"{value!r} is not one of {', '.join(sorted(words))}")
    return value


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    value = env.get(name, "").strip().lower()
    words = {"": default, "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if value not in words:
        raise ConfigError(name, f"{value!r} is neither true nor false")
    return words[value]


def _whole(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    value = env.get(name, "").strip() or str(default)
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
        raise ConfigError(name, f"{value!r} is not a whole number from {least} to {most}")
    return int(value)


def _count(env: Mapping[str, str], name: str, most: int) -> int | None:
    return _whole(env, name, 1, 1, most) if env.get(name, "").strip() else None


def _secret_key(env: Mapping[str, str], *, production: bool) -> str:
    key = env.get("SECRET_KEY", "").strip()
    if production and len(key) < SHORTEST_KEY:
        raise ConfigError("SECRET_KEY", f"set at least {SHORTEST_KEY} random characters when APP_ENV=production")
    return key or _development_key()


def _fallbacks(env: Mapping[str, str], *, production: bool) -> list[str]:
    """More keys whose signatures are accepted: the previous one, or the next one, during a rotation."""
    keys = [key.strip() for key in env.get("SECRET_KEY_FALLBACKS", "").split(",") if key.strip()]
    if production and any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigError("SECRET_KEY_FALLBACKS", f"each key needs at least {SHORTEST_KEY} characters")
    return keys


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


def _webhooks(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Endpoints from WEBHOOK_ENDPOINTS, or the one of WEBHOOK_URL, each complete and checked."""
    if env.get("WEBHOOK_ENDPOINTS", "").strip():
        return _read(env, "WEBHOOK_ENDPOINTS", "", webhooks.endpoints)
    if not any(env.get(name, "").strip() for name in ("WEBHOOK_URL", "WEBHOOK_FORMAT")):
        return []
    style = _read(env, "WEBHOOK_FORMAT", "standard", webhooks.format_name)
    if not env.get("WEBHOOK_URL", "").strip():
        return []
    url = _read(env, "WEBHOOK_URL", "", webhooks.address)
    secret = _read(
        env, "WEBHOOK_SECRET", "", lambda value: webhooks.signing_secrets(value.split(",") if value else [], style)
    )
    return [
        {
            "name": "",
            "url": url,
            "format": style,
            "events": list(webhooks.DEFAULT_EVENTS),
            "secrets": secret,
            "names": True,
        }
    ]


def _mail(env: Mapping[str, str]) -> dict[str, Any] | None:
    """The mail server with the sender; None if no mail is sent."""
    server, sender = _read(env, "MAIL_URL", "", mail.server), _read(env, "MAIL_FROM", "", mail.sender)
    if server is None:
        return None
    if sender is None:
        raise ConfigError("MAIL_FROM", "set the address that mail comes from, as MAIL_URL is set")
    return {**server, "sender": sender}


def _providers(env: Mapping[str, str]) -> list[Mapping[str, str]]:
    """The providers by which one signs in, GitHub the last."""
    found: list[Mapping[str, str]] = [*_read(env, "OIDC_PROVIDERS", "", providers.openid)]
    client_id = _read(env, "GITHUB_CLIENT_ID", "", lambda value: value and providers.credential(value))
    secret = _read(env, "GITHUB_CLIENT_SECRET", "", lambda value: value and providers.credential(value))
    address = _read(env, "GITHUB_BASE_URL", providers.GITHUB_URL, providers.github_url)
    if client_id or secret:
        if not (client_id and secret):
            name = "GITHUB_CLIENT_SECRET" if client_id else "GITHUB_CLIENT_ID"
            raise ConfigError(name, "set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, or neither")
        found.append(providers.github(client_id, secret, address))
        for member in ("name", "issuer"):
            if any(one[member] == found[-1][member] for one in found[:-1]):
                raise ConfigError("OIDC_PROVIDERS", f"no provider has the {member} of GitHub: GITHUB_CLIENT_ID is set")
    return found


def _database_url(value: str) -> str:
    return values.database_url(value) if value else f"sqlite:///{_default_file()}"


def _default_file() -> Path:
    try:
        INSTANCE.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"is not set, and {INSTANCE} cannot be made: {error.strerror}") from None
    return INSTANCE / "directory.db"


def _production_has_secrets(settings: dict[str, Any], env: Mapping[str, str]) -> None:
    """Refuse secrets that anybody would guess. The line names the setting and not the secret."""
    webhook = "WEBHOOK_ENDPOINTS" if env.get("WEBHOOK_ENDPOINTS", "").strip() else "WEBHOOK_SECRET"
    named = [("SECRET_KEY", settings["SECRET_KEY"])]
    named += [("SECRET_KEY_FALLBACKS", key) for key in settings["SECRET_KEY_FALLBACKS"]]
    named += [(webhook, secret) for endpoint in settings["WEBHOOK_ENDPOINTS"] for secret in endpoint["secrets"]]
    for provider in settings["PROVIDERS"]:
        name = "GITHUB_CLIENT_SECRET" if "api" in provider else "OIDC_PROVIDERS"
        named.append((name, provider["client_secret"]))
    for name, secret in named:
        if is_guessable(secret):
            raise ConfigError(
                name, "is a placeholder, or a few characters repeated: use random characters in production"
            )


def _production_names_its_database(env: Mapping[str, str]) -> None:
    """A server without DATABASE_URL would begin with an empty file, and look as if all data were lost."""
    if not env.get("DATABASE_URL", "").strip():
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
    """The site's language is the only one, unless others are named, and then it is one of them."""
    languages = settings["SITE_LANGUAGES"] = settings["SITE_LANGUAGES"] or (settings["SITE_LANGUAGE"],)
    if settings["SITE_LANGUAGE"] not in languages:
        why = f"{settings['SITE_LANGUAGE']} is not among SITE_LANGUAGES: {', '.join(languages)}"
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
            "SITE_URL", "set the public address of the site, as MAIL_URL is set: mail has links to it", because=MAIL
        )
    settings["MAIL"]["site_url"] = settings["SITE_URL"] or f"http://{settings['HOST']}:{settings['PORT']}"


def _providers_know_the_way_back(settings: dict[str, Any]) -> None:
    """A provider sends browsers back to an address that is registered with it, not to one from a Host header."""
    if settings["PROVIDERS"] and settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        name = "GITHUB_CLIENT_ID" if all("api" in one for one in settings["PROVIDERS"]) else "OIDC_PROVIDERS"
        why = f"set the public address of the site, as {name} is set: providers send browsers back to it"
        raise ConfigError("SITE_URL", why, because={"OIDC_PROVIDERS", *GITHUB})


def _passkeys_have_their_host(settings: dict[str, Any]) -> None:
    """Passkeys are bound to the host of the site, so in production they need SITE_URL."""
    if settings["REQUIRE_PASSKEY"] != "none" and settings["APP_ENV"] == "production" and not settings["SITE_URL"]:
        why = "set the public address of the site, as REQUIRE_PASSKEY is set: passkeys are bound to it"
        raise ConfigError("SITE_URL", why, because={"REQUIRE_PASSKEY"})


def _accounts_have_a_way_in(settings: dict[str, Any]) -> None:
    """Refuse what would leave nobody a way to open an account, or to sign in."""
    if settings["PROVIDERS"]:
        return
    if settings["SIGNUP_DOMAINS"] and settings["MAIL"] is None:
        why = "set MAIL_URL or a provider: without either no address can be confirmed, and no account opened"
        raise ConfigError("SIGNUP_DOMAINS", why)
    has_passkeys = bool(settings["SITE_URL"]) or settings["APP_ENV"] != "production"
    if settings["PASSWORDS"] == "off" and not has_passkeys:
        raise ConfigError("PASSWORDS", "set a provider, or SITE_URL for passkeys: without either nobody can sign in")
