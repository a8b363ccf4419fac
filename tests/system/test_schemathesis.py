"""The service does what its document says for every caller: schemathesis finds nothing, with all its checks.

FUZZ_EXAMPLES sets how many examples it makes of each operation, FUZZ_SEED which. With FUZZ_EXAMPLES, as `make fuzz`
sets it, each role is tried on both databases, else on one.
"""

from itertools import product
from typing import Any

import pytest
from flask import Flask

from directory.api.openapi.operations import routes
from tests.support import effort
from tests.support.fuzzing import Fuzzer, spoil_body
from tests.support.fuzzing_accounts import MAIL
from tests.support.lying_provider import LyingProvider
from tests.support.variants import BACKENDS


@pytest.fixture
def app(make_app: Any, provider: LyingProvider) -> Flask:
    """The application with mail and a provider, without which their routes are 404."""
    return make_app(ALLOW_INTERNAL_URLS="true", REPORTS="everybody", APPEALS="on", **MAIL, **provider.environment)  # type: ignore[no-any-return]


# What a role may send does not depend on the database, and each run takes minutes: by itself a role runs on one.
RUNS = [("postgresql", "anonymous"), ("sqlite", "member"), ("postgresql", "admin")]
if effort.ASKED:
    RUNS = list(product(BACKENDS, ["anonymous", "member", "admin"]))


@pytest.mark.slow
@pytest.mark.parametrize(("migrated", "role"), RUNS, indirect=["migrated"])
def test_the_service_does_what_its_document_says(app, database, provider, role):
    fuzzer = Fuzzer(app, role, provider)
    findings = list(fuzzer.findings())
    print(f"{database.backend}, {fuzzer.report()}, {len(findings)} findings, seed {effort.SEED}")
    assert "\n\n".join(findings) == ""


def test_the_fuzzer_never_sends_a_text_that_is_too_long_only_before_it_is_trimmed(app):
    [route] = [each for each in routes(app) if (each.method, each.path) == ("post", "/api/admin/categories")]
    body = {
        "slug": "a",
        "name": f" {'x' * route.operation.body.schema.fields['name'].bounds[1]} ",
        "description": " y ",
    }
    assert route.operation.body.schema.validate(body) == {}
    spoil_body(body, route)
    assert list(route.operation.body.schema.validate(body)) == ["name"]
    spoil_body(unchanged := {"slug": 1, "name": "x"}, route)
    assert unchanged == {"slug": 1, "name": "x"}
