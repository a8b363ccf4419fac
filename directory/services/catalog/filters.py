"""The filters of a list of projects, and those that a caller may use: who sees which projects in a list."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from directory.models import Status
from directory.services import permissions
from directory.services.catalog import tags
from directory.services.catalog.own_filters import Asked
from directory.services.identity import Caller

KINDS = {"submission": Status.PENDING, "revision": Status.LIVE}  # what waits for review, and the state of its project


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a list; None is no filter. `owner` is a username, `owner_id` and `voter_id` are ids.

    `tag` is a tag, or up to five that commas separate, of which all must match. `published` is a period's text
    (`periods`). With `picked` the list has only live projects that are picked. With `waiting` the list contains only
    projects that wait for review, with `with_owner` those that wait for their owners, with `in_appeal` those about
    which an appeal is open, with `held` those that are held out of the queue, with `answered` those whose owners wrote
    last. `categories` are the ids of those that a reviewer may review. With `first_time` the list contains only
    projects of owners of whose projects none was decided before. `nothing` is set if no project can match. `own` are
    the filters by fields of the operator's own, in the order of their names. `added` has the values of the conditions
    that extras add, by their names.
    """

    status: str | None = None
    category: str | None = None
    tag: str | None = None
    owner: str | None = None
    owner_id: int | None = None
    voter_id: int | None = None
    q: str | None = None
    waiting: str | None = None
    with_owner: str | None = None
    held: str | None = None
    in_appeal: str | None = None
    answered: str | None = None
    published: str | None = None
    picked: str | None = None
    categories: tuple[int, ...] | None = None
    first_time: str | None = None
    nothing: str | None = None
    own: tuple[Asked, ...] | None = None
    added: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def given(self) -> dict[str, Any]:
        """The filters that are set, by name."""
        named = {member.name: getattr(self, member.name) for member in fields(self)}
        added = named.pop("added")
        return {name: value for name, value in {**named, **added}.items() if value is not None}

    @property
    def has_several_tags(self) -> bool:
        """Whether all of several tags must match."""
        return self.tag is not None and tags.SEPARATOR in self.tag


def public_scope(
    *, viewer: Caller | None, status: str | None, owner: str | None, upvoted: str | None = None, **filters: Any
) -> Filters:
    """The public list's filters for `viewer`: live projects by default; in other states only the viewer's own.

    `owner` is a username or "me"; with "me" alone and no status the list has all states. `upvoted` is "me" for the
    projects that the viewer has voted for. Raises Unauthenticated, EmailNotVerified.
    """
    if "me" in (owner, upvoted) or status not in {None, Status.LIVE}:
        permissions.require_person(viewer)
    own = viewer.id if viewer is not None and owner == "me" else None
    voter = viewer.id if viewer is not None and upvoted == "me" else None
    if own is None or voter is not None:
        status = status or Status.LIVE
    username = None if owner == "me" else owner
    if viewer is not None and status != Status.LIVE and not permissions.may(viewer, "administer"):
        own = viewer.id
    return Filters(status=status, owner=username, owner_id=own, voter_id=voter, **filters)


def review_scope(
    *, by: Caller, status: str | None, owner: str | None, waiting: str | None, waiting_for: str | None,
    kind: str | None, first_time: str | None, **filters: Any,
) -> Filters:  # fmt: skip
    """The filters of a list for reviewers: only the projects in the categories of `by`.

    `owner` is a username or "me". `kind` is "submission" for pending projects, or "revision" for live ones with waiting
    changes. An owner without a decision has pending projects alone.
    """
    states = [state for state in (status, KINDS.get(kind or ""), Status.PENDING if first_time else None) if state]
    own, is_elsewhere = owner == "me", (waiting_for or filters.get("held")) is not None
    return Filters(
        status=states[0] if states else None, nothing="true" if len({*states}) > 1 else None, first_time=first_time,
        waiting="true" if waiting_for == "review" or (kind == "revision" and not is_elsewhere) else waiting,
        with_owner="true" if waiting_for == "owner" else None,
        in_appeal="true" if waiting_for == "appeal" else None, owner=None if own else owner,
        owner_id=by.id if own else None, categories=permissions.categories(by), **filters,
    )  # fmt: skip
