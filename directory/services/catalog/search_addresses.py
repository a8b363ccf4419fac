"""Addresses in a query: those of a website or repository, in the spellings in which people copy or type them."""

import re

from directory.services.text.equal_addresses import url_key

# With or without a scheme, a user and a port, as browsers show an address and as git takes it.
_WITH_SCHEME = re.compile(r"(?:git\+)?(https?|git|ssh)://(?:[^\s/?#@]*@)?([^\s/?#@:]+(?::[0-9]+)?)([/?#]\S*)?", re.I)
_FOR_SSH = re.compile(r"[\w.-]+@([^\s/?#@:]+\.[^\s/?#@:]+):([^\s?#@:]+)")  # git@host:owner/name.git
_WITHOUT_SCHEME = re.compile(r"[^\s/?#@:]+\.[^\s/?#@:.]+(?::[0-9]+)?(?:[/?#]\S*)?")
_OWNER_AND_NAME = re.compile(r"[\w-]+/[\w.-]+")
# The hosts of the repositories that people name by owner and name alone.
HOSTS = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org")


def address_keys(query: str) -> list[str]:
    """The keys of the addresses that a query may be, as `equal_addresses.url_key` returns them."""
    keys: dict[str, None] = {}
    for url in _urls(query.strip(" \t\r\n<>()[]\"'")):
        try:
            keys[url_key(url)] = None
        except ValueError:
            continue
    return list(keys)


def _urls(text: str) -> list[str]:
    if found := _WITH_SCHEME.fullmatch(text):
        scheme = "http" if found[1].lower() == "http" else "https"  # each has its default port
        return [f"{scheme}://{found[2]}{found[3] or ''}"]
    if found := _FOR_SSH.fullmatch(text):
        return [f"https://{found[1]}/{found[2]}"]
    if _OWNER_AND_NAME.fullmatch(text):
        return [f"https://{host}/{text}" for host in HOSTS]
    return [f"https://{text}"] if _WITHOUT_SCHEME.fullmatch(text) else []
