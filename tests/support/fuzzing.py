"""Runs schemathesis over the application's own document, as one caller, and returns its findings."""

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import schemathesis
from flask import Flask
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.run import PhaseName
from schemathesis.generation import metrics
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER
from schemathesis.transport.wsgi import WSGITransport
from sqlalchemy import delete

from directory.api.openapi import prose
from directory.api.openapi.operations import Route, routes
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import docs, write_checks
from directory.http.fields import Line, Matching
from directory.models import Token
from directory.services.accounts.passwords import check_password_rules
from directory.services.accounts.usernames import is_reserved
from directory.services.identity import Caller
from directory.services.text.rules import LOCAL_PART_MAX
from tests.support import effort
from tests.support.factories import PASSWORD, World
from tests.support.fuzzing_accounts import Accounts
from tests.support.lying_provider import LyingProvider
from tests.support.pictures import picture
from tests.support.routes import ENDING

CATEGORY = prose.EXAMPLES["category"]
LOGO = picture()
SEND = WSGITransport.send
KNOWN_IDS = 12  # what the generator names beyond them is brought down to them: most of it would be 404 otherwise
DEPTH = 10_000
EXAMPLES = int(effort.ASKED or 20)
DOCUMENT = "GET /api/openapi.json"  # schemathesis reads it once, and does not test it
# Which routes a role can succeed at, by the access that they need.
MAY = {"anonymous": {"public", "open_by"}, "member": {"public", "open_by", "member", "owner", "own"}}
MAY["admin"] = {*MAY["member"], "reviewer", "admin"}
PHASES = ("examples", "coverage", "fuzzing", "stateful")

# What no JSON Schema says in few words. A text refused for one of these reasons becomes the document's example; one
# that is refused for any other reason stays, and is a finding.
BEYOND_SCHEMA = (
    "Must not contain more than 30 combining marks in a row.",
    "Must not be blank.",
    "Must not contain code points that are not characters.",
    "Must not contain white space or invisible characters.",
    "Must name a valid host",
    "Must name a valid IPv6 address between the brackets.",
    "Must have a port of 1 to 65535, or none.",
    "There is no such category.",
    "Only a reviewer has categories to review.",
    "A tag has at most 32 characters.",
    "The same project is given twice.",
    "Give url, title or repository_url.",
    "These alone may be in braces: {title}, {owner}, {site}.",
)


class Fuzzer:
    """One caller, whose account and credentials the run must leave alone."""

    def __init__(self, app: Flask, role: str, provider: LyingProvider) -> None:
        self.app, self.role, self.numbers = app, role, count(1)
        self.sent: Counter[str] = Counter()  # requests by phase
        self.answers: defaultdict[str, Counter[int]] = defaultdict(Counter)  # statuses by operation
        self.stories = 0  # scenarios of the stateful phase
        self.began = time.monotonic()
        self.world = world = World(app)
        world.category(CATEGORY)
        for status in ("live", "live", "live", "pending", "rejected"):
            world.project(status=status)
        self.caller: Caller | None = None
        self.token = ""
        if role != "anonymous":
            self.caller = world.user("fuzzer", role=role)
            self.token = world.caller(self.caller).token or ""
        self.accounts = Accounts(app, provider, self.caller)
        self.operations = {f"{route.method.upper()} {route.path}": route for route in routes(app)}
        self.left_out = ENDING | (set() if effort.ASKED else self._answered_alike())
        with app.app_context():
            self.token_id = db.session.query(db.func.max(Token.id)).scalar() or 0

    def findings(self) -> Iterator[str]:
        """What schemathesis has against the service, each as text that shows how to do it again."""

        def before_call(context: Any, case: Any, kwargs: Any) -> None:
            with self.app.app_context():  # some rules ask the settings
                self._prepare(case, kwargs)

        with _hooked(before_load_schema, before_call):
            yield from self._run(effort.SEED, PHASES)
            # What the service answered goes into what is asked next, so a story cannot be told twice alike; where
            # hypothesis notices that, schemathesis ends the phase without a word. So it begins again, elsewhere.
            for seed in range(effort.SEED + 1, effort.SEED + EXAMPLES):
                if self.stories >= EXAMPLES:
                    break
                yield from self._run(seed, ("stateful",))
            else:
                yield f"only {self.stories} stories were told"
        yield from self._gaps()

    def _answered_alike(self) -> set[str]:
        """What the role is refused before it is read (tests/api/test_access.py), and the second address of a view."""
        reviewed = {id(route.operation) for route in self.operations.values() if route.access == "reviewer"}
        return {
            label
            for label, route in self.operations.items()
            if route.access not in MAY[self.role] or (route.access == "admin" and id(route.operation) in reviewed)
        }

    def _gaps(self) -> Iterator[str]:
        """The phases that sent too little to have found anything: schemathesis ends some without a word."""
        floors = dict.fromkeys(PHASES, 1)
        # An operation without parameters has but one request to send, so not all come to the number asked for.
        floors["fuzzing"] = len(self.operations.keys() - self.left_out) * EXAMPLES // 3
        for phase, floor in floors.items():
            if self.sent[phase] < floor:
                yield f"the {phase} phase sent {self.sent[phase]} requests, {floor} at least were to be sent"
        for label, route in self.operations.items():
            if label == DOCUMENT or label in self.left_out:
                continue
            if route.access in MAY[self.role] and not any(status < 400 for status in self.answers[label]):
                yield f"{label} never succeeded: {dict(self.answers[label])}"
        with self.app.app_context():
            if self.token and db.session.get(Token, self.token_id) is None:
                yield "the caller's token was revoked on the way"

    def _run(self, seed: int, phases: tuple[str, ...]) -> Iterator[str]:
        schema = schemathesis.openapi.from_wsgi("/api/openapi.json", self.app, config=_config(self.token, seed, phases))
        asked = schema.exclude(lambda context: context.operation.label in self.left_out)  # type: ignore[no-untyped-call]
        for event in from_schema(asked).execute():
            if isinstance(event, events.ScenarioFinished):
                self.sent[event.phase.value] += len(event.recorder.interactions)
                for case_id, interaction in event.recorder.interactions.items():
                    if interaction.response is not None:
                        label = event.recorder.cases[case_id].value.operation.label
                        self.answers[label][interaction.response.status_code] += 1
                self.stories += event.phase == PhaseName.STATEFUL_TESTING and bool(event.recorder.interactions)
            yield from _findings(event)

    def report(self) -> str:
        """What was done: how many requests in which phase, and how long it took."""
        phases = ", ".join(f"{number:,} {phase}" for phase, number in self.sent.items())
        seconds = f"{time.monotonic() - self.began:.0f} s"
        sent = f"{self.sent.total():,} requests ({phases}; {self.stories:,} stories)"
        return f"{self.role}: {len(self.operations.keys() - self.left_out)} operations, {sent}, {seconds}"

    def _prepare(self, case: Any, kwargs: dict[str, Any]) -> None:
        """Turn what is valid by the schema alone into what is acceptable, and keep the caller out of harm's way."""
        operation = self.operations[case.operation.label]
        self._lead_to_what_exists(case)
        self._lead_to_a_reply(case.path_parameters)
        if "field" in case.path_parameters and not next(self.numbers) % 4:
            case.path_parameters["field"] = self.world.field()
        self._make_unique(case.body)
        self._name_the_caller(case)
        case.headers["Accept-Encoding"] = "identity"  # the client within this process decodes nothing
        self._make_what_is_rare(case, operation)
        is_positive = case.meta is not None and case.meta.generation.mode.is_positive
        self.accounts.prepare(case, operation.id, token=self.token, is_positive=is_positive)
        if is_positive:
            _mend_query(case, operation)
            _mend_body(case, operation)
            _mend_rule(case.body, operation)
            _mend_fields(case.body, operation)
            if operation.path == "/api/admin/fields/order":
                case.body = {"order": [self.world.field()]}  # the names of all that there are
        else:
            spoil_body(case.body, operation)
            texts = {name: value for name, value in case.query.items() if isinstance(value, str)}
            _lengthen(texts, operation.operation.query)
            case.query.update(texts)
        if operation.id == "authIssueToken":
            self._forget_tokens()
        if operation.id == "projectsUploadLogo" and is_positive:
            kwargs["data"], case.headers["Content-Type"] = LOGO, "image/png"  # no generator makes pictures
        if operation.id == "picturesOrderPictures" and is_positive and isinstance(case.body, dict):
            # The ids of pictures are random: a project without any has an order that is known.
            case.path_parameters["project_id"], case.body["order"] = self.world.project(self.caller), []

    def _make_what_is_rare(self, case: Any, operation: Route) -> None:
        """Have one request in four be about something that was made for it."""
        if next(self.numbers) % 4:
            return
        if operation.path.endswith(("/upvote", "}/reports")):
            # Few others are live: the rest is the caller's own, or was taken down or deleted on the way.
            case.path_parameters["project_id"] = self.world.project()
        if operation.path.endswith("/settle"):
            case.path_parameters["project_id"] = project = self.world.project()
            self.world.report(project)
        if operation.path.endswith("/appeal"):
            case.path_parameters["project_id"] = self._to_appeal(is_open="review" in operation.path)
        if operation.path.endswith(("/claim", "/approval")) and self.caller and self.role == "admin":
            case.path_parameters["project_id"] = project = self.world.project(status="pending")
            self.world.approve(project, self.caller)
        if "/messages" in operation.path and "project_id" in case.path_parameters:
            case.path_parameters["project_id"] = self.world.project(self.caller)  # threads are for owners alone
        if "picture_id" in case.path_parameters:
            project = self.world.project(self.caller)  # the ids of pictures are random
            case.path_parameters.update(project_id=project, picture_id=self.world.picture(project)["id"])

    def _to_appeal(self, *, is_open: bool) -> int:
        """A rejected project: the caller's own, or another's about which an appeal is open."""
        owner = self.world.user() if is_open or self.caller is None else self.caller
        project = self.world.project(owner, "rejected")
        if is_open:
            self.world.appeal(project, owner)
        return project

    def _lead_to_a_reply(self, path: dict[str, Any]) -> None:
        if "reply_id" in path and not next(self.numbers) % 4:
            path["reply_id"] = self.world.reply()

    def _lead_to_what_exists(self, case: Any) -> None:
        path = case.path_parameters
        for name, value in path.items():
            if isinstance(value, int) and value > KNOWN_IDS:
                path[name] = 1 + value % KNOWN_IDS
        if self.caller and str(path.get("user_id")) == str(self.caller.id):
            path["user_id"] = 1
        if str(path.get("token_id")) == str(self.token_id):
            path["token_id"] = self.token_id + 1
        if "rule_id" in path:
            path["rule_id"] = self.world.rule()
        if path.get("slug") == CATEGORY:
            path["slug"] = "another"
        if "version" in path and len(str(path["version"])) == 16:
            path["version"] = docs.current_version()

    def _name_the_caller(self, case: Any) -> None:
        """Have half of the writes that name an expected user name the caller: all others are 409, whatever they ask."""
        if self.caller and write_checks.EXPECTED_USER in case.headers and next(self.numbers) % 2:
            case.headers[write_checks.EXPECTED_USER] = str(self.caller.id)

    def _make_unique(self, body: Any) -> None:
        """Give each new thing an identity of its own: else 409 would hide whether the rest is taken or refused."""
        number = next(self.numbers)
        unique = {
            "url": f"https://flask.example/{number}",
            "username": f"ada-{number}",
            "email": f"ada-{number}@example.org",
            "slug": f"{CATEGORY}-{number}",
        }
        if isinstance(body, dict):
            body.update({name: value for name, value in unique.items() if body.get(name) == prose.EXAMPLES[name]})

    def _forget_tokens(self) -> None:
        """A user holds a hundred tokens at most."""
        with self.app.app_context():
            transaction(lambda: db.session.execute(delete(Token).where(Token.id != self.token_id)))


def _config(token: str, seed: int, phases: tuple[str, ...]) -> SchemathesisConfig:
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "phases": {phase: {"enabled": phase in phases} for phase in PHASES},
            "auth": {"openapi": {"bearer": {"bearer": token}}} if token else {},
            "continue-on-failure": True,
            "generation": {"max-examples": EXAMPLES, "deterministic": not effort.ASKED},
            "checks": {
                # 412: any text is a fine If-Match, and hardly any names the present version.
                "positive_data_acceptance": {"expected-statuses": ["2xx", "3xx", "401", "403", "404", "409", "412"]},
                "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx"]},
            },
        }
    )


def _mend_query(case: Any, operation: Route) -> None:
    query = case.query
    query.pop("cursor", None)  # cursors are signed: none can be made up
    query.pop("key", None)  # nor can a feed key
    if query.get("sort") == "picked":
        query["picked"] = "true"  # without it there is no such order
    page, limit = (int(query.get(name, usual)) for name, usual in (("page", 1), ("limit", 20)))
    if page * limit > DEPTH:
        query["page"] = 1
    errors = operation.operation.query.validate({name: str(value) for name, value in query.items()})
    query.update({name: prose.EXAMPLES[name] for name in errors if _beyond_schema(errors[name])})


def _mend_account(body: dict[str, Any], operation: Route) -> None:
    # A pattern that all readers of the document share cannot count a part of a text.
    if len(str(body.get("email", "")).strip().partition("@")[0]) > LOCAL_PART_MAX:
        body["email"] = prose.EXAMPLES["email"]
    if "review_categories" in body:
        body["role"] = "reviewer"  # others have none, null included
        body["review_categories"] = body["review_categories"] and [CATEGORY]
    if body.get("language"):
        body["language"] = "en"  # that of the site, which no schema names
    if operation.path == "/api/auth/me":
        body.pop("username", None)  # only an account that a provider named may choose one


def _mend_body(case: Any, operation: Route) -> None:
    body, schema = case.body, operation.operation.body.schema
    if not isinstance(body, dict) or not schema.fields:
        return
    if operation.path == "/api/admin/users/decisions" and body.get("decision") != "suspend":
        body.pop("unpublish", None)
    _mend_account(body, operation)
    _mend_texts(body, schema.validate(body))
    if "category" in body:
        body["category"] = CATEGORY
    if "current_password" in body:
        body |= {name: PASSWORD for name in ("current_password", "password") if name in schema.fields}
    if operation.id == "authRegister" and is_reserved(body["username"].strip()):
        body["username"] = prose.EXAMPLES["username"]
    if "password" in body and check_password_rules(body["password"], username=body.get("username", "")):
        body["password"] = prose.EXAMPLES["password"]
    if body.get("expires_at") is not None:
        body["expires_at"] = prose.EXAMPLES["expires_at"]


def _mend_rule(body: Any, operation: Route) -> None:
    """Have a rule be one whose members agree, which is beyond a schema."""
    if "/rules" not in operation.path or not isinstance(body, dict):
        return
    rule = {**prose.RULE, "name": secrets.token_hex(8), "then": "mark"}
    if operation.path.endswith("/preview"):
        body["rule"] = rule
    else:
        body.update({name: value for name, value in rule.items() if name in body})


def _mend_fields(body: Any, operation: Route) -> None:
    """Have a field be one whose members agree, and a project have no values of fields that are not there."""
    if not isinstance(body, dict):
        return
    if operation.path.startswith("/api/admin/fields"):
        body.pop("choices", None)
        mended = {"label": "Label", "help": "", "kind": "text", "required": False, "facet": False, "categories": []}
        body.update({name: value for name, value in mended.items() if name in body})
        if operation.method.upper() == "PUT":
            body.pop("name", None)
            body.pop("kind", None)
        elif "name" in body:
            body["name"] = f"f{secrets.token_hex(8)}"
    elif "fields" in body:
        body["fields"] = {}


def spoil_body(body: Any, operation: Route) -> None:
    """Have what is too long by the schema stay so when it is trimmed and in NFC, which is how it is counted."""
    _lengthen(body, operation.operation.body.schema)


def _lengthen(values: Any, schema: Any) -> None:
    """Have each text that is too long by the schema, but not when it is trimmed, be so in both ways."""
    if not isinstance(values, dict) or not schema.fields:
        return
    errors = schema.validate(values)
    for name, field in schema.fields.items():
        text, longest = values.get(name), field.metadata.get("maxLength")
        if isinstance(field, Line | Matching) and isinstance(text, str) and len(text) > longest and name not in errors:
            values[name] = text + "x" * longest


def _mend_texts(values: dict[str, Any], errors: dict[str, Any]) -> None:
    """Have the document's example in place of each text that is refused for a reason beyond a schema, at any depth."""
    for name, messages in errors.items():
        if _beyond_schema(messages):
            values[name] = prose.EXAMPLES[name]
        elif isinstance(messages, dict) and isinstance(values.get(name), dict):
            _mend_texts(values[name], messages)


def _beyond_schema(messages: Any) -> bool:
    return isinstance(messages, list) and all(message.startswith(BEYOND_SCHEMA) for message in messages)


def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Fail for an answer with a member that the document does not describe; clients are not promised this."""
    for name, schema in raw_schema["components"]["schemas"].items():
        if name != "Problem":
            schema.setdefault("additionalProperties", False)


def _findings(event: events.EngineEvent) -> Iterator[str]:
    if isinstance(event, events.NonFatalError):
        yield f"{event.label}: {event.value!r}"
    elif isinstance(event, events.FatalError):
        yield repr(event.exception)
    elif isinstance(event, events.ScenarioFinished):
        for case_id, checks in event.recorder.checks.items():
            for check in checks:
                if check.status == Status.FAILURE and not _is_of_a_page(
                    check.name, event.recorder.cases[case_id].value
                ):
                    yield _shown(event, case_id, check)


def _is_of_a_page(check: str, case: Any) -> bool:
    """Whether a check finds that an address answers GET, which the document leaves out because people get a page."""
    at_address = case.path == "/api/auth/notifications/{token}"
    return at_address and check in {"unsupported_method", "allow_header_conformance"}


def _shown(event: events.ScenarioFinished, case_id: str, check: Any) -> str:
    case = event.recorder.cases[case_id].value
    interaction = event.recorder.interactions.get(case_id)
    answer = interaction.response if interaction else None
    lines = [
        f"{event.phase.name} {check.name}: {check.failure_info.failure.message}",
        f"{case.method} {case.formatted_path} {case.query} {case.headers} {case.body!r}"[:1000],
        f"{answer.status_code} {answer.content[:500]!r}" if answer else "",
    ]
    return "\n".join(lines)


def _send(transport: WSGITransport, case: Any, **options: Any) -> Any:
    """Send without the options of a network client, which schemathesis 4.32 hands to werkzeug's in its probes."""
    network = ("max_redirects", "verify", "cert")
    return SEND(transport, case, **{name: value for name, value in options.items() if name not in network})


def _ignore(*_: Any, **__: Any) -> None:
    """Do nothing."""


@contextmanager
def _hooked(*hooks: Any) -> Iterator[None]:
    """Register functions named as the hooks that they are.

    Meanwhile examples are not steered towards what is accepted, as half of them are anyway: hypothesis's climbing took
    a third of the time, for ever more of the same.
    """
    for hook in hooks:
        schemathesis.hook(hook)
    try:
        # A mock in its place would keep all that it is called with: hundreds of megabytes, in which each collection
        # of garbage stops everything for seconds.
        with patch.object(WSGITransport, "send", _send), patch.object(metrics, "maximize", _ignore):
            yield
    finally:
        for hook in hooks:
            GLOBAL_HOOK_DISPATCHER.unregister(hook)
