"""What a website, or the forge of a repository, says of a project, for the form that submits it.

It tells nothing else of the answer: whatever fails is refused in the same words, and after the same time.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from marshmallow import ValidationError

from directory.api.schemas.projects import ProjectInput
from directory.errors import Invalid, LinksBusy
from directory.extras.links import page_text
from directory.extras.links.forges import Forge
from directory.extras.links.transport import Asking, HostBusy, NoAnswer, redirected
from directory.language.messages import _
from directory.services.catalog.fields import BODY
from directory.services.text.links import check_url

SECONDS = 5.0
AT_ONCE = 2  # in a process
SOON = 5  # seconds after which to try again where others are looked at
LINKS = 500  # of a page in which a repository is looked for
HTML = ("text/html", "application/xhtml+xml")
FIELDS = ("url", "title", "tagline", "repository_url", "description")
UNREAD = _("This address could not be read.")

_places = threading.BoundedSemaphore(AT_ONCE)
_taken = ProjectInput().fields
_longest = {field.name: field.limits[1] for field in BODY if field.name in FIELDS and field.limits}


def of(url: str, asking: Asking, known: Sequence[Forge], pause: Callable[[float], Any] = time.sleep) -> dict[str, Any]:
    """The fields of a project by what is at a checked address, each None where it is not there.

    Raises Invalid (it could not be read, after SECONDS), LinksBusy.
    """
    if not _places.acquire(blocking=False):
        raise LinksBusy(SOON)
    try:
        ends_at = time.monotonic() + SECONDS
        values = _read(url, replace(asking, seconds=SECONDS, ends_at=ends_at), known)
        if values is None:
            pause(max(0.0, ends_at - time.monotonic()))
            raise Invalid.field("url", UNREAD)
    except HostBusy as error:
        raise LinksBusy(int(error.seconds) + 1) from None
    finally:
        _places.release()
    return {name: _fitting(name, values.get(name), asking.internal) for name in FIELDS}


def _read(url: str, asking: Asking, known: Sequence[Forge]) -> dict[str, Any] | None:
    """What is at an address; None if it cannot be read."""
    forge = next((candidate for candidate in known if candidate.repository(url)), None)
    try:
        return _of_page(url, asking, known) if forge is None else _of_repository(url, asking, forge)
    except NoAnswer:
        return None


def _of_page(url: str, asking: Asking, known: Sequence[Forge]) -> dict[str, Any] | None:
    answer = asking.get(url, reads=True)
    kind = answer.headers.get("content-type", "")
    if not 200 <= answer.status < 300 or kind.partition(";")[0].strip().lower() not in HTML:
        return None
    page = page_text.read(answer.body, kind, LINKS)
    targets = (redirected(answer.url, link) for link in page.links)
    repositories = (forge.web(target) for target in targets if target is not None for forge in known)
    repository = next((address for address in repositories if address is not None), None)
    return {"url": url, "title": page.title, "tagline": page.description, "repository_url": repository}


def _of_repository(url: str, asking: Asking, forge: Forge) -> dict[str, Any] | None:
    headers = {"Accept": "application/json", **forge.headers()}
    answer = asking.get(str(forge.repository(url)), reads=True, headers=headers)
    try:
        said = json.loads(answer.body) if answer.status == 200 else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    about = said.get("description")
    home = said.get("homepage") or said.get("website")
    values = {"title": said.get("name"), "tagline": about, "description": about, "url": home}
    return {**values, "repository_url": forge.web(url)}


def _fitting(name: str, value: Any, internal: bool) -> str | None:
    """A value as a project can have it in this field, or None."""
    if not isinstance(value, str):
        return None
    try:
        if name not in _longest:
            return check_url(value, internal=internal)
        line = page_text.line_of(value, int(_longest[name] or 0))
        return None if line is None else str(_taken[name].deserialize(line))
    except (ValueError, ValidationError):
        return None
