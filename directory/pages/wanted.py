"""The list of projects that the address of a page asks for."""

from dataclasses import dataclass, replace
from typing import Any

from directory.http.project_lists import order
from directory.language.messages import CATEGORY, _, of_operator
from directory.pages import own_values
from directory.pages.layout import address_with
from directory.services.catalog import own_filters, tags
from directory.services.catalog.categories import Listed
from directory.services.catalog.own_filters import Asked


@dataclass(frozen=True, slots=True)
class Wanted:
    """The list that an address asks for: filters, an order and a page; or the projects of a `user`."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    q: str | None = None
    sort: str = "newest"
    page: int = 1
    user: str | None = None
    own: tuple[Asked, ...] = ()

    @property
    def path(self) -> str:
        """The path of its address."""
        if self.user:
            return f"/users/{self.user}"
        if self.category:
            return f"/categories/{self.category}"
        return f"/tags/{self.tags[0]}" if len(self.tags) == 1 else "/"

    @property
    def tag(self) -> str | None:
        """The tags, separated by commas, for the parameter `tag`; None where the path names the only one."""
        return tags.SEPARATOR.join(self.tags) if self.category or len(self.tags) > 1 else None

    @property
    def address(self) -> str:
        """Its address; what is the default is left out."""
        sort = None if self.sort == order({"q": self.q}) else self.sort
        page = self.page if self.page > 1 else None
        return address_with(self.path, q=self.q, tag=self.tag, **own_filters.texts(self.own), sort=sort, page=page)

    @property
    def filters(self) -> int:
        """The number of filters."""
        return len(self.tags) + bool(self.category) + bool(self.q) + len(self.own)

    @property
    def is_combined(self) -> bool:
        """Whether it has more than one filter, or an own field's.

        There are so many such lists that crawlers shall not follow to them.
        """
        return self.filters > 1 or bool(self.own)

    def neighbours(self, pages: int) -> dict[str, Any]:
        """The addresses of the pages before and after this one, of so many."""
        previous, following = replace(self, page=self.page - 1), replace(self, page=self.page + 1)
        return {
            "previous": previous.address if self.page > 1 else "",
            "next": following.address if self.page < pages else "",
        }

    def sorted(self, sort: str) -> "Wanted":
        """The first page in another order."""
        return replace(self, sort=sort, page=1)

    def searching(self, q: str | None) -> "Wanted":
        """The first page for another search; without one it has the default order."""
        return replace(self, q=q, sort=self.sort if q else order({}), page=1)

    def within(self, category: str | None) -> "Wanted":
        """The first page of the same list in another category, or in all."""
        return replace(self, category=category, page=1)

    def toggling(self, tag: str) -> "Wanted":
        """The first page of the same list with another tag, or without it if it has the tag."""
        return replace(self, tags=tuple(sorted({*self.tags} ^ {tag})), page=1)

    def toggling_value(self, name: str, value: str) -> "Wanted":
        """The first page of the same list with another value of an own field, or without it if it has the value."""
        return replace(self, own=own_values.toggled(self.own, name, value), page=1)

    def without(self, name: str) -> "Wanted":
        """The first page of the same list without the filter by an own field."""
        return replace(self, own=own_values.with_text(self.own, name, ""), page=1)

    def kept(self, name: str = "") -> list[tuple[str, str]]:
        """The parameters that a form of the list's page keeps, except those of the search and of an own field."""
        own = own_filters.texts(asked for asked in self.own if asked.field != name)
        return [*([("tag", self.tag)] if self.tag else []), *own.items()]

    def narrowed(self, chosen: Any) -> list[tuple[str, "Wanted"]]:
        """The filters of the list: the text of each, and the wider list without it."""
        searched = [(_("for “{query}”", query=self.q), self.searching(None))] if self.q else []
        within = [(_("in {category}", category=category_name(chosen)), self.within(None))] if chosen else []
        tagged = [(_("tagged {tag}", tag=tag), self.toggling(tag)) for tag in self.tags]
        own = [(said, self.without(name)) for name, said, _alone in own_values.words(self.own)]
        return [*searched, *within, *tagged, *own]


def category_name(category: Listed) -> str:
    """The name of a category in the language of the answer."""
    return of_operator(CATEGORY, category.name)
