"""Settings that are nearly right: the start stops in one line that shows no secret, or says what is off."""

import json

import pytest

import config
from tests.support.extras import rows
from tests.system.test_config import KEY, load, refusal

HOOK = "https://hooks.example/x"
RANDOM = "9f3c1d7a5b2e8f604c6a1b9d3e7f5a2c8b4d6e1f"


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "MAIL_URL"])
@pytest.mark.parametrize("by_file", [False, True])
@pytest.mark.parametrize(
    ("password", "escaped"),
    [
        ("zebra@giraffe", "@ as %40"),
        ("zebra#giraffe", "# as %23"),
        ("zebra/giraffe", "/ as %2F"),
        ("zebra?giraffe", "? as %3F"),
        ("zebra%giraffe", "% as %25"),
        ("zebra%4", "% as %25"),
        ("zebra giraffe", "a blank as %20"),
        ("@#zebra%zz/giraffe#@", "@ as %40, # as %23, % as %25, / as %2F"),
    ],
)
def test_a_password_that_is_not_escaped_stops_the_start_and_no_part_of_it_is_printed(
    tmp_path, name, by_file, password, escaped
):
    scheme = {"DATABASE_URL": "postgresql", "REDIS_URL": "redis", "MAIL_URL": "smtp"}[name]
    value = f"{scheme}://directory:{password}@db.example/directory"
    given = {name: value}
    if by_file:
        (tmp_path / "secret").write_text(value)
        given = {f"{name}_FILE": str(tmp_path / "secret")}
        environ = {"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db"}
        environ.pop(name, None)
        with pytest.raises(config.ConfigError) as caught:
            config.load({**environ, **given})
        line = str(caught.value.code)
    else:
        line = refusal(**given)
    assert line == f"{name}: write {escaped} in the user and the password"


@pytest.mark.parametrize("password", ["a%40b", "%23%2f%25", "plain:colon", "+&=;!$'()*~"])
def test_an_escaped_password_is_taken(password):
    url = f"postgresql://directory:{password}@db.example/directory"
    assert load(DATABASE_URL=url, REDIS_URL=f"redis://:{password}@cache.example")["REDIS_URL"]


def test_a_port_that_may_be_a_password_is_not_printed():
    assert refusal(DATABASE_URL="postgresql://directory:8675309/name").endswith("a number from 1 to 65535")


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("postgresql://u:p@h/d?pgbouncer=true", "pgbouncer"),
        ("postgresql://u:p@h/d?sslmode=require&schema=public", "schema"),
        ("postgresql://u:p@h/d?connection_limit=5", "connection_limit"),
        ("postgresql://u:p@h/d?prepare_threshold=0", "prepare_threshold"),
        ("sqlite:////srv/x.db?mode=ro", "mode"),
    ],
)
def test_an_option_that_the_driver_does_not_know_stops_the_start_in_one_line(url, option):
    why = f"its option {option!r} is unknown to the database's driver: remove it after the ?"
    assert refusal(DATABASE_URL=url) == f"DATABASE_URL: {why}"


@pytest.mark.parametrize("option", ["sslmode=require", "application_name=x", "options=-c%20jit%3Doff", "passfile=/x"])
def test_an_option_of_the_driver_is_taken(option):
    assert option.partition("=")[0] in load(DATABASE_URL=f"postgresql://u:p@h/d?{option}")["SQLALCHEMY_DATABASE_URI"]


WEAK = [
    "whsec_" + "Z" * 32,
    "whsec_" + "ZZZa" * 8,
    "whsec_" + "A" * 43 + "=",  # 32 bytes of zero
    "whsec_" + "c2VjcmV0" * 5,  # "secret" repeated
    "abcdabcdabcdabcdabcdabcdabcdabcd",
    "0123456789abcdef0123456789abcdef",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop" * 4,
]  # fmt: skip


def weak_in(secret: str) -> list[tuple[str, dict[str, str]]]:
    """The settings that hold a secret, each with this one, alone and next to a good one; by the name in the line."""
    endpoint = {"url": HOOK, "format": "slack", "secret": secret}
    listed = endpoint | {"secret": [RANDOM, secret]}
    return [
        ("SECRET_KEY", {"SECRET_KEY": secret.ljust(32, secret[-1])}),
        ("SECRET_KEY_FALLBACKS", {"SECRET_KEY_FALLBACKS": f"{RANDOM}, {secret.ljust(32, secret[-1])}"}),
        ("WEBHOOK_ENDPOINTS", {"WEBHOOK_ENDPOINTS": json.dumps([endpoint])}),
        ("WEBHOOK_ENDPOINTS", {"WEBHOOK_ENDPOINTS": json.dumps([listed])}),
        ("WEBHOOK_SECRET", {"WEBHOOK_URL": HOOK, "WEBHOOK_FORMAT": "slack", "WEBHOOK_SECRET": f"{RANDOM},{secret}"}),
        *rows("weak", secret).items(),
    ]


@pytest.mark.parametrize("secret", WEAK)
def test_production_refuses_a_weak_secret_wherever_it_is(tmp_path, secret):
    for name, given in weak_in(secret):
        if len(secret) < 32 and name.startswith("SECRET_KEY"):
            continue  # too short in any case
        line = refusal(APP_ENV="production", **given)
        assert line.startswith(f"{name}: is a placeholder, or a few characters repeated"), name
        assert secret not in line
        load(**given)  # development takes it
        if name in config.SECRETS and name != "SECRET_KEY":
            (tmp_path / name).write_text(given[name])
            with_file = {key: value for key, value in given.items() if key != name}
            with_file[f"{name}_FILE"] = str(tmp_path / name)
            assert refusal(APP_ENV="production", **with_file) == line


@pytest.mark.parametrize(
    "secret", [RANDOM, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "correct-horse-battery-staple-47"]
)
def test_production_takes_a_random_secret(secret):
    for _, given in weak_in(secret):
        load(APP_ENV="production", **given)


@pytest.mark.parametrize("address", ["http://directory.lan", "http://directory.lan:8000", "http://10.0.0.11"])
def test_production_refuses_an_http_address_where_browsers_drop_the_cookie(address):
    why = "use an https address when APP_ENV=production: at an http address browsers drop the session cookie"
    assert refusal(APP_ENV="production", SITE_URL=address) == f"SITE_URL: {why}"
    assert load(SITE_URL=address)["SITE_URL"] == address


@pytest.mark.parametrize("address", ["http://localhost:8000", "http://127.0.0.1:8000", "https://directory.lan"])
def test_production_takes_https_and_this_machine(address):
    assert load(APP_ENV="production", SITE_URL=address)["SITE_URL"] == address


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SITE_ACENT", "SITE_ACCENT"),
        ("SITE_COLOR", "SITE_ACCENT"),
        ("WEBHOOKS_URL", "WEBHOOK_URL"),
        ("WEBHOOK_SECRETS", "WEBHOOK_SECRET"),
        ("MAIL_FORM", "MAIL_FROM"),
        ("DATABASE_URI", "DATABASE_URL"),
        ("REDIS_URI", "REDIS_URL"),
        ("WEB_CONCURENCY", "WEB_CONCURRENCY"),
        ("RATELIMIT_VOTES", "RATELIMIT_VOTING"),
        ("SECRET_KEYS", "SECRET_KEY"),
        ("SECRET_KEY_FILES", "SECRET_KEY_FILE"),
        ("LOG_LEVLE", "LOG_LEVEL"),
    ],
)
def test_a_name_that_begins_like_a_setting_and_is_none_is_said_with_the_nearest(name, nearest):
    said = config.warnings({"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db", name: "value"})
    assert said == [f"{name} is not a setting, so nothing reads it; the nearest is {nearest}"]


def test_names_of_platforms_and_of_other_programs_are_passed_over():
    others = [
        "GITHUB_ACTIONS", "GITHUB_BASE_REF", "GITHUB_TOKEN", "OTEL_SERVICE_NAME", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "SENTRY_RELEASE", "SENTRY_ENVIRONMENT", "REDIS_TLS_URL", "REDIS_HOST", "DATABASE_PRIVATE_URL", "PUBLIC_URL",
        "APP_NAME", "SERVER_SOFTWARE", "SERVER_NAME", "NO_PROXY", "LOG_DIR", "SECRET_KEY_BASE", "WEB_MEMORY",
        "MAIL_SERVICE_HOST", "SITE_PORT_8000_TCP_ADDR", "MAILTO", "PATH", "LOGNAME", "HOSTNAME", "WEBSITE_SITE_NAME",
        "DYNO", "RENDER_EXTERNAL_URL", "FLY_APP_NAME", "KUBERNETES_SERVICE_HOST", "LISTEN_FDS", "GUNICORN_FD",
    ]  # fmt: skip
    environ = {"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db"}
    assert config.warnings({**environ, **dict.fromkeys(others, "x"), "MAIL_PORT": "tcp://10.0.0.1:25"}) == []


@pytest.mark.parametrize("given", [{}, {"WEBHOOK_URL": HOOK}, {"WEBHOOK_ENDPOINTS": "[]"}], ids=str)
def test_no_setting_is_taken_for_a_misspelling(tmp_path, given):
    files = {f"{name}_FILE" for name in config.SECRETS if name not in given}
    environ = dict.fromkeys({*config.DECLARED, *files}, "") | {"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db"}
    given = {name: value for name, value in given.items() if name != "WEBHOOK_URL"}
    assert config.warnings(environ | given) == []


def test_production_without_an_address_says_what_is_off():
    environ = {"SECRET_KEY": KEY, "DATABASE_URL": "sqlite:////srv/x.db", "APP_ENV": "production"}
    [line] = config.warnings(environ)
    assert line.startswith("SITE_URL is not set: passkeys and the sitemap are off")
    assert config.warnings({**environ, "SITE_URL": "https://example.org"}) == []
    assert config.warnings({**environ, "APP_ENV": "development"}) == []
