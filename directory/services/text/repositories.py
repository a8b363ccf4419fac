"""Hosts of repositories, and the web addresses of repositories that are given as Git clones them."""

import re

# Names of owners and repositories ignore case there, and may end in `.git`. On GitLab groups can be nested, and a
# segment `-` ends them. Installations of the same programs are recognised by the first label of the host.
_GITLAB = frozenset({"gitlab.com", "framagit.org", "invent.kde.org", "salsa.debian.org"})
_FORGES = frozenset({"github.com", "codeberg.org", "bitbucket.org", "gitea.com", "gitee.com", "notabug.org"})
_GITLAB_LABEL, _FORGE_LABELS = "gitlab.", ("gitea.", "forgejo.")
_OTHERS = frozenset({"git.sr.ht"})  # the same path leads to a repository over https
# Short names of package managers, and hosts that serve SSH on the port of https.
_ALIASES = {
    "github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org",
    "ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org",
}  # fmt: skip
# https://, http:// with `git+` before, as package managers write them; any host has what it says.
_OVER_HTTP = re.compile(r"git\+(https?://.*)", re.IGNORECASE | re.ASCII | re.DOTALL)
# git://host/path, ssh://user@host:22/path, git+ssh://…
_BY_GIT = re.compile(
    r"(?:git|(?:git\+)?ssh|git\+git)://(?:[^/@\s]*@)?(?P<host>[^/:@\s]+)(?::[0-9]*)?/(?P<path>[^?#]+)(?:#.*)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
# user@host:path, as ssh names files, and github:path
_BY_SSH = re.compile(r"(?:[\w.-]+@)?(?P<host>[\w.-]+):(?!//)/?(?P<path>[^?#:]+)(?:#.*)?", re.ASCII | re.DOTALL)


def is_gitlab(host: str) -> bool:
    """Whether the host runs GitLab."""
    return host in _GITLAB or host.startswith(_GITLAB_LABEL)


def is_forge(host: str) -> bool:
    """Whether the host has repositories under an owner or a group."""
    return is_gitlab(host) or host in _FORGES or host.startswith(_FORGE_LABELS)


def web_address(address: str) -> str:
    """The https address of a repository as Git clones it, where its host has pages; otherwise `address` itself.

    `git@github.com:ada/tool.git`, `git://github.com/ada/tool` and `git+ssh://git@github.com/ada/tool.git#main` are
    https://github.com/ada/tool.
    """
    text = address.strip()
    if over_http := _OVER_HTTP.fullmatch(text):
        return over_http[1]
    match = _BY_GIT.fullmatch(text) or _BY_SSH.fullmatch(text)
    if match is None:
        return address
    named = match["host"].lower().removeprefix("www.")
    host = _ALIASES.get(named, named)
    path = match["path"].strip("/").removesuffix(".git")
    return f"https://{host}/{path}" if (is_forge(host) or host in _OTHERS) and path else address
