"""The errors of a sign-in by a provider.

`reason`, where there is one, is one of a few fixed words of ours.
"""

from directory.errors import Conflict, DirectoryError, Forbidden
from directory.language.messages import _


class SignInCancelled(Forbidden):
    """The person cancelled at the provider."""

    code = "sign_in_cancelled"
    default = _("The sign-in was cancelled.")


class SignInRefused(Forbidden):
    """The provider's answer does not prove who signs in."""

    code = "sign_in_refused"
    default = _("The provider's answer was refused.")

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class NoAddress(SignInRefused):
    """The provider returned no address that an account can have."""

    default = _("The provider returned no e-mail address that can be used, and a new account needs one.")
    reason = "no_address"

    def __init__(self) -> None:
        super().__init__(self.reason)


class NotAdmitted(Forbidden):
    """The person is not one of those who may have an account here."""

    code = "not_admitted"
    default = _("You are signed in at the provider, but are not among those who may use this site.")


class AddressTaken(Conflict):
    """An account has the address, and one of the two sides has not confirmed it."""

    code = "address_taken"
    default = _(
        "An account has your e-mail address already. Sign in to it another way, and join the two on the page of "
        "your account."
    )


class IdentityTaken(Conflict):
    """The identity belongs to another account."""

    code = "identity_taken"
    default = _("This sign-in belongs to another account here already.")


class ProviderFailed(DirectoryError):
    """The provider gave an answer that makes no sense."""

    code = "provider_failed"
    default = _("The provider gave an answer that makes no sense. Try again later.")

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class ProviderUnavailable(DirectoryError):
    """The provider does not answer in time, or is not asked at present."""

    code = "provider_unavailable"
    default = _("The provider does not answer at present. Try again shortly.")
    retry_after = 10

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
