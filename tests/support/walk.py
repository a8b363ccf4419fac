"""A walk past everything that the service says to people: every page, form, refusal and mail, in a small directory."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from itertools import count, product
from typing import Any, NamedTuple

from flask import Flask
from werkzeug.exceptions import HTTPException

from directory import errors, events
from directory.http.problem_kinds import KINDS
from directory.language.messages import ngettext
from directory.models import ReportOutcome
from directory.pages import account, mine
from directory.services.delivery.mail import templates
from directory.services.delivery.mail.templates import Mail
from directory.services.turns import Asked, Outcome, Standing, Turn
from tests.support import factories
from tests.support.browsers import Browser
from tests.support.extras import rows
from tests.support.factories import PASSWORD, Api, World

MAIL = {
    "MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "Fieldbook <mail@example.org>",
    "SITE_URL": "https://fieldbook.example.org",
}  # fmt: skip
SETTINGS = {
    **MAIL, "SITE_NAME": "Fieldbook", "SITE_LINKS": '[{"label": "Code", "url": "https://example.org/code"}]',
    "REPORTS": "everybody", "APPEALS": "on", "GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": "secret",
}  # fmt: skip
# A site that is read-only and closed, a strict one, and one without pages.
OTHER_SETTINGS = (
    {"READ_ONLY": "true", "REGISTRATION_OPEN": "false", "REPORTS": "members", "SITE_TAGLINE": "Tools for the field."},
    {**MAIL, "REQUIRE_VERIFIED_EMAIL": "vote", "REVIEW_ON_EDIT": "never", "SITE_HEADLINE": "Hi", "SITE_TAGLINE": "Us."},
    {**MAIL, "WEB_ENABLED": "false"},
)  # fmt: skip
PUBLIC = """
/ /?q=lamp /?q=lantern&sort=upvotes /?sort=popular /?q=nothing-at-all /?q=lamb&category=tools
/?q=green+blue+wood+lantern
/?q=title%3Alamp+-old /?q=tools /?q=%00 /?tag=blue,wood /?page=9 /categories/tools /categories/tools?tag=blue
/categories/empty /categories/none /tags/blue /tags/blue?published=2020 /categories /tags /tags?page=9 /help /best
/best/2020-W10 /best/2020-03-04 /best/2020-03 /best/2020 /best/1999 /best/x /users/ada /users/eve /users/nobody
/api/problems /api/problems/not_found /api/docs
"""
ENTERING = """
/sign-in /sign-in?next=/mine /sign-in?again=1 /sign-up /forgot /forgot?sent /reset /reset?token=x /reset?done /verify
/sign-in/link?token=x /verify?token=x /verify?done=1&next=/mine /mail-off /api/auth/notifications/1-x /account/deleted
/admin /sign-in?sign-in&reason=x
"""
PROJECT = {"title": "New", "tagline": "New thing", "url": "https://example.org/new", "category": "tools"}
BAD_READS = {
    "": """
/api/projects?page=x&limit=0&sort=y&q=%00&published=1&tag=a,b,c,d,e,f&category=-&state=1 /api/projects?a=%ff&%zz=1
/api/projects?page=1&page=2 /api/projects?cursor=x /api/projects?page=1&cursor=x /api/projects/999 /api/projects/check
/api/none /api/users/x /api/projects?page=999999 /api/projects?owner=me /api/admin/users /api/review/projects
/api/auth/me""",
    "ada": "/api/admin/users /api/review/projects",
    "admin": """
/api/admin/audit?since=x&until=2020-02-31&limit=999 /api/admin/users?role=x /api/review/reports?state=x""",
}
BAD_PROJECTS: tuple[dict[str, Any], ...] = (
    {}, {"title": 1, "tagline": None, "url": "x", "category": "A", "tags": "x"}, {**PROJECT, "tags": ["a", "a"]},
    {**PROJECT, "tags": list("abcdef")}, {**PROJECT, "tags": ["x" * 99, "A b"]},
    {**PROJECT, "title": "Z" + "\u0301" * 40}, {**PROJECT, "title": "\u200b"},
    {**PROJECT, "url": "https://u:p@example.org"}, {**PROJECT, "url": "http://localhost/"},
    {**PROJECT, "url": "https://" + "x" * 3000}, {**PROJECT, "title": "a\u202eb"}, {**PROJECT, "title": "a\nb"},
    {**PROJECT, "x": 1}, {**PROJECT, "category": "none"}, {**PROJECT, "description": "x" * 10001},
    {**PROJECT, "url": "https://exa mple.org"}, {**PROJECT, "url": "https://example.org:99999"},
    {**PROJECT, "repository_url": "git@x:y"},
)  # fmt: skip
BAD_BODIES: tuple[dict[str, Any], ...] = (
    {"data": b"{"}, {"data": b"x", "content_type": "text/plain"}, {"data": b"[]"}, {"data": b" " * 70000},
    {"data": b'{"a":1,"a":2}'}, {"data": b"\xff"},
)  # fmt: skip
BAD_PEOPLE: tuple[dict[str, str], ...] = (
    {"username": "a", "email": "x", "password": "y"}, {}, {"username": "me", "email": "a@b", "password": "password1"},
    {"username": "ada", "email": "ada@example.org", "password": PASSWORD},
)  # fmt: skip
BAD_WRITES: tuple[tuple[str, str, str, Any], ...] = (
    ("", "POST", "/api/auth/login", {"login": "ada", "password": "wrong"}),
    ("ada", "PUT", "/api/projects/{others}", {"title": "x"}), ("ada", "PUT", "/api/projects/{pending}/upvote", None),
    ("ada", "POST", "/api/auth/tokens", {"name": "", "expires_at": "yesterday"}),
    ("ada", "POST", "/api/auth/tokens", {"name": "a", "expires_at": "2020-01-01T00:00:00Z"}),
    ("ada", "POST", "/api/projects/{live}/reports", {"kind": "x"}), ("ada", "DELETE", "/api/auth/me", {}),
    ("ada", "PUT", "/api/auth/me", {"email": "other@example.org"}),
    ("ada", "PUT", "/api/auth/me", {"username": "other"}),
    ("admin", "PUT", "/api/review/reports/{others}/settle", {"outcome": "unfounded"}),
    ("admin", "PUT", "/api/admin/users/{admin}", {"role": "member"}),
    ("admin", "DELETE", "/api/admin/categories/tools", None),
    ("admin", "PUT", "/api/admin/users/{admin}", {"role": "x", "status": "y"}),
    ("admin", "POST", "/api/admin/categories", {"slug": "tools", "name": "Tools"}),
    ("admin", "POST", "/api/admin/categories", {"slug": "A B", "name": ""}),
    ("admin", "POST", "/api/admin/projects/decisions", {"decision": "x", "items": []}),
    ("admin", "POST", "/api/admin/projects/decisions", {"decision": "approve", "items": [{"id": 1}, {"id": 1}]}),
)  # fmt: skip
DAY = datetime(2020, 3, 4, 12, tzinfo=UTC)
# What differs from run to run, and from change to change: (pattern, what stands in its place).
VOLATILE = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)", "TIME"),
        (r"\d{4}-W\d\d|\d{4}-\d\d-\d\d|(?<=/best/)\d{4}(-\d\d)?", "DATE"),
        (r"\b[A-Z][a-z]{2} \d\d?, \d{4}\b", "DAY"),
        (r"\bWeek \d\d? of \d{4}|(\d\d? )?[A-Z][a-z]+ \d{4}\b(, \d\d:\d\d(?= UTC))?", "PERIOD"),
        (r"(?<=>)2\d{3}(?=[ <])|(?<=← )2\d{3}|2\d{3}(?= →)", "YEAR"),
        (r"Version [^<]*", "VERSION"),
        (r"[A-Za-z0-9_-]{40,}|\b[0-9a-f]{32}\b", "TOKEN"),
        (r"(?<=[/=\"-])\d+(?=[\"/?#& ])|(?<=/)\d{2,}\b|\d{9,}", "N"),
        (r"\?next=[^\"]*|<svg class.*?</svg>", ""),
        (r"(?m)^<(symbol|script|link|meta property).*\n", ""),
        (r"Werkzeug/[\d.]+", "Werkzeug"),
        (r"/api/docs/[^/]*/", "/api/docs/HASH/"),
        (r"  +", " "),
    )
)


class Shown(NamedTuple):
    """Something that was shown: in which part of the record, under which name, and its text."""

    part: str
    name: str
    text: str


class Walk:
    """A directory with people and projects in every state, and the requests of a walk past all that is shown."""

    def __init__(self, app: Flask, **headers: str) -> None:
        self.app, self.headers = app, headers
        factories._numbers = count(1)
        self.world = World(app)
        self.passed: set[str] = set()
        self.people: dict[str, Browser] = {}

    def fill(self) -> None:
        """Make the people and the projects."""
        world = self.world
        ada, bob = world.user("ada"), world.user("bob")
        self.admin = world.admin("eve")
        world.category("empty")
        facts = {"tags": ["blue", "wood"], "description": "A **lamp**.", "author": "Ada Ltd"}
        self.live = world.project(ada, title="Lamp", votes=2, repository_url="https://github.com/ada/lamp", **facts)
        for number in range(4):
            self.others = world.project(bob, title=f"Lantern {number}", votes=1, tags=["blue"])
            world.published(self.others, DAY)
        self.picture = world.picture(self.live)["id"]
        self.pending = world.project(ada, "pending", title="Grey lamp")
        self.rejected = world.project(ada, "rejected", title="Red lamp")
        self.revised = world.project(ada, title="Changed lamp", votes=1)
        world.revise(self.revised, ada, title="Changing lamp", tagline="Another thing")
        self.refused, self.down = (
            world.project(ada, title="Refused lamp", votes=1),
            world.project(ada, title="Dark lamp"),
        )
        world.revise(self.refused, ada, title="Refusing lamp")
        reviewer = world.caller(self.admin)
        reviewer.put(f"/api/admin/projects/{self.refused}/reject", {"reason": "Not so."})
        reviewer.put(f"/api/admin/projects/{self.down}/unpublish", {"reason": "Gone."})
        asked = world.project(ada, "pending", title="Asked lamp")
        reviewer.put(f"/api/admin/projects/{asked}/request-changes", {"message": "What does it do?"})
        self.asked = asked
        for kind in ("spam", "mine"):
            world.caller(ada).post(f"/api/projects/{self.others}/reports", {"kind": kind, "text": "Look."})
        reviewer.put(f"/api/review/reports/{self.others}/settle", {"outcome": "acted", "reply": "Done."})
        world.caller(ada).post(f"/api/projects/{self.others - 1}/reports", {"kind": "other"})
        world.caller(bob).post("/api/auth/tokens", {"name": "backup"})
        world.vote(self.others, ada)
        Browser(self.app).sign_in("bob")
        self.people = {name: Browser(self.app).sign_in(name) for name in ("ada", "bob", "eve")}
        self.people[""] = Browser(self.app)

    def ask(self, part: str, path: str, by: str = "", **data: Any) -> Shown:
        """One request: a form with `data`, else a page."""
        method = "POST" if data else "GET"
        given = {name: value for name, value in data.items() if name != "nothing"}
        answer = self.people[by].call(method, path, headers=self.headers, data=given if data else None)
        given = {name: value if isinstance(value, str) else "FILE" for name, value in given.items()}
        self.passed.add(self._route(method, path.partition("?")[0]))
        where = f" → {answer.headers['Location']}" if answer.status_code in {303, 308} else ""
        shown = " ".join(filter(None, (method, path, by and f"by {by}", str(given)[:200] if given else "")))
        return Shown(part, f"{shown}: {answer.status_code}{where}", "" if where else answer.text)

    def of_extras(self, part: str) -> Iterator[Shown]:
        """The pages and forms of extras in a part, each with its address, who asks and what is sent."""
        for path, by, sent in rows("walked", part, self.live).values():
            yield self.ask(part, path, by, **sent)

    def _route(self, method: str, path: str) -> str:
        try:
            rule, _ = self.app.url_map.bind("").match(path, method=method, return_rule=True)
        except HTTPException:
            return ""
        return f"{method} {rule.rule}"

    def reading(self) -> Iterator[Shown]:
        """The pages that everybody reads."""
        lamp = f"/p/{self.live}/lamp"
        own = (lamp, f"/p/{self.live}", f"/p/{self.others}/lantern-3", "/p/999/none", f"/voted/{self.live}")
        for path in (*PUBLIC.split(), *own):
            yield self.ask("reading", path)
        yield from self.of_extras("reading")
        for by in ("ada", "bob", "eve"):
            for path in (
                "/",
                lamp,
                f"/p/{self.pending}/grey-lamp",
                f"/p/{self.revised}/changed-lamp",
                "/categories/empty",
            ):
                yield self.ask("reading", path, by)
        yield self.ask("reading", f"/voted/{self.live}", "bob")

    def entering(self) -> Iterator[Shown]:
        """Signing in and up, and the pages that mail leads to, with what they refuse."""
        failures = (f"/sign-in?sign-in&reason={reason}" for reason in rows("failures"))
        for path in (*ENTERING.split(), *failures):
            yield self.ask("entering", path)
        yield self.ask("entering", "/sign-in?next=/submit")
        yield self.ask("entering", "/sign-in", login="ada", password="wrong horse")
        yield self.ask("entering", "/sign-in", login="ada", password="")
        yield self.ask("entering", "/sign-up", username="A!", email="x", password="short")
        yield self.ask("entering", "/sign-up", username="ada", email="ada@example.org", password=PASSWORD)
        yield self.ask("entering", "/sign-up", username="fred", email="fred@example.org", password="password")
        yield self.ask("entering", "/forgot", login="")
        yield self.ask("entering", "/forgot", login="ada")
        yield self.ask("entering", "/reset", token="x", password="short")
        yield self.ask("entering", "/reset", token="x", password=PASSWORD)
        yield self.ask("entering", "/verify", token="x")
        yield self.ask("entering", "/mail-off", token="1-x")
        yield self.ask("entering", "/sign-in/link", token="x")
        yield self.ask("entering", "/language", language="en")
        yield self.ask("entering", f"/votes/{self.live}", vote="cast")
        yield self.ask("entering", "/submit", title="Kept", tagline="Also")
        yield self.ask("entering", "/account/tokens", name="Kept")
        yield from self.of_extras("entering")
        yield self.ask("entering", "/verify/again", "ada", nothing="")
        for path in ("/verify", "/verify?sent=1", "/verify?sent=1&next=/mine", "/account/email"):
            yield self.ask("entering", path, "ada")

    def own(self) -> Iterator[Shown]:
        """The pages and forms of members' projects."""
        states = (self.live, self.pending, self.rejected, self.revised, self.refused, self.down, self.asked)
        for by in ("ada", "bob"):
            for path in ("/mine", *(f"/mine?status={status}" for status in mine.TABS if status), "/mine?upvoted=1"):
                yield self.ask("own", path, by)
            yield self.ask("own", "/mine?reports=1", by)
        yield self.ask("own", "/mine?done=deleted", "ada")
        for done in ("submitted", *mine.SENT, *rows("sent")):
            yield self.ask("own", f"/mine/{self.live}?done={done}", "ada")
        for by in ("ada", "eve"):
            for project in states:
                yield self.ask("own", f"/mine/{project}", by)
                yield self.ask("own", f"/mine/{project}/edit", by)
        yield self.ask("own", f"/mine/{self.live}/edit", "bob")
        yield self.ask("own", "/submit", "ada")
        yield self.ask("own", "/submit", "eve")
        yield from self.project_forms()
        yield from self.project_buttons()

    def project_forms(self) -> Iterator[Shown]:
        """The form of a project, refused."""
        whole = PROJECT
        bad = {
            "title": "x" * 101,
            "url": "ftp://example.org",
            "tags": "a!",
            "category": "none",
            "repository_url": "x y",
        }
        for fields in ({"nothing": ""}, bad, {**whole, "url": "https://example.org/1", "title": "Lamp"}):
            yield self.ask("own", "/submit", "bob", **fields)
        yield self.ask("own", "/submit", "ada", **{**whole, "url": "https://example.org/1", "another": "true"})
        yield self.ask("own", "/submit", "bob", **whole, tags="a b c d e f g", description="\x01")
        for name, content in (("logo.png", b"nothing"),):
            yield self.ask("own", "/submit", "bob", **whole, another="true", logo=_file(name, content))
        edited = f"/mine/{self.live}/edit"
        yield self.ask("own", edited, "ada", **whole, version="1")
        yield self.ask("own", edited, "ada", **{**whole, "title": ""}, version="9", logo=_file("logo.png", b"x"))
        yield self.ask("own", edited, "ada", **whole, version="1", expected_user="999")
        yield self.ask("own", f"{edited}?take=rejected", "ada", nothing="")
        yield from self.forms_of_extras("edited")

    def forms_of_extras(self, table: str) -> Iterator[Shown]:
        """What extras answer to forms of ada's."""
        for sent in rows(table, self).values():
            yield from (self.ask("own", address, "ada", **fields) for address, fields in sent)

    def project_buttons(self) -> Iterator[Shown]:
        """The buttons of a project, refused and accepted, and the pages that say so."""
        yield self.ask("own", f"/mine/{self.asked}", "ada", text="")
        yield self.ask("own", f"/mine/{self.live}", "ada", text="Hello.", resubmit="true")
        yield self.ask("own", f"/mine/{self.asked}", "ada", text="Hello.", resubmit="true")
        yield self.ask("own", f"/votes/{self.pending}", "bob", vote="cast")
        yield self.ask("own", f"/votes/{self.live}", "bob", vote="maybe")
        yield self.ask("own", f"/votes/{self.live}", "bob", vote="cast")
        yield self.ask("own", f"/delete/{self.live}", "bob", nothing="")
        yield self.ask("own", f"/withdraw/{self.refused}", "ada", version="99")
        yield self.ask("own", f"/mine/{self.live}/withdraw", "ada", version="99")
        yield self.ask("own", f"/mine/{self.revised}/withdraw", "ada", nothing="")
        yield self.ask("own", f"/mine/{self.revised}/text", "ada", title="Again")
        yield self.ask("own", f"/withdraw/{self.refused}", "ada", nothing="")
        yield from self.of_extras("own")
        yield from self.forms_of_extras("pressed")
        yield self.ask("own", f"/mine/{self.rejected}", "ada")
        yield self.ask("own", f"/delete/{self.rejected}", "ada", nothing="")

    def account(self) -> Iterator[Shown]:
        """The page of the account, its outcomes, and what its forms refuse."""
        for by in ("ada", "bob"):
            yield self.ask("account", "/account", by)
        for done in (*account.SAID, *rows("said")):
            yield self.ask("account", f"/account?done={done}", "bob")
        for form, fields in (
            ("username", {"username": "A!"}), ("username", {"username": "another"}), ("email", {"email": "x"}),
            ("email", {"email": "ada@example.org", "current_password": "wrong horse"}),
            ("email", {"email": "ada@example.org", "current_password": PASSWORD}),
            ("password", {"password": "short", "current_password": "wrong horse"}), ("tokens", {"name": ""}),
            ("tokens", {"name": "x", "days": "7"}), ("tokens", {"name": "x"}), ("tokens/999/revoke", {"nothing": ""}),
            ("sessions/999/end", {"nothing": ""}),
            *((form, given) for form, several in rows("account_forms").items() for given in several),
            ("verification", {"nothing": ""}),
            ("notices", {"nothing": ""}), ("delete", {"nothing": ""}),
            ("delete", {"sure": "true", "current_password": "wrong horse"}), ("sessions/end", {"nothing": ""}),
        ):  # fmt: skip
            yield self.ask("account", f"/account/{form}", "bob", **fields)
        yield self.ask("account", "/account/email", "bob", email="new@example.org", current_password=PASSWORD)
        yield self.ask("account", "/account/password", "bob", password=f"{PASSWORD}!", current_password=PASSWORD)
        yield self.ask("account", "/account/delete", "bob", sure="true", current_password=f"{PASSWORD}!")
        yield self.ask("account", "/sign-out", "ada", nothing="")

    def refusals(self) -> Iterator[Shown]:
        """Problems of the API: the words of every kind, of every error, and those for bad values."""
        for code, kind in KINDS.items():
            yield Shown("refusals", code, f"{kind.status} {kind.title}")
        for error in sorted(_subclasses(errors.DirectoryError), key=lambda each: each.__name__):
            yield Shown("refusals", error.__name__, error.default)
        callers = {"ada": self.world.caller(self.world.user("ann")), "admin": self.world.caller(self.admin)}
        for caller, method, path, sent in self.bad():
            answer = callers.get(caller, Api(self.app)).call(method, path, headers=self.headers, **sent)
            assert answer.status_code >= 400, (method, path, sent)
            said = answer.json
            lines = [f"{said['title']}: {said['detail']}", *(str(each) for each in said.get("errors", ()))]
            given = str(next(iter(sent.values()), ""))[:80]
            yield Shown("refusals", f"{method} {path} {caller} {given}: {answer.status_code}", "\n".join(lines))

    def bad(self) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """Requests that are refused: by whom, the method, the address, and what is sent."""
        for caller, paths in BAD_READS.items():
            yield from ((caller, "GET", path, {}) for path in paths.split())
        for values in BAD_PROJECTS:
            yield "ada", "POST", "/api/projects", {"json": values}
        for body in BAD_BODIES:
            yield "ada", "POST", "/api/projects", {"content_type": "application/json", **body}
        for values in BAD_PEOPLE:
            yield "", "POST", "/api/auth/register", {"json": values}
        places = {"live": self.live, "others": self.others, "pending": self.pending, "admin": self.admin.id}
        for caller, method, path, sent in BAD_WRITES:
            yield caller, method, path.format(**places), {"json": sent}

    def mails(self) -> Iterator[Shown]:
        """Every mail."""
        site, language = self.app.extensions["site"], self.app.extensions["languages"].catalogue()
        project = {"id": 1, "title": "Lamp", "slug": "lamp"}
        off = site.address("/api/auth/notifications/1-x")
        yield _mail("test", templates.test(site, language))
        for event in (each for each in events.TABLE if each.purpose):
            yield _mail(
                event, templates.of_account(site, event, "ada", DAY, "token", next_path="/submit", language=language)
            )
        for event in (each for each in events.TABLE if each.mail and each.actor):
            for reason in (None, "Because.\nReally."):
                if reason or not event.has_message:
                    yield _mail(event, templates.decision(site, event, "ada", project, reason, off, language))
        yield from self._mails_of_states(site, project, off, language)
        for outcome in ReportOutcome:
            facts = (events.REPORT_SETTLED, "ada", project, outcome)
            for reply in (None, "Thanks."):
                yield _mail(outcome, templates.report_settled(site, *facts, reply, off, language))

    @staticmethod
    def _mails_of_states(site: Any, project: dict[str, Any], off: str, language: Any) -> Iterator[Shown]:
        """The mails that say until when to answer, and how a rejection came about."""
        for asked, of_changes, until in product(Asked, (False, True), (None, DAY)):
            state = {"of_changes": of_changes and asked is Asked.CHANGES, "was_live": True}
            standing = Standing(Turn.OWNER, until=until, asked=asked, **state)
            facts = (events.PROJECT_CLOSING, "ada", project, "Because.", off, language)
            yield _mail("project.closing", templates.decision(site, *facts, standing=standing))
        facts = (events.PROJECT_FIRST_WEEK, "ada", project, None, off, language)
        figures = (ngettext("It has {number} vote.", "It has {number} votes.", 2),)
        week = templates.decision(site, *facts, figures=figures)
        yield _mail(events.PROJECT_FIRST_WEEK, week)
        for event, outcome in product(
            (events.PROJECT_REJECTED, events.PROJECT_EDIT_REJECTED), (Outcome.BY_RULE, Outcome.BY_TIME, None)
        ):
            standing = Standing(None, of_changes=False, was_live=False, outcome=outcome)
            facts = (event, "ada", project, "Because.", off, language)
            yield _mail(event, templates.decision(site, *facts, standing=standing, by_nobody=True))

    def all(self) -> Iterator[Shown]:
        """Everything, in an order in which nothing spoils what comes later."""
        for walk in (self.reading, self.entering, self.own, self.account, self.refusals, self.mails):
            yield from walk()


def elsewhere(make: Any) -> Iterator[Shown]:
    """The pages that other settings and an empty directory change; `make` makes an application with settings."""
    for number, settings in enumerate(OTHER_SETTINGS):
        walk = Walk(make(**settings))
        walk.people[""] = Browser(walk.app)
        for path in (
            "/",
            "/sign-in",
            "/sign-up",
            "/help",
            *(path for path, _by, _sent in rows("walked", "elsewhere", 1).values()),
            "/forgot",
            "/verify",
            "/reset?token=x",
            "/none",
        ):
            one = walk.ask("elsewhere", path)
            yield one._replace(name=f"{number} {one.name}")


def _file(name: str, content: bytes) -> Any:
    return BytesIO(content), name


def _mail(name: str, mail: Mail) -> Shown:
    return Shown("mails", name, f"Subject: {mail.subject}\n\n{mail.text}")


def _subclasses(kind: type[Any]) -> set[type[Any]]:
    """A class and all that inherit from it."""
    return {kind}.union(*(_subclasses(each) for each in kind.__subclasses__()))


def plain(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, shown in VOLATILE:
        text = pattern.sub(shown, text)
    return text
