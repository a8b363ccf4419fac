"""The service does what its document says, whoever asks: schemathesis finds nothing, with all its checks.

FUZZ_EXAMPLES sets how many examples it makes of each operation, FUZZ_SEED which.
"""

import pytest

from tests import effort
from tests.fuzzing import Fuzzer


@pytest.mark.slow
@pytest.mark.parametrize("role", ["anonymous", "member", "admin"])
def test_the_service_does_what_its_document_says(app, database, role):
    fuzzer = Fuzzer(app, role)
    findings = list(fuzzer.findings())
    print(f"{database.backend}, {fuzzer.report()}, {len(findings)} findings, seed {effort.SEED}")
    assert "\n\n".join(findings) == ""
