"""The head of a page, as values: the templates write them as HTML."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from markupsafe import Markup

from directory.http import own_values
from directory.language.messages import _
from directory.services.site import Site, path_of

DESCRIPTION = _("Projects that members submitted and voted for: browse, search, vote, and submit your own.")
CONTEXT = "https://schema.org"


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed that belongs to a page."""

    title: str
    path: str


def paged(title: str, page: int) -> str:
    """The title of a page of a list, whose first page has the title alone; empty without a title."""
    if page == 1:
        return title
    number = _("Page {page}", page=page)
    return _("{title} · {page}", title=title, page=number) if title else number


NEW = Feed(_("New projects"), "/api/projects.atom")


@dataclass(frozen=True, slots=True)
class Head:
    """The values in the head of a page.

    `path` is the page's canonical address, "" where it has none. `indexed` says whether search engines may list the
    page; `previous` and `next` are the addresses of the pages before and after it. `image` is for previews of links.
    `is_card` says that the image is a large one. `data` is JSON-LD. Where the description or the image is empty, the
    page has the site's. `preview` is the title and the description of previews, if they are not messages, which are
    translated for them.
    """

    title: str = ""
    description: str = ""
    path: str = ""
    indexed: bool = True
    previous: str = ""
    next: str = ""
    image: str = ""
    is_card: bool = False
    kind: str = "website"
    feeds: Sequence[Feed] = (NEW,)
    data: Sequence[dict[str, Any]] = ()
    preview: tuple[str, str] | None = None

    def script(self) -> Markup:
        """The JSON-LD as the text of a script element, which no value in it can end."""
        return Markup(_in_script(orjson.dumps([{"@context": CONTEXT, **item} for item in self.data]).decode()))  # noqa: S704


def _in_script(text: str) -> str:
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def source_of(script: str) -> str:
    """The source expression that allows this one inline script in the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def item_list(projects: Sequence[dict[str, Any]], site: Site, first: int = 1) -> dict[str, Any]:
    """JSON-LD of a list of projects."""
    items = [
        {"@type": "ListItem", "position": place, "name": project["title"], "url": site.address(path_of(project))}
        for place, project in enumerate(projects, first)
    ]
    return {"@type": "ItemList", "itemListElement": items}


def breadcrumbs(site: Site, *steps: tuple[str, str]) -> dict[str, Any]:
    """JSON-LD of the way to a page: names and paths, from the first page on."""
    items = [
        {"@type": "ListItem", "position": place, "name": name, "item": site.address(path)}
        for place, (name, path) in enumerate(((site.name, "/"), *steps), 1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": items}


def software(project: dict[str, Any], site: Site) -> dict[str, Any]:
    """JSON-LD of a project, without its author: whether that is a person or an organisation is not known."""
    links = [link for link in (project["url"], project["repository_url"]) if link]
    published, own = project["published_at"], own_values.properties(project)
    logo = site.address(project["logo"]["256"]) if project["logo"] else project["logo_url"]
    return {
        "@type": "SoftwareApplication",
        "name": project["title"],
        "description": project["tagline"],
        "url": site.address(path_of(project)),
        "sameAs": links,
        **({"image": logo} if logo else {}),
        **({"screenshot": [site.address(shot["1280"]) for shot in project["pictures"]]} if project["pictures"] else {}),
        "applicationCategory": project["category"]["name"],
        "keywords": ", ".join(project["tags"]),
        **({"datePublished": f"{published:%Y-%m-%d}"} if published else {}),
        **({"additionalProperty": own} if own else {}),
        "interactionStatistic": {
            "@type": "InteractionCounter",
            "interactionType": f"{CONTEXT}/LikeAction",
            "userInteractionCount": project["upvotes"],
        },
    }
