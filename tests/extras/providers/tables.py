"""What tests of the core, which walk all routes, know of providers."""

import json
from collections.abc import Callable
from typing import Any

from directory import events
from directory.extras.providers import groups, identities, page, refusals
from directory.extras.providers.provider import Claims
from directory.extras.providers.roles import Membership
from directory.services.identity import Caller
from directory.services.sign_in import ways_in

START, CALLBACK = "GET /api/auth/providers/<provider>", "GET /api/auth/providers/<provider>/callback"
LIST, JOIN = "GET /api/auth/identities", "POST /api/auth/identities"
REMOVE = "DELETE /api/auth/identities/<id:identity_id>"
JOIN_FORM, REMOVE_FORM = "POST /account/providers", "POST /account/providers/<id:identity_id>/remove"
CLAIMS = ("company", "https://company.example", "7", "eve@example.org", True, ("eve",))


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py), where no provider is configured."""
    absent = t.states("401 404 404 404 401 404")
    return {
        **dict.fromkeys((START, CALLBACK), t.ABSENT),
        **dict.fromkeys((LIST, JOIN, REMOVE), absent),
        **dict.fromkeys((JOIN_FORM, REMOVE_FORM), t.MISSING),
    }


def addresses() -> dict[str, None]:
    """Its routes that answer without rows (tests/api/test_public_walk.py)."""
    return dict.fromkeys(route.partition(" ")[2] for route in (START, CALLBACK))


moving = addresses  # they answer with a random state (tests/api/test_revisions_public.py)


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {JOIN: {"provider": "github"}}


def forms() -> dict[str, Any]:
    """The fields of its forms."""
    return {JOIN_FORM: {"provider": "github"}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {JOIN: {"provider"}}


def lacking() -> dict[str, Any]:
    """What the routes answer to invented bodies."""
    return {JOIN: 404}


def switched_off(t: Any) -> dict[str, Any]:
    """Who is told that there are none (tests/http/test_switched_off.py)."""
    of_members = dict.fromkeys((LIST, JOIN, REMOVE), (t.MEMBER, t.ABSENT))
    return {**dict.fromkeys((START, CALLBACK), (t.ANYBODY, t.ABSENT)), **of_members}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    return {
        LIST: {"has_password", *t.below("items[]", "provider", "label", *t.IDENTITY)},
        JOIN: {"location"},
    }


def account_forms() -> dict[str, Any]:
    """Forms of the account that are refused (tests/support/walk.py)."""
    return {"providers/999/remove": [{"nothing": ""}], "providers": [{"provider": "x"}, {"provider": "github"}]}


def said() -> dict[str, Any]:
    """What the account says after its forms (tests/support/walk.py)."""
    return page.SAID


def failures() -> dict[str, Any]:
    """Why a sign-in fails, as the page that signs in says it (tests/support/walk.py)."""
    return page.FAILURES


def errors() -> dict[Any, Any]:
    """What its errors are made of (tests/http/test_errors.py)."""
    return {
        refusals.SignInRefused: ("no_code",),
        refusals.ProviderFailed: ("no_json",),
        refusals.ProviderUnavailable: ("slow",),
    }


def weak(secret: str) -> dict[str, dict[str, str]]:
    """Its settings that hold a secret (tests/system/test_config_contact.py)."""
    one = {"name": "x", "label": "X", "issuer": "https://x.example", "client_id": "d", "client_secret": secret}
    site = {"SITE_URL": "https://example.org"}
    return {
        "OIDC_PROVIDERS": {"OIDC_PROVIDERS": json.dumps([one]), **site},
        "GITHUB_CLIENT_SECRET": {"GITHUB_CLIENT_ID": "d", "GITHUB_CLIENT_SECRET": secret, **site},
    }


def faults() -> dict[str, str]:
    """Faults in its settings (tests/runtime/test_check.py)."""
    return {"OIDC_PROVIDERS": "[", "GITHUB_CLIENT_ID": "alone"}


def causes() -> dict[str, Callable[[Any], Any]]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.USER_IDENTITY_ADDED: _join,
        events.USER_IDENTITY_REMOVED: _leave,
        events.USER_ROLE_UNKNOWN: _follow,
    }


def _join(scene: Any) -> int:
    """An account that a provider's identity has opened."""
    return int(scene.run(lambda: identities.account_of(Claims(*CLAIMS), registration_open=True)[0].id))


def _leave(scene: Any) -> None:
    by = Caller(_join(scene), "eve", "member")
    scene.world.change(by, password_hash="x")
    [own] = scene.run(lambda: ways_in.identities(by))
    scene.run(lambda: identities.remove(own["id"], by=by, names={CLAIMS[1]: CLAIMS[0]}))


def _follow(scene: Any) -> None:
    _join(scene)
    claims = Claims(*CLAIMS, Membership(unknown="absent"))
    scene.run(lambda: groups.sign_in(claims, user_agent="", registration_open=True))
