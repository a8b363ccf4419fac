"""GitHub, and GitHub Enterprise: OAuth without OpenID, and an API that returns who signs in."""

from collections.abc import Mapping
from typing import Any

from directory.extras.providers import openid
from directory.extras.providers.provider import Claims, Secrets, claims_of, code_of
from directory.extras.providers.refusals import SignInRefused
from directory.extras.providers.transport import Access

SCOPE = "read:user user:email"


class GitHub:
    """The site and its API. The issuer of its identities is the address of the site, their subject the user's id."""

    def __init__(self, settings: Mapping[str, str], access: Access) -> None:
        self.name, self.label, self.issuer = settings["name"], settings["label"], settings["issuer"]
        self._api = settings["api"]
        self._client = settings["client_id"], settings["client_secret"], "client_secret_post"
        self._access = access

    def authorization_url(self, secrets: Secrets, redirect_uri: str) -> str:
        """Where the browser goes to sign in."""
        endpoint = f"{self.issuer}/login/oauth/authorize"
        return openid.authorization_url(endpoint, self._client[0], SCOPE, secrets, redirect_uri)

    def identify(self, answer: Mapping[str, str], secrets: Secrets, redirect_uri: str) -> Claims:
        """The claims of the user who signs in, from the parameters with which the browser came back.

        Raises SignInCancelled, SignInRefused, ProviderUnavailable, ProviderFailed.
        """
        openid.refuse_error(answer)
        code, endpoint = code_of(answer), f"{self.issuer}/login/oauth/access_token"
        with self._access.opened() as transport:
            token = openid.exchange(self.name, transport, endpoint, self._client, code, secrets, redirect_uri)
            access_token = token.get("access_token")
            if not isinstance(access_token, str) or not access_token.isprintable():
                raise SignInRefused("no_token")
            headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/vnd.github+json"}
            user = transport.get(f"{self._api}/user", headers).expect(dict)
            addresses = transport.get(f"{self._api}/user/emails", headers).expect(list)
        number = user.get("id")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise SignInRefused("no_subject")
        mine = (address for address in addresses if isinstance(address, dict) and address.get("primary") is True)
        primary: dict[str, Any] = next(mine, {})
        return claims_of(
            self, str(number), primary.get("email"), primary.get("verified"), (user.get("login"), user.get("name"))
        )
