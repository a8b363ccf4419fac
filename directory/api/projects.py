"""The project routes."""

from collections.abc import Container
from typing import Any

from flask import Blueprint, current_app

from directory.api.schemas.audit import HistoryQuery, TimelinePage
from directory.api.schemas.lists import (
    CountsOutput,
    CountsQuery,
    FacetsOutput,
    FacetsQuery,
    ProjectPage,
    ProjectQuery,
    RelatedOutput,
)
from directory.api.schemas.projects import (
    CheckOutput,
    CheckQuery,
    ProjectChanges,
    ProjectDetail,
    ProjectInput,
    VoteOutput,
)
from directory.db.transactions import transaction
from directory.errors import Duplicate, EmailNotVerified, NotOwner, NotVotable, PreconditionFailed, Unauthenticated
from directory.http import own_values, pagination
from directory.http.access import login_required, owner_required, public, require_verified
from directory.http.authentication import caller, viewer
from directory.http.cache_policy import CachePolicy, CacheTags
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.project_lists import listing, order, page_tags, rules_of_edits
from directory.http.receivers import judge, subscribers
from directory.http.validation import JsonBody, Upload
from directory.models import Status
from directory.services import audit, identity
from directory.services.catalog import (
    additions,
    catalog,
    categories,
    facets,
    fields,
    nearest,
    own_fields,
    related,
    similar,
    suggestions,
)
from directory.services.catalog.filters import Filters, public_scope
from directory.services.pictures import logos, pictures
from directory.services.review import submissions
from directory.services.votes import voting
from directory.services.votes.voting import Vote

bp = Blueprint("projects", __name__, url_prefix="/api/projects")


def shown(page: dict[str, Any]) -> list[dict[str, Any]]:
    """The projects in a page, in the order in which it shows them."""
    return [*page["items"], *page.get("nearest", [])]


@bp.get("")
@public
@documented(headers=("Link",), raises=(Unauthenticated,))
@operation(
    query=ProjectQuery(), answer=ProjectPage(), tier="read", etag=True, personal=True,
    cache=CachePolicy(tags=page_tags, projects=shown, project=ProjectDetail()),
)  # fmt: skip
def index(query: dict[str, Any]) -> Any:
    """List projects: filtered, sorted, searched, by page or by cursor.

    Without `status` only live projects are listed. For `pending` and `rejected` an administrator gets all projects, a
    member their own, and an anonymous caller 401. `owner=me` without `status` lists the caller's projects in every
    state, each with its place in the queue; `upvoted=me` lists the live projects that the caller has voted for.
    Projects that are equal in the order are listed newest first, so every order is total. `field.[name]` narrows the
    list by one of the operator's own fields that is a facet: to choices with commas, of which any must match, to `true`
    or `false`, or to a number or a day, or a range of them (`a..b`, `a..`, `..b`); such a parameter is not listed here,
    for in OpenAPI each has a fixed name. A search without a result has `suggestions`, and one of several words with
    fewer than three results has `nearest`.
    """
    names = ("status", "category", "tag", "owner", "q", "upvoted", "published", "picked", "own")
    by, sort = viewer(), order(query)
    filters = public_scope(viewer=by, **{name: query.get(name) for name in names})
    page, headers = listing(filters, sort, query)
    if filters.q is not None:
        total = page["pagination"]["total"]
        if total == 0:
            page["suggestions"] = suggestions.nearest(filters)
        if sort == "best" and page["pagination"]["page"] == 1:
            near = nearest.nearest(filters, page["items"], total, viewer=by)
            page |= {} if near is None else {"nearest": near}
        if taken := suggestions.as_words(filters.q):
            page["searched_as_words"] = taken
    if query.get("owner") == "me":
        additions.add_queue_positions(page["items"])
    return page, headers


@bp.get("/facets")
@public
@documented(optional_headers=("Content-Language",))
@operation(
    query=FacetsQuery(), answer=FacetsOutput(), tier="read", etag=True,
    cache=CachePolicy(tags=lambda *_: CacheTags(())),
)  # fmt: skip
def show_facets(query: dict[str, Any]) -> Any:
    """Count the live projects of a list by category and by tag: what it can be narrowed to.

    Categories are counted without regard to `category`. Those that are chosen are left out, and those without projects.
    The others come most first, equals by name; of the tags the first ten. `fields` has the values of each of the
    operator's own fields that is a facet, without regard to its own filter (`field.[name]`, as the list has it): the
    chosen ones too, twenty at most.
    """
    filters, listed = Filters(status=Status.LIVE, **query), categories.listed()
    numbers, by_id = facets.of(filters, listed), {category.id: category for category in listed}
    counted = ((by_id[category_id], number) for category_id, number in numbers.categories.items())
    return {
        "categories": [
            {"slug": category.slug, "name": category.name, "live_projects": number} for category, number in counted
        ],
        "tags": [{"tag": tag, "live_projects": number} for tag, number in numbers.tags.items()],
        "fields": own_values.facets(numbers.fields),
        "capped": numbers.capped,
    }, own_values.spoken()


@bp.get("/counts")
@login_required
@operation(query=CountsQuery(), answer=CountsOutput(), tier="read")
def counts(query: dict[str, Any]) -> Any:
    """Count the caller's projects by state."""
    owner_id = caller().id
    return additions.counts({owner_id})[owner_id]


@bp.get("/check")
@login_required
@operation(query=CheckQuery(), answer=CheckOutput(), tier="read")
def check(query: dict[str, Any]) -> Any:
    """Find projects with the same URL, the same repository or a similar title before a submission.

    Words that very many projects have count only together with others. Other users' projects are found only if they
    are live.
    """
    return similar.check(query.get("url"), query.get("title"), query.get("repository_url"), by=caller())


@bp.get("/<id:project_id>")
@public
@operation(
    answer=ProjectDetail(), tier="read", etag=True, personal=True,
    cache=CachePolicy(tags=lambda project, _: CacheTags((project["id"],)), load_many=catalog.for_readers),
)  # fmt: skip
def show(project_id: int) -> Any:
    """Show a project.

    If it is not live, only its owner and administrators can see it.
    """
    return catalog.one(project_id, viewer=viewer())


@bp.get("/<id:project_id>/related")
@public
@operation(
    answer=RelatedOutput(), tier="read", etag=True, personal=True,
    cache=CachePolicy(
        tags=lambda page, _: CacheTags(tuple(project["id"] for project in page["items"])),
        projects=lambda page: page["items"], project=ProjectDetail(),
    ),
)  # fmt: skip
def show_related(project_id: int) -> Any:
    """List up to six live projects that share most with a project.

    Tags count first, and a rare one more than a common one; then words of title and tagline that few projects have;
    then the category. Of equal ones the newest is first. Of a tag that many projects have the newest are looked at.
    """
    by = viewer()
    return {"items": related.of(catalog.one(project_id, viewer=by), viewer=by)}


@bp.post("")
@login_required
@documented(headers=("Location",), raises=(Duplicate, EmailNotVerified))
@operation(
    body=JsonBody(ProjectInput(), check=own_fields.of_submission), answer=ProjectDetail(), status=201,
    tier="submission", etag=True,
)  # fmt: skip
def create(body: dict[str, Any]) -> Any:
    """Submit a project for review."""
    require_verified("submit")
    project_id = submissions.submit(body, by=caller(), notify=subscribers(), judge=judge())
    return catalog.one(project_id, viewer=caller()), {"Location": f"/api/projects/{project_id}"}


@bp.put("/<id:project_id>")
@owner_required
@documented(raises=(NotOwner, Duplicate, PreconditionFailed, EmailNotVerified))
@operation(body=JsonBody(ProjectChanges(partial=True), check=fields.refusals), answer=ProjectDetail(), etag=True)
def update(project_id: int, body: dict[str, Any]) -> Any:
    """Change a project: any subset of the writable fields.

    A rejected project goes back to the queue, and so does what waits for its owner, unless `give_back` is false or it
    changes the logo or the pictures alone. A live project stays as it was reviewed: changes by its owner to title,
    tagline, author, description, links, logo and pictures wait for review as its `revision`, while category and tags
    change at once. Later edits are added to the revision, and a field that is set back is removed from it. A URL that
    differs from the current one only in scheme, case of the host, `www.`, default port, slash at the end or fragment
    needs no review. The operator can also require a review of all fields, or of none. An administrator's edit applies
    at once and never changes the state, unless the operator lets nobody review their own: then the edit of their own
    project is as a member's. An edit without changes is not logged.
    """
    edit(project_id, body, versions_allowed(), gives_back=body.pop("give_back", True))
    return catalog.one(project_id, viewer=caller())


def edit(project_id: int, changes: dict[str, Any], versions: Container[int] | None, *, gives_back: bool = True) -> None:
    """Edit a project in the name of the caller, if it has one of the versions."""
    terms = {**rules_of_edits(), "notify": subscribers(), "versions": versions, "gives_back": gives_back}
    submissions.edit(project_id, changes, by=caller(), **terms)


@bp.delete("/<id:project_id>/revision")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204)
def withdraw_revision(project_id: int) -> Any:
    """Withdraw the waiting changes of a live project, or dismiss the note that they were rejected."""
    submissions.withdraw(project_id, by=caller(), versions=versions_allowed())


@bp.delete("/<id:project_id>")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204)
def delete(project_id: int) -> Any:
    """Delete a project with its votes."""
    submissions.remove(project_id, by=caller(), notify=subscribers(), versions=versions_allowed())


@bp.put("/<id:project_id>/logo")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(
    body=Upload(("image/png", "image/jpeg", "image/webp")), answer=ProjectDetail(), tier="pictures", etag=True,
    transactional=False,
)  # fmt: skip
def upload_logo(project_id: int, content: bytes) -> Any:
    """Set the logo of a project: a PNG, JPEG or WebP picture of at most 1 MiB.

    It is stored as WebP of 64 and of 256 pixels a side, without metadata, whole and on a transparent ground where it is
    not square. At most 8,192 pixels wide and high. A PNG has at most 18 million pixels, half as many with 16 bits a
    colour; a WebP 5 million, for its decoder takes much memory. Of a JPEG its pixels times its scans count, at most 167
    million (twice if its end is missing): a progressive one usually has ten scans, another one has one. A JPEG that
    browsers do not show, such as one with arithmetic coding, is refused. It is a change as any other: a rejected
    project goes back to the queue, and of a live one it waits for review as a part of its `revision`.
    """
    files = pictures.as_logo(content, by=caller().id)  # before the transaction: it takes a while
    versions = versions_allowed()
    transaction(lambda: edit(project_id, {"logo": logos.store(files, by=caller().id)}, versions))
    return catalog.one(project_id, viewer=caller())


@bp.delete("/<id:project_id>/logo")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204, tier="pictures")
def remove_logo(project_id: int) -> None:
    """Remove the logo of a project; of a live one after review, as its other changes."""
    edit(project_id, {"logo": None}, versions_allowed())


@bp.get("/<id:project_id>/timeline")
@owner_required
@documented(raises=(NotOwner,))
@operation(query=HistoryQuery(), answer=TimelinePage(), tier="read")
def timeline(project_id: int, query: dict[str, Any]) -> Any:
    """List the events of a project: submission, edits and decisions, oldest first."""
    window = pagination.window(query)
    page = audit.timeline(project_id, window)
    return pagination.by_cursor(page, window)


def count_votes(votes: list[Vote]) -> list[dict[str, Any] | Exception]:
    """Count votes, each as if it were alone, and give for each what its caller gets: an answer or an error."""
    asks = current_app.config["REQUIRE_VERIFIED_EMAIL"] == "vote"
    adding = [vote.by.id for vote in votes if vote.action != "withdraw"] if asks else []
    refused = {*adding} - identity.verified(adding) if adding else set()
    barred = [vote.by.id in refused and vote.action != "withdraw" for vote in votes]
    outcomes = voting.count([vote for vote, is_barred in zip(votes, barred, strict=True) if not is_barred])
    if (metrics := current_app.extensions.get("metrics")) is not None:
        metrics.count_votes(outcome for outcome in outcomes if not isinstance(outcome, Exception))
    counted = iter(outcomes)
    return [EmailNotVerified() if is_barred else next(counted) for is_barred in barred]


@bp.post("/<id:project_id>/upvote")
@login_required
@documented(raises=(NotVotable, EmailNotVerified))
@operation(answer=VoteOutput(), tier="voting", transactional=False, many=count_votes)
def toggle_vote(project_id: int) -> Vote:
    """Toggle the caller's vote.

    It is not idempotent: use PUT or DELETE where a request may be retried.
    """
    return Vote(caller(), project_id, "toggle")


@bp.put("/<id:project_id>/upvote")
@login_required
@documented(raises=(NotVotable, EmailNotVerified))
@operation(answer=VoteOutput(), tier="voting", transactional=False, many=count_votes)
def cast_vote(project_id: int) -> Vote:
    """Set the caller's vote; safe to retry."""
    return Vote(caller(), project_id, "cast")


@bp.delete("/<id:project_id>/upvote")
@login_required
@documented(raises=(NotVotable,))
@operation(answer=VoteOutput(), tier="voting", transactional=False, many=count_votes)
def withdraw_vote(project_id: int) -> Vote:
    """Clear the caller's vote; safe to retry."""
    return Vote(caller(), project_id, "withdraw")
