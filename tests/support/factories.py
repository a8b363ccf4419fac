"""Makes what tests act on, and the callers that act."""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, select, update

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import (
    Category,
    FieldDefinition,
    MessageKind,
    Project,
    Report,
    Review,
    Role,
    SavedReply,
    Sender,
    SpamRule,
    Token,
    Upvote,
    User,
    VoteDiscount,
    now,
)
from directory.services import audit
from directory.services.accounts import api_tokens, sessions
from directory.services.accounts.passwords import hash_password
from directory.services.catalog import catalog, category_slugs
from directory.services.catalog.orders import hot
from directory.services.identity import Caller
from directory.services.pictures import logos, pictures
from directory.services.review import case, moderation, submissions, thread
from directory.services.review.steps import Act
from tests.support import votes as votes_of
from tests.support.pictures import RED

PASSWORD = "correct horse battery"
_numbers = count(1)


class Methods:
    """The methods of HTTP by name, over `call`."""

    def call(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        raise NotImplementedError

    def get(self, path: str, **options: Any) -> Any:
        return self.call("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> Any:
        return self.call("POST", path, json, **options)

    def put(self, path: str, json: Any = None, **options: Any) -> Any:
        return self.call("PUT", path, json, **options)

    def delete(self, path: str, **options: Any) -> Any:
        return self.call("DELETE", path, **options)


class Api(Methods):
    """A caller of the API: anonymous, or with a bearer token. Each call is a request of its own."""

    def __init__(self, app: Flask, token: str | None = None) -> None:
        self.app, self.token = app, token

    def call(self, method: str, path: str, json: Any = None, **options: Any) -> Any:
        """One request by a client without cookies of its own."""
        headers = dict(options.pop("headers", {}))
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        client: FlaskClient = self.app.test_client(use_cookies=False)
        if json is not None:
            options["json"] = json
        return client.open(path, method=method, headers=headers, **options)


class World:
    """Makes rows by the rules themselves; returns values and no entities, so that no session outlives a call."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def user(self, username: str | None = None, role: str = Role.MEMBER, status: str = "active") -> Caller:
        """An account with the password PASSWORD."""
        username = username or f"user{next(_numbers)}"
        with self.app.app_context():
            user = User(
                username=username, email=f"{username}@example.org", password_hash=hash_password(PASSWORD),
                role=role, status=status,
            )  # fmt: skip
            transaction(lambda: db.session.add(user) or db.session.flush())
            return Caller(user.id, username, role)

    def admin(self, username: str | None = None) -> Caller:
        return self.user(username, role=Role.ADMIN)

    def reviewer(self, *categories: str, username: str | None = None) -> Caller:
        """A reviewer of these categories, which exist; of all if none is given."""
        user = self.user(username)
        self.make_reviewer(user, *categories)
        return replace(user, role=Role.REVIEWER, review_categories=self.category_ids(*categories))

    def make_reviewer(self, user: Caller, *categories: str, role: str = Role.REVIEWER) -> None:
        """Give an account a role, past the rules, with these categories to review; all if none is given."""
        ids = self.category_ids(*categories)
        self.change(user, role=role, review_categories=None if ids is None else [*ids])

    def change(self, user: Caller, **values: Any) -> None:
        """Change the row of an account, past the rules."""
        with self.app.app_context():
            transaction(lambda: db.session.execute(update(User).where(User.id == user.id).values(values)))

    def field(self, name: str = "a_field", *, keep: bool = False) -> str:
        """A field of the operator's own, past the rules: a text that no category has; the only one unless `keep`."""
        texts = {"kind": "text", "label": "A field", "help": "", "choices": [], "categories": []}
        flags = dict.fromkeys(("required", "facet", "in_list", "search", "retired"), False)
        with self.app.app_context():
            stamp = 1 + (db.session.scalar(select(db.func.max(FieldDefinition.stamp))) or 0)
            numbers = {"place": stamp, "stamp": stamp, "version": 1}
            row = FieldDefinition(name=name, audience="public", material=True, **texts, **flags, **numbers)
            kept = FieldDefinition.id > 0 if keep else FieldDefinition.id < 0
            transaction(lambda: db.session.execute(delete(FieldDefinition).where(~kept)) and db.session.add(row))
        return name

    def rule(self, **members: Any) -> int:
        """A rule, past the rules for rules: one that is off unless `members` says otherwise."""
        given = {"judges": ["submission"], "conditions": [{"fact": "links", "is": ">=", "value": 9}], "effect": "mark"}
        row = SpamRule(**{"name": f"Rule {next(_numbers)}", **given, **members})
        with self.app.app_context():
            return transaction(lambda: db.session.add(row) or db.session.flush() or row.id)

    def reply(self) -> int:
        """A saved reply; the id."""
        with self.app.app_context():
            reply = SavedReply(name=f"Reply {next(_numbers)}", decision="reject", text="Not {title}.")
            transaction(lambda: db.session.add(reply) or db.session.flush())
            return int(reply.id)

    def category_ids(self, *slugs: str) -> tuple[int, ...] | None:
        """The ids of categories by their slugs, None without any."""
        with self.app.app_context():
            found = db.session.query(Category.id).filter(Category.slug.in_(slugs)).order_by(Category.id)
            return tuple(category_id for (category_id,) in found) if slugs else None

    def caller(self, user: Caller) -> Api:
        """The API as `user`, by a fresh token."""
        secret = api_tokens.TOKEN_PREFIX + secrets.token_urlsafe(32)
        # Not by the rule, which would add an entry to the log that the tests look at.
        row = Token(user_id=user.id, name="test", token_hash=sessions.digest(secret), by_passkey=user.by_passkey)
        with self.app.app_context():
            transaction(lambda: db.session.add(row))
        return Api(self.app, secret)

    def category(self, slug: str = "tools", name: str | None = None) -> str:
        """A category, made where none has this slug or had it before."""
        with self.app.app_context():
            # Not by `id_of`: the release before lacks a table that it reads (tests/system/chaos/upgrading.py).
            with db.engine.connect() as connection:
                there = connection.scalar(select(category_slugs.id_asked_for()), {"category": slug})
            if there is None:
                # Like tokens not by the rule, because of the log.
                transaction(lambda: db.session.add(Category(slug=slug, name=name or slug.title())))
        return slug

    def project(self, owner: Caller | None = None, status: str = "live", votes: int = 0, **fields: Any) -> int:
        """A project in a state, with votes of users made for it."""
        number = next(_numbers)
        owner = owner or self.user()
        given = {"title": f"Project {number}", "tagline": "A thing that does things", "category": "tools"}
        given = {**given, "url": f"https://example.org/{number}", **fields}
        self.category(given["category"])
        with self.app.app_context():
            project_id = transaction(lambda: submissions.submit(given, by=owner, notify=[]))
            if status == "live":
                transaction(lambda: moderation.decide(project_id, "approve", by=None, notify=[]))
            elif status == "rejected":
                terms = moderation.Terms("Not yet.")
                transaction(lambda: moderation.decide(project_id, "reject", by=None, notify=[], terms=terms))
        for _ in range(votes):
            self.vote(project_id, self.user())
        return project_id

    def approve(self, project_id: int, by: Caller, required: int = 2) -> None:
        """Have a person approve what waits, where so many have to."""
        terms = moderation.Terms(required=required)
        with self.app.app_context():
            transaction(lambda: moderation.decide(project_id, "approve", by=by, notify=[], terms=terms))

    def published(self, project_id: int, at: datetime) -> None:
        """Have a live project first approved at an instant."""
        one = update(Project).where(Project.id == project_id)
        with self.app.app_context():
            transaction(lambda: db.session.execute(one.values(published_at=at)))

    def revise(self, project_id: int, by: Caller, **changes: Any) -> None:
        """Have a member change a live project; the changes wait for review."""
        member = replace(by, role=Role.MEMBER)
        with self.app.app_context():
            transaction(lambda: submissions.edit(project_id, changes, by=member, review_on_edit="always", notify=[]))

    def picture(
        self, project_id: int, alt: str = "A red square", content: bytes = RED, *, by: Caller | None = None
    ) -> dict[str, Any]:
        """Add a picture to a project, past the review; or in the name of a member, so that it waits if it is live."""
        made = pictures.as_picture(content)

        def add() -> dict[str, Any]:
            picture = pictures.described(made, logos.keep(made.files), alt)
            if by is None:
                project = db.session.get_one(Project, project_id)
                project.pictures = [*project.pictures, picture]
            else:
                terms: dict[str, Any] = {"review_on_edit": "always", "notify": []}
                submissions.edit(project_id, {}, by=by, pictures=lambda shown: [*shown, picture], **terms)
            return picture

        with self.app.app_context():
            return transaction(add)

    def report(self, project_id: int, by: Caller | None = None, text: str = "Look.") -> None:
        """Have a member report a project, past the rules."""
        row = Report(project_id=project_id, reporter_id=(by or self.user()).id, kind="spam", text=text)
        with self.app.app_context():
            transaction(lambda: db.session.add(row))

    def appeal(self, project_id: int, by: Caller) -> None:
        """Have an appeal of the owner's be open about a decision, past the rules."""

        def work() -> None:
            appealed = [case.current(submissions.locked(project_id))]
            entry = thread.Entry(MessageKind.APPEAL, project_id, by.id, "Look again.")
            thread.add(entry, sender=Sender.OWNER, by=by, at=now())
            case.move(appealed, Act.APPEAL, by=by)

        with self.app.app_context():
            transaction(work)

    def vote(self, project_id: int, by: Caller, at: datetime | None = None) -> None:
        """Have a user vote for a project, at an instant or now."""
        its = Upvote.project_id == project_id, Upvote.user_id == by.id
        with self.app.app_context():
            votes_of.cast(project_id, by=by)
            if at is not None:
                transaction(lambda: db.session.execute(update(Upvote).where(*its).values(created_at=at)))

    def discount(self, project_id: int, voter: Caller, *, by: Caller | None = None) -> None:
        """Take a user's vote out of the project's number, as the log says."""
        with self.app.app_context():
            transaction(lambda: _discount(db.session.get_one(Project, project_id), voter.id, by))

    def stored(self, project_id: int) -> dict[str, Any]:
        """A project as it stands."""
        with self.app.app_context():
            return catalog.stored(project_id)

    def case(self, project_id: int) -> Review | None:
        """The current case of a project."""
        with self.app.app_context():
            return db.session.scalar(select(Review).where(Review.project_id == project_id, Review.is_current))

    def reason(self, project_id: int) -> str | None:
        """Why a project was rejected or taken down."""
        case = self.case(project_id)
        return case and case.reason

    def age(self, project_id: int | None = None, *, days: float = 0, **times: Any) -> None:
        """Have the turn in a case, or in all, have begun so many days earlier, and end so much earlier."""
        with self.app.app_context():
            query = select(Review).where(Review.turn.is_not(None))
            for case in db.session.scalars(
                query if project_id is None else query.where(Review.project_id == project_id)
            ):
                for name in ("since", "until", "reminded_at"):
                    if (at := getattr(case, name)) is not None:
                        setattr(case, name, at - timedelta(days=days))
                for name, at in times.items():
                    setattr(case, name, at)
            db.session.commit()

    def row(self, project_id: int) -> Project | None:
        with self.app.app_context():
            return db.session.get(Project, project_id)


def _discount(project: Project, user_id: int, by: Caller | None) -> None:
    db.session.add(VoteDiscount(user_id=user_id, project_id=project.id))
    project.upvotes -= 1
    project.hot = hot(project.upvotes, project.listed_at)
    votes = {"number": 1, "user_ids": [user_id]}
    audit.record_project(events.PROJECT_VOTES_DISCOUNTED, project, by=by, reason="A ring.", votes=votes)
