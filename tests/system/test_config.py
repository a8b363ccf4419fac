"""Each setting: its default, good values, and nonsense, which stops the start with one line that names it."""

import json
import os
import stat
import subprocess
import sys

import pytest

import config
from config import ConfigError
from settings import ROOT, extras, values
from settings.site import Picture

SVG = ROOT / "directory" / "assets" / "favicon.svg"
KEY = "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e"
RATELIMITS = [each.name for each in config.SETTINGS if each.parse is values.ratelimit]


@pytest.fixture
def instance(tmp_path, monkeypatch):
    """An empty folder in the place of instance/."""
    monkeypatch.setattr(config, "INSTANCE", tmp_path / "instance")
    return tmp_path / "instance"


def load(**environ):
    return config.load({"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db", **environ})


def refusal(**environ):
    """The line that stops the start."""
    with pytest.raises(ConfigError) as caught:
        load(**environ)
    line = str(caught.value.code)
    assert "\n" not in line
    return line


def test_everything_has_a_default_that_works(instance):
    of_core = config.load({"EXTRAS": "none"}).keys() - {setting.value for setting in extras.SETTINGS}
    settings = {name: value for name, value in config.load({}).items() if name in of_core}
    assert settings.pop("SECRET_KEY")
    assert settings == {
        "APP_ENV": "development",
        "SECRET_KEY_FALLBACKS": [],
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{instance / 'directory.db'}",
        "REDIS_URL": "",
        "HOST": "127.0.0.1",
        "PORT": 8000,
        "THREADS": 8,
        "SERVER_WORKER": "loop",
        "WEB_CONCURRENCY": 1,
        "RATELIMIT_ENABLED": True,
        "EXTRAS": "all",
        "RATELIMIT_VOTING": "30 per minute; 300 per hour",
        "RATELIMIT_SUBMISSION": "5 per hour; 20 per day",
        "RATELIMIT_MESSAGES": "20 per hour",
        "RATELIMIT_AUTH": "10 per 5 minutes",
        "RATELIMIT_WRITE": "60 per minute",
        "RATELIMIT_ADMIN": "600 per minute",
        "RATELIMIT_PICTURES": "60 per hour",
        "RATELIMIT_READ": "",
        "CORS_ORIGINS": (),
        "TRUSTED_PROXIES": 0,
        "HSTS_SUBDOMAINS": True,
        "REGISTRATION_OPEN": True,
        "SIGNUP_DOMAINS": (),
        "PASSWORDS": "on",
        "SESSION_HOURS": None,
        "PREPARE_DATABASE": False,
        "ALLOW_INTERNAL_URLS": False,
        "READ_ONLY": False,
        "RESPONSE_CACHE": True,
        "PUBLIC_MAX_AGE": None,
        "READS": "public",
        "OPEN_PAGES": {"imprint", "privacy", "terms"},
        "REVIEW_ON_EDIT": "material",
        "CHANGES_DAYS": 30,
        "MEMBER_BYTES_PER_DAY": 50_000_000,
        "REVIEWER_NAMES": "hidden",
        "SELF_REVIEW": "allow",
        "APPROVALS_REQUIRED": 1,
        "WEBHOOK_ENDPOINTS": [],
        "WEBHOOK_WORKER": True,
        "MAIL": None,
        "REQUIRE_VERIFIED_EMAIL": "none",
        "REQUIRE_PASSKEY": "none",
        "AUDIT_RETENTION": None,
        "RULE_FACTS_DAYS": 365,
        "METRICS_ENABLED": False,
        "WEB_ENABLED": True,
        "SITE_NAME": "Project Directory",
        "SITE_URL": "",
        "SITE_LANGUAGE": "en",
        "SITE_LANGUAGES": ("en",),
        "SITE_TAGLINE": "",
        "SITE_ACCENT": {},
        "SITE_LOGO": None,
        "SITE_IMAGE": None,
        "SITE_LINKS": (),
        "SITE_DIR": "",
        "SITE_HEADLINE": "",
        "SECURITY_CONTACT": "",
        "LOG_LEVEL": "INFO",
        "LOG_FORMAT": "",
        "LOG_COLOURS": True,
    }


def test_a_setting_that_is_set_to_nothing_is_as_if_unset(instance):
    assert config.load(dict.fromkeys(config.DECLARED, "  ")) == config.load({})


GOOD = [
    ("APP_ENV", " production ", "production"),
    ("REDIS_URL", "redis://localhost:6379/0", "redis://localhost:6379/0"),
    ("REDIS_URL", "rediss://:pass@redis.example", "rediss://:pass@redis.example"),
    ("REDIS_URL", "unix:///run/redis.sock", "unix:///run/redis.sock"),
    *(
        ("REDIS_URL", v, v)
        for v in (
            "redis+sentinel://a:26379/directory",
            "redis+sentinel://:pass@a:26379,10.0.0.2:26380,[::1]:26379/my-master",
        )
    ),
    ("HOST", "::1", "::1"),
    ("PORT", "80", 80),
    ("THREADS", "256", 256),
    ("WEBHOOK_WORKER", "false", False),
    ("RATELIMIT_ENABLED", "No", False),
    ("RATELIMIT_VOTING", "1/second", "1/second"),
    ("RATELIMIT_READ", "100 per 2 minutes, 5 per day", "100 per 2 minutes, 5 per day"),
    ("CORS_ORIGINS", "https://a.example, HTTP://Localhost:5173 ,", ("https://a.example", "http://localhost:5173")),
    ("CORS_ORIGINS", "https://a.example/,http://b.example:81/", ("https://a.example", "http://b.example:81")),
    ("CORS_ORIGINS", "http://[::1]:80801"[:-1], ("http://[::1]:8080",)),
    ("TRUSTED_PROXIES", "2", 2),
    ("REGISTRATION_OPEN", "0", False),
    pytest.param("PASSWORDS", "off", "off", marks=pytest.mark.extra("passkeys")),
    ("SESSION_HOURS", "8", 8),
    ("PREPARE_DATABASE", "true", True),
    ("READ_ONLY", "1", True),
    ("RESPONSE_CACHE", "no", False),
    ("READS", "members", "members"),
    ("OPEN_PAGES", "imprint, house-rules ,", {"imprint", "house-rules"}),
    ("REVIEW_ON_EDIT", "never", "never"),
    ("REVIEWER_NAMES", "shown", "shown"),
    ("CHANGES_DAYS", "0", 0),
    ("RULE_FACTS_DAYS", "30", 30),
    ("MEMBER_BYTES_PER_DAY", "0", 0),
    ("SELF_REVIEW", "refuse", "refuse"),
    pytest.param("REQUIRE_PASSKEY", "reviewers", "reviewers", marks=pytest.mark.extra("passkeys")),
    ("APPROVALS_REQUIRED", "3", 3),
    ("EXTRAS", "none", "none"),
    ("EXTRAS", "-observability", "-observability"),
    ("METRICS_ENABLED", "yes", True),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel.example/base/", "https://otel.example/base"),
    ("SENTRY_DSN", "https://key@sentry.example.com/base/1", "https://key@sentry.example.com/base/1"),
    ("LOG_LEVEL", "DEBUG", "DEBUG"),
    ("LOG_FORMAT", "text", "text"),
    ("LOG_FORMAT", "json", "json"),
    ("SITE_NAME", " Grüße & Co. ", "Grüße & Co."),
    ("SITE_NAME", "x" * 100, "x" * 100),
    ("SITE_URL", "https://Projects.Example.com/", "https://projects.example.com"),
    ("SITE_URL", "http://localhost:5173", "http://localhost:5173"),
    ("SITE_LANGUAGE", "PT-br", "pt-BR"),
    ("SITE_LANGUAGES", "de, en,zh-hant", ("de", "en", "zh-Hant")),
    ("SITE_TAGLINE", "What we make", "What we make"),
    ("SITE_HEADLINE", "Made by us", "Made by us"),
    ("SITE_LINKS", '[{"label": " Imprint ", "url": "/imprint"}]', (("Imprint", "/imprint"),)),
    *(
        ("SECURITY_CONTACT", value, value)
        for value in ("mailto:security@example.org", "https://example.org/report", "tel:+49-30-1234")
    ),
    ("SITE_LOGO", str(SVG), Picture(".svg", SVG.read_bytes())),
    ("SITE_DIR", str(SVG.parent), str(SVG.parent)),
]


@pytest.mark.parametrize(("name", "given", "value"), GOOD)
def test_a_good_value_is_taken(name, given, value):
    assert load(**{name: given})[name] == value


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("sqlite:////var/lib/directory.db", "sqlite:////var/lib/directory.db"),
        ("postgresql+psycopg://u:p%40ss@h:5432/d", "postgresql+psycopg://u:p%40ss@h:5432/d"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgres://u:p@h/d?sslmode=require", "postgresql+psycopg://u:p@h/d?sslmode=require"),
        (
            "postgresql://u:p@/d?host=a:5432&host=b:5432&target_session_attrs=read-write",
            "postgresql+psycopg://u:p@/d?host=a%3A5432&host=b%3A5432&target_session_attrs=read-write",
        ),
    ],
)
def test_a_database_of_either_kind_is_taken(given, url):
    assert load(DATABASE_URL=given)["SQLALCHEMY_DATABASE_URI"] == url


NONSENSE = [
    *(("APP_ENV", value) for value in ("prod", "Production", "1")),
    *(("SECRET_KEY", value) for value in ("", "short")),
    *(
        ("DATABASE_URL", v)
        for v in ("nonsense", "mysql://h/d", "sqlite://", "sqlite:///:memory:", "postgresql://u:hunter2")
    ),
    *(("DATABASE_URL", v) for v in ("postgresql://u:hunter2@/d?host=a:1&host=b:2", "postgresql://u:hunter2@a,b/d")),
    *(("DATABASE_URL", v) for v in ("postgresql+psycopg2://h/d", "postgresql://u:p@h:hunter2/d", "://hunter2")),
    *(
        ("DATABASE_URL", v)
        for v in ("postgresql://h:99999/d", "postgresql://h:0/d", "sqlite:///file:x?mode=memory&uri=true")
    ),
    *(
        ("REDIS_URL", v)
        for v in (
            "nonsense",
            "http://h",
            "redis://",
            "redis://:hunter2@h:port",
            "unix://run",
            "redis://[",
            "redis://h/db",
        )
    ),
    *(
        ("REDIS_URL", v)
        for v in (
            "redis+sentinel://",
            "redis+sentinel://hunter2/",
            "redis+sentinel://a:26379",
            "redis+sentinel://a/name",
            "redis+sentinel://a:1,/name",
            "redis+sentinel://a:1 b:2/name",
            "redis+sentinel://a:1/0/1",
        )
    ),
    *(
        ("REDIS_URL", v)
        for v in ("redis://h?ssl_cert_reqs=none", "redis://h?db=x", "REDIS://h", "unix:///run/redis?foo=1")
    ),
    *(("HOST", value) for value in ("a b", "http://h", "ä")),
    *(("PORT", value) for value in ("0", "65536", "http")),
    *(("WEBHOOK_WORKER", value) for value in ("never", "3")),
    *(("THREADS", value) for value in ("0", "-1", "257", "1.5", "８", "x", "1 2", "9" * 5000)),
    *(("WEB_CONCURRENCY", value) for value in ("0", "65", "two", "2")),
    *(("SERVER_WORKER", value) for value in ("sync", "true", "Loop")),
    *(("RATELIMIT_ENABLED", value) for value in ("maybe", "2", "tru")),
    *(
        (name, v)
        for name in RATELIMITS
        for v in (
            "x",
            "30",
            "0 per minute",
            "5 per 0 minutes",
            "5/00second",
            "9999999999/day",
            "5 per 9999999999 years",
            "30 per fortnight",
            "1/second; x",
            "-1/day",
        )
    ),
    *(("CORS_ORIGINS", v) for v in ("*", "null", "app.example.com", "https://a.example//", "https://a.example/x")),
    *(
        ("CORS_ORIGINS", v)
        for v in ("https://u@a.example", "https://a.example:443", "http://a:80", "ftp://a", "http://[")
    ),
    *(("CORS_ORIGINS", v) for v in ("http://localhost:03000", "http://a.example:", "https://*.example.com")),
    *(
        ("DATABASE_URL", v)
        for v in ("sqlite://host/x.db", "sqlite:///x.db?timeout=abc", "sqlite:////x.db?mode=ro&uri=true")
    ),
    *(("CORS_ORIGINS", v) for v in ("https://a b", "https://ä.example", "https://a.example:99999", "https://")),
    *(("TRUSTED_PROXIES", value) for value in ("-1", "11", "127.0.0.1", "true")),
    *(("REGISTRATION_OPEN", value) for value in ("closed", "-")),
    *(("SIGNUP_DOMAINS", v) for v in ("example", "*", "*.org.", "a@example.org", "*.*.example.org", "-a.example")),
    *(
        ("SIGNUP_DOMAINS", v)
        for v in ("example.org, .example.org", "https://example.org", "exa mple.org", "\ud800.org")
    ),
    *(("PASSWORDS", value) for value in ("false", "Off")),
    *(("SESSION_HOURS", value) for value in ("0", "-1", "0.5", "none", "9999")),
    *(("PREPARE_DATABASE", value) for value in ("always", "2")),
    *(("READ_ONLY", value) for value in ("on", "readonly")),
    *(("RESPONSE_CACHE", value) for value in ("off", "memory")),
    *((name, v) for name in ("PUBLIC_MAX_AGE", "AUDIT_RETENTION") for v in ("0", "-1", "1.5", "none", "99999")),
    *(("READS", value) for value in ("none", "Members", "private")),
    *(("OPEN_PAGES", value) for value in ("imprint.md", "Imprint", "/imprint", "a b", "*")),
    *(("REVIEW_ON_EDIT", value) for value in ("sometimes", "Material")),
    ("REVIEWER_NAMES", "true"),
    *(("CHANGES_DAYS", value) for value in ("-1", "3651", "never")),
    *(("RULE_FACTS_DAYS", value) for value in ("0", "3651", "always")),
    *(("MEMBER_BYTES_PER_DAY", value) for value in ("-1", "1000000000", "many")),
    ("SELF_REVIEW", "never"),
    *(("APPROVALS_REQUIRED", value) for value in ("0", "4", "two", "-1", "1.5")),
    *(("EXTRAS", value) for value in ("x", "observability, x", "-x", "-all", "ALL", "all,none")),
    *(("METRICS_ENABLED", value) for value in ("x",)),
    *(("OTEL_EXPORTER_OTLP_ENDPOINT", v) for v in ("localhost:4318", "grpc://h:4317", "http://h?a=1", "http://h:x")),
    *(("SENTRY_DSN", v) for v in ("x", "https://sentry.example/1", "https://hunter2@h/", "ftp://hunter2@h/1")),
    *(("LOG_LEVEL", value) for value in ("info", "CRITICAL", "10")),
    *(("LOG_FORMAT", value) for value in ("TEXT", "auto", "1")),
    *(("SITE_NAME", value) for value in ("x" * 101, "two\nlines", "a\u202eb", "\x1b[31m", "\ud800")),
    *(("SITE_URL", v) for v in ("projects.example.com", "https://a.example/x", "ftp://a.example", "https://a:443")),
    *(("SITE_TAGLINE", value) for value in ("x" * 141, "two\nlines", "a\u202eb")),
    *(("SITE_ACCENT", value) for value in ("red", "#12", "#ggg", "#ffcc00", "#fff", "#777", "0b6b62", "#0b6b62;}")),
    *(
        (name, v)
        for name in ("SITE_LOGO", "SITE_IMAGE")
        for v in ("/nothing.svg", "/etc", str(ROOT / "README.md"), "\0")
    ),
    *(("SITE_LINKS", v) for v in ("x", "{}", "[1]", "[" * 9000, '[{"label": "x"}]', '[{"label": "", "url": "/x"}]')),
    *(
        ("SITE_LINKS", f'[{{"label": "x", "url": "{v}"}}]')
        for v in ("javascript:1", "//x.example", "x", "/a b", "http://")
    ),
    *(
        ("SECURITY_CONTACT", v)
        for v in ("security@example.org", "http://example.org", "mailto:x", "https://", "tel:", "mailto:a@b c", "x:y")
    ),
    *(("SITE_LANGUAGE", value) for value in ("English", "de_DE", "d", "en,de")),
    *(("SITE_LANGUAGES", value) for value in ("en,", "en,EN", ",", "en de")),
    *(("SITE_DIR", value) for value in ("/nothing/here", "README.md", "\0")),
    *(("SITE_URL", v) for v in ("https://u@a.example", "https://a.example?x", "https://a b", "https://ä.example")),
]


@pytest.mark.parametrize(("name", "value"), NONSENSE)
def test_nonsense_stops_the_start_with_one_line_that_names_it(name, value):
    line = refusal(**{"APP_ENV": "production", name: value})
    assert line.startswith(f"{name}: ")
    assert "hunter2" not in line


def test_domains_are_taken_as_a_labels_and_need_a_way_to_confirm_addresses():
    given = "Example.org, *.Bücher.example ,example.org"
    mail = {"MAIL_URL": "smtp://localhost", "MAIL_FROM": "a@example.org"}
    assert load(SIGNUP_DOMAINS=given, **mail)["SIGNUP_DOMAINS"] == ("example.org", "*.xn--bcher-kva.example")
    assert refusal(SIGNUP_DOMAINS=given).startswith("SIGNUP_DOMAINS: set MAIL_URL or a provider")


@pytest.mark.extra("passkeys")
def test_passwords_are_off_only_where_there_is_another_way_to_sign_in():
    production = {"APP_ENV": "production", "PASSWORDS": "off"}
    assert refusal(**production).startswith("PASSWORDS: set a provider, or SITE_URL")
    assert load(**production, SITE_URL="https://directory.example")["PASSWORDS"] == "off"


def test_production_needs_a_key_of_its_own_and_never_makes_one(instance):
    with pytest.raises(ConfigError, match=r"^SECRET_KEY: "):
        config.load({"APP_ENV": "production"})
    assert not instance.exists()
    assert load(APP_ENV="production")["SECRET_KEY"] == KEY


def test_the_development_key_is_made_once_and_readable_by_its_owner_alone(instance):
    keys = {config.load({})["SECRET_KEY"] for _ in range(3)}
    path = instance / "secret_key"
    assert keys == {path.read_text()}
    assert len(keys.pop()) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(instance) == ["secret_key"]


def test_an_empty_key_file_counts_as_missing_and_without_a_writable_folder_the_start_stops(instance, monkeypatch):
    instance.mkdir()
    (instance / "secret_key").touch()
    assert len(config.load({})["SECRET_KEY"]) == 64
    monkeypatch.setattr(config, "INSTANCE", instance / "secret_key")  # a file, in which no file can be made
    with pytest.raises(ConfigError, match=r"^SECRET_KEY: "):
        config.load({})


def test_several_processes_need_redis_unless_nothing_is_counted():
    assert refusal(WEB_CONCURRENCY="2").startswith("WEB_CONCURRENCY: several processes need REDIS_URL")
    assert load(WEB_CONCURRENCY="2", REDIS_URL="redis://h")["WEB_CONCURRENCY"] == 2
    assert load(REDIS_URL="redis://h")["WEB_CONCURRENCY"] == 2
    assert load(WEB_CONCURRENCY="2", RATELIMIT_ENABLED="false")["WEB_CONCURRENCY"] == 2


def test_a_cdn_and_a_limit_of_reads_exclude_each_other():
    assert refusal(PUBLIC_MAX_AGE="5", RATELIMIT_READ="9 per minute").startswith("PUBLIC_MAX_AGE: leave it out where")
    assert load(PUBLIC_MAX_AGE="5", RATELIMIT_READ="9 per minute", RATELIMIT_ENABLED="false")["PUBLIC_MAX_AGE"] == 5


def test_a_cdn_and_a_closed_directory_exclude_each_other():
    assert refusal(PUBLIC_MAX_AGE="5", READS="members").startswith("PUBLIC_MAX_AGE: leave it out where READS=members")
    assert load(PUBLIC_MAX_AGE="5", READS="public")["PUBLIC_MAX_AGE"] == 5


def test_a_process_ends_with_that_line_and_nothing_else():
    started = subprocess.run(
        [sys.executable, "-c", "import config; config.load()"],
        env={"THREADS": "many", "SECRET_KEY": KEY, "PATH": os.defpath, "FLASK_SKIP_DOTENV": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    line = "THREADS: 'many' is not a whole number from 1 to 256\n"
    assert (started.returncode, started.stdout, started.stderr) == (1, "", line)


@pytest.fixture
def env_file(tmp_path, monkeypatch):
    """Writes the `.env` that is read, and nothing else is set but a key."""
    monkeypatch.setattr(config, "ENV_FILE", tmp_path / ".env")
    monkeypatch.setattr(os, "environ", {"SECRET_KEY": KEY})
    return (tmp_path / ".env").write_text


def test_the_env_file_sets_what_no_variable_does(env_file, monkeypatch):
    assert config.load()["PORT"] == 8000
    env_file("# mine\nPORT=8080\nexport SITE_NAME='Our projects'\nTHREADS\n")
    assert [config.load()[name] for name in ("PORT", "SITE_NAME", "THREADS")] == [8080, "Our projects", 8]
    monkeypatch.setitem(os.environ, "PORT", "9090")
    assert config.load()["PORT"] == 9090
    monkeypatch.setitem(os.environ, "PORT", "")
    assert config.load()["PORT"] == 8000
    assert "SITE_NAME" not in os.environ


def test_nonsense_in_the_env_file_stops_the_start_too(env_file):
    env_file("PORT=http")
    with pytest.raises(ConfigError, match=r"^PORT: "):
        config.load()
    config.ENV_FILE.write_bytes(b"PORT=\xff")
    with pytest.raises(ConfigError, match=r"^\.env: cannot be read"):
        config.load()


def test_the_env_file_can_be_skipped(env_file, monkeypatch):
    env_file("PORT=8080")
    monkeypatch.setitem(os.environ, "FLASK_SKIP_DOTENV", "1")
    assert config.load()["PORT"] == 8000
    assert config.load({"SECRET_KEY": KEY})["PORT"] == 8000


def test_no_color_takes_the_colours_from_the_logs():
    assert [load(NO_COLOR=value)["LOG_COLOURS"] for value in ("", "1", "false")] == [True, False, False]


def test_fallback_keys_are_separated_by_commas_and_as_long_as_the_key_in_production():
    other = KEY[::-1]
    assert load(SECRET_KEY_FALLBACKS=f" {KEY} , {other},")["SECRET_KEY_FALLBACKS"] == [KEY, other]
    assert load(SECRET_KEY_FALLBACKS="short")["SECRET_KEY_FALLBACKS"] == ["short"]
    line = refusal(APP_ENV="production", SECRET_KEY_FALLBACKS=f"{other},short")
    assert line == "SECRET_KEY_FALLBACKS: each key needs at least 32 characters"


@pytest.mark.parametrize("name", config.SECRETS)
def test_every_secret_can_be_read_from_a_file(tmp_path, name):
    values = {
        "DATABASE_URL": "sqlite:////srv/x.db", "REDIS_URL": "redis://h:6379/0", "SENTRY_DSN": "https://k@s.example/1",
        "GITHUB_CLIENT_SECRET": "hush", "MAIL_URL": "smtp://u:p@mail.example.org:587", "OIDC_PROVIDERS": "[]",
        "WEBHOOK_URL": "https://h.example/x", "WEBHOOK_ENDPOINTS": "[]", "WEBHOOK_SECRET": "whsec_" + "b2sh" * 8,
        "FORGES": "[]",
    }  # fmt: skip
    others = {"WEBHOOK_SECRET": {"WEBHOOK_URL": values["WEBHOOK_URL"]}, "WEBHOOK_URL": {"WEBHOOK_FORMAT": "slack"}}
    others |= {"GITHUB_CLIENT_SECRET": {"GITHUB_CLIENT_ID": "id"}, "MAIL_URL": {"MAIL_FROM": "a@example.org"}}
    value, beside = values.get(name, KEY), others.get(name, {})
    for end in ("", "\n", "\r\n"):
        (tmp_path / "secret").write_text(value + end, newline="")
        given = {"SECRET_KEY": KEY, **beside, f"{name}_FILE": str(tmp_path / "secret")}
        given = {key: text for key, text in given.items() if key != name}
        assert config.load(given) == config.load({"SECRET_KEY": KEY, **beside, name: value})


def test_a_secret_file_loses_one_line_break_and_nothing_else(tmp_path):
    (tmp_path / "secret").write_text("a" * 40 + "\n\n")
    environment = config._with_secret_files({"SECRET_KEY_FILE": str(tmp_path / "secret")})
    assert environment["SECRET_KEY"] == "a" * 40 + "\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory"), (b"hunter2\xff", "cannot be read: it is not UTF-8 text"),
        (b"hunter2" * 10_000, "is larger than 64 KiB"),
    ],
)  # fmt: skip
def test_a_secret_file_that_cannot_be_used_stops_the_start_without_its_content(tmp_path, content, why):
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    line = refusal(SECRET_KEY="", SECRET_KEY_FILE=str(path))
    assert line == f"SECRET_KEY_FILE: '{path}' {why}"


def test_a_secret_and_its_file_exclude_each_other(tmp_path):
    (tmp_path / "secret").write_text("hunter2")
    line = refusal(SECRET_KEY_FILE=str(tmp_path / "secret"))
    assert line == "SECRET_KEY_FILE: set either SECRET_KEY or SECRET_KEY_FILE, not both"
    assert load(SECRET_KEY="  ", SECRET_KEY_FILE=str(tmp_path / "secret"))["SECRET_KEY"] == "hunter2"


def test_what_a_secret_file_contains_is_checked_as_the_setting_is(tmp_path):
    (tmp_path / "secret").write_text("ftp://hunter2@x")
    assert refusal(REDIS_URL_FILE=str(tmp_path / "secret")).startswith("REDIS_URL: ")


@pytest.mark.parametrize(
    "secret",
    [
        "a" * 40, "changeme" * 5, "CHANGE-ME_" * 4, "change me " * 4, "secret" * 6, "0" * 32, "1234567890" * 4,
        "your-secret-key" * 3, "password" * 4, "password1234567890123456789012345678",
        "- - - - - - - - - - - - - - - - -",
    ],
)  # fmt: skip
def test_a_placeholder_or_one_character_repeated_stops_a_start_in_production(secret):
    why = "is a placeholder, or a few characters repeated: use random characters in production"
    assert refusal(APP_ENV="production", SECRET_KEY=secret) == f"SECRET_KEY: {why}"
    assert load(SECRET_KEY=secret)["SECRET_KEY"] == secret.strip()
    if "," not in secret:
        assert refusal(APP_ENV="production", SECRET_KEY_FALLBACKS=secret) == f"SECRET_KEY_FALLBACKS: {why}"


@pytest.mark.parametrize("secret", ["abc", "changeme", "whsec_" + "c2VjcmV0", "AAAA" * 8, "whsec_" + "Y2hhbmdlbWU="])
def test_so_does_such_a_secret_of_a_webhook(secret):
    hook = {"WEBHOOK_URL": "https://h.example/x", "WEBHOOK_FORMAT": "standard", "APP_ENV": "production"}
    assert refusal(**hook, WEBHOOK_SECRET=secret).startswith("WEBHOOK_SECRET: ")
    listed = json.dumps([{"url": "https://h.example/x", "secret": [secret], "format": "discord"}])
    assert refusal(APP_ENV="production", WEBHOOK_ENDPOINTS=listed).startswith("WEBHOOK_ENDPOINTS: is a placeholder")


@pytest.mark.parametrize("secret", [KEY, "correct horse battery staple, nine", "Zm9yIGEgdGVzdCBvZiB3ZWJob29rcyBvbmx5"])
def test_a_secret_that_nobody_guesses_is_taken_in_production(secret):
    assert load(APP_ENV="production", SECRET_KEY=secret)["SECRET_KEY"] == secret


@pytest.mark.parametrize("given", [{}, {"DATABASE_URL": ""}, {"DATABASE_URL": "  "}])
def test_production_names_its_database(given):
    with pytest.raises(ConfigError) as caught:
        config.load({"SECRET_KEY": KEY, "APP_ENV": "production", **given})
    assert str(caught.value.code).startswith("DATABASE_URL: set it when APP_ENV=production")
