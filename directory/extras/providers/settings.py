"""The settings of the providers by which one signs in. Parsers raise ValueError; no reason repeats a secret.

`settings.extras` runs this file alone, so it imports nothing of the directory.
"""

import re
from collections.abc import Mapping
from typing import Any

from settings import ConfigError, Setting
from settings.mail import is_loopback
from settings.secrets import require_random
from settings.values import LONGEST_NAME, json_objects, optional, web_address

MEMBERS = {"name", "label", "issuer", "client_id", "client_secret"}
OPTIONAL = {"email_claim", "trusts_email", "scope", "roles"}
ROLES = ("admin", "reviewer", "member")
LOCAL = "local"  # what roles are called that no provider gave
MOST_GROUPS, LONGEST_GROUP = 100, 300
LONGEST_CLAIM = 100
CLAIM = re.compile(f"[!-~]{{1,{LONGEST_CLAIM}}}")
SCOPE = re.compile(r"[!#-\[\]-~]+( [!#-\[\]-~]+)*")  # RFC 6749
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,15}")
MOST = 10
LONGEST = 500
GITHUB_URL = "https://github.com"


def openid(value: str) -> list[dict[str, Any]]:
    """The providers of a JSON list; none where there is no such setting."""
    listed = json_objects(value) if value else []
    if len(listed) > MOST:
        raise ValueError(f"names more than {MOST} providers")
    providers = [_provider(one) for one in listed]
    for member in ("name", "issuer"):
        values = [one[member] for one in providers]
        if len({*values}) < len(values):
            raise ValueError(f"two providers have the same {member}")
    return providers


def _provider(entry: dict[str, Any]) -> dict[str, Any]:
    if not entry.keys() >= MEMBERS or not entry.keys() <= MEMBERS | OPTIONAL:
        names = (", ".join(sorted(members)) for members in (MEMBERS, OPTIONAL))
        raise ValueError("a provider must have the members {}, may have {}, and no others".format(*names))
    name, label = entry["name"], entry["label"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError("a provider's name must be 1 to 16 characters of a-z, 0-9 and -, and must not begin with -")
    if not isinstance(label, str) or not label.strip() or not label.isprintable() or len(label) > LONGEST_NAME:
        raise ValueError(f"a provider's label must be one line of 1 to {LONGEST_NAME} characters")
    credentials = {member: credential(entry[member]) for member in ("client_id", "client_secret")}
    return {
        "name": name, "label": label.strip(), "issuer": issuer(entry["issuer"]), **credentials, **_address(entry),
        **_scope(entry), **_roles(entry),
    }  # fmt: skip


def _address(entry: dict[str, Any]) -> dict[str, Any]:
    """Which claim has the address, and whether the provider vouches for it, as far as they are given."""
    claim, trusts = entry.get("email_claim", "email"), entry.get("trusts_email", False)
    if not isinstance(claim, str) or not CLAIM.fullmatch(claim):
        raise ValueError(
            f"email_claim must be the name of a claim, such as preferred_username, of 1 to {LONGEST_CLAIM}"
            " ASCII characters without blanks"
        )
    if not isinstance(trusts, bool):
        raise ValueError("trusts_email must be true or false")
    return {name: entry[name] for name in ("email_claim", "trusts_email") if name in entry}


def _scope(entry: dict[str, Any]) -> dict[str, Any]:
    """What is asked for beside `openid profile email`, as far as it is given."""
    if "scope" not in entry:
        return {}
    scope = entry["scope"]
    if not isinstance(scope, str) or not SCOPE.fullmatch(scope) or len(scope) > LONGEST:
        raise ValueError(
            f"a provider's scope must be words such as groups, with one blank between, of 1 to {LONGEST}"
            " ASCII characters"
        )
    return {"scope": scope}


def _roles(entry: dict[str, Any]) -> dict[str, Any]:
    """Which claim has the groups of a person, and the groups that give each role, as far as they are given."""
    if "roles" not in entry:
        return {}
    roles = entry["roles"]
    if not isinstance(roles, dict) or "claim" not in roles or not roles.keys() <= {"claim", *ROLES}:
        raise ValueError(f"roles must be an object with claim and lists of groups: {', '.join(ROLES)}")
    if not isinstance(roles["claim"], str) or not CLAIM.fullmatch(roles["claim"]):
        raise ValueError("the claim of roles must be the name of a claim, such as groups or realm_access.roles")
    if entry["name"] == LOCAL:
        raise ValueError(f"a provider that gives roles must not be called {LOCAL}")
    return {"roles": {"claim": roles["claim"], **{role: _groups(roles[role]) for role in ROLES if role in roles}}}


def _groups(value: Any) -> list[str]:
    """The names of groups, as the provider writes them."""
    if not isinstance(value, list) or len(value) > MOST_GROUPS:
        raise ValueError(f"the groups of a role must be a list of at most {MOST_GROUPS}")
    if not all(isinstance(name, str) and 1 <= len(name) <= LONGEST_GROUP for name in value):
        raise ValueError(f"a group must be a text of 1 to {LONGEST_GROUP} characters")
    return value


def credential(value: Any) -> str:
    """The id or the secret that a provider gave."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST or not (value.isascii() and value.isprintable()):
        raise ValueError(f"client_id and client_secret must be texts of 1 to {LONGEST} ASCII characters")
    return value


def issuer(value: Any) -> str:
    """The address by which a provider calls itself. It is https, or on this machine."""
    parts = web_address(value)
    if parts is None or parts.query or parts.fragment or parts.username is not None or len(value) > LONGEST:
        raise ValueError("an issuer must be an address such as https://login.example.org, without a query")
    if parts.scheme != "https" and not is_loopback(str(parts.hostname)):
        raise ValueError("an issuer must be an https address: over http its keys could be replaced on the way")
    return str(value)


def github_url(value: str) -> str:
    """The address of GitHub, without a slash at its end."""
    return issuer(value.removesuffix("/"))


def together(read: Mapping[str, Any]) -> dict[str, Any]:
    """The providers that the settings make together, GitHub the last. Raises ConfigError."""
    listed = [*read["OIDC_PROVIDERS"], *_github(read)]
    if read["APP_ENV"] == "production":
        _know_the_way_back(listed, read["SITE_URL"])
        for one in listed:
            require_random("GITHUB_CLIENT_SECRET" if "api" in one else "OIDC_PROVIDERS", one["client_secret"])
    return {"PROVIDERS": listed}


def _github(read: Mapping[str, Any]) -> list[Mapping[str, str]]:
    client_id, secret = read["GITHUB_CLIENT_ID"], read["GITHUB_CLIENT_SECRET"]
    if not (client_id or secret):
        return []
    if not (client_id and secret):
        name = "GITHUB_CLIENT_SECRET" if client_id else "GITHUB_CLIENT_ID"
        raise ConfigError(name, "set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, or neither")
    address = read["GITHUB_BASE_URL"]
    api = "https://api.github.com" if address == GITHUB_URL else f"{address}/api/v3"  # of GitHub Enterprise
    one = {"name": "github", "label": "GitHub", "issuer": address, "api": api}
    for member in ("name", "issuer"):
        if any(other[member] == one[member] for other in read["OIDC_PROVIDERS"]):
            raise ConfigError("OIDC_PROVIDERS", f"no provider has the {member} of GitHub: GITHUB_CLIENT_ID is set")
    return [{**one, "client_id": client_id, "client_secret": secret}]


def _know_the_way_back(listed: list[Mapping[str, str]], site_url: str) -> None:
    """A provider sends browsers back to an address that is registered with it, not to one from a Host header."""
    if listed and not site_url:
        name = "GITHUB_CLIENT_ID" if all("api" in one for one in listed) else "OIDC_PROVIDERS"
        why = f"set the public address of the site, as {name} is set: providers send browsers back to it"
        raise ConfigError("SITE_URL", why, because={setting.name for setting in SETTINGS})


SETTINGS = (
    Setting(
        "OIDC_PROVIDERS", openid, "",
        'Providers that users can sign in with, as a JSON list of `{"name", "label", "issuer", "client_id", '
        '"client_secret"}`, each with `"email_claim"`, `"trusts_email"`, `"scope"` and `"roles"` if wanted; '
        '[how](sign-in.md).',
        becomes="PROVIDERS", is_secret=True,
    ),
    Setting(
        "GITHUB_CLIENT_ID", optional(credential), "",
        "GitHub as such a provider: the id of the application there.",
        becomes="GITHUB",
    ),
    Setting(
        "GITHUB_CLIENT_SECRET", optional(credential), "",
        "The secret of that application.",
        becomes="GITHUB", is_secret=True,
    ),
    Setting(
        "GITHUB_BASE_URL", github_url, GITHUB_URL,
        "The address of a GitHub Enterprise Server.",
        becomes="GITHUB",
    ),
)  # fmt: skip
