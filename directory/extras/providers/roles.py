"""The role that a provider's claim of groups gives to a person, by the lists of groups in the settings.

Only a claim that is there as a whole gives or takes anything. Providers leave it out where a scope is missing, and cut
it where somebody has many groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from directory.models import Role

GROUPS = "groups"  # the claim that `hasgroups` speaks of (Entra ID)
GIVEN = (Role.ADMIN, Role.REVIEWER)  # the highest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What a provider says of a person's groups.

    `unknown` is why it says nothing: `absent`, `type` or `cut`; otherwise empty. `role` is the highest role that a
    group of the person gives. `is_named`: a group of the person is in one of the lists. `is_closed`: there is a list of
    members, and others than those named are not admitted.
    """

    role: Role | None = None
    is_named: bool = False
    is_closed: bool = False
    unknown: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the person is known not to be admitted."""
        return self.is_closed and not self.is_named and not self.unknown

    @property
    def opens_account(self) -> bool:
        """Whether the person may have a new account."""
        return self.is_named or not self.is_closed


class RoleRules:
    """The claim of a provider, by its name or a path of names with dots, and the groups that give something."""

    def __init__(self, setting: Mapping[str, Any]) -> None:
        self._claim: str = setting["claim"]
        self._groups = {role: frozenset(setting.get(role, ())) for role in (*GIVEN, Role.MEMBER)}
        self._is_closed = bool(setting.get(Role.MEMBER))

    def is_absent(self, claims: Mapping[str, Any]) -> bool:
        """Whether these claims say nothing of groups, so that others have to be asked for."""
        return not self._is_cut(claims) and self._value(claims) is None

    def membership(self, *sources: Mapping[str, Any]) -> Membership:
        """What the claims say, those of the first source that has the claim."""
        for claims in sources:
            if self._is_cut(claims):
                return self._unknown("cut")
            if (value := self._value(claims)) is not None:
                return self._of(value)
        return self._unknown("absent")

    def _unknown(self, why: str) -> Membership:
        return Membership(unknown=why, is_closed=self._is_closed)

    def _is_cut(self, claims: Mapping[str, Any]) -> bool:
        """Whether the claim is elsewhere, or only in part in these claims."""
        elsewhere, first = claims.get("_claim_names"), self._claim.partition(".")[0]
        if elsewhere is not None and (not isinstance(elsewhere, dict) or elsewhere.keys() & {self._claim, first}):
            return True
        return first == GROUPS and claims.get("hasgroups") not in (None, False, "false")

    def _value(self, claims: Mapping[str, Any]) -> Any:
        """The value of the claim. A name with dots, such as an address, may also be one name."""
        if self._claim in claims:
            return claims[self._claim]
        value: Any = claims
        for name in self._claim.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _of(self, value: Any) -> Membership:
        names = _names(value)
        if not all(isinstance(name, str) for name in names):
            return self._unknown("type")
        named = [role for role, groups in self._groups.items() if groups.intersection(names)]
        role = next((role for role in named if role in GIVEN), None)
        return Membership(role=role, is_named=bool(named), is_closed=self._is_closed)


def _names(value: Any) -> list[Any]:
    """What may be the names of groups: a text, the keys of an object, or a list of texts or of objects with a name."""
    if isinstance(value, Mapping):
        return [*value]
    listed = value if isinstance(value, list) else [value]
    return [group.get("name") if isinstance(group, Mapping) else group for group in listed]
