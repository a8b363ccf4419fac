"""The service does what its document says, whoever asks: schemathesis finds nothing, with all its checks.

FUZZ_EXAMPLES sets how many examples it makes of each operation, FUZZ_SEED which.
"""

import pytest

from directory import patience
from tests import effort
from tests.fuzzing import Fuzzer


@pytest.mark.slow
@pytest.mark.parametrize("role", ["anonymous", "member", "admin"])
def test_the_service_does_what_its_document_says(app, database, role, monkeypatch):
    # Some 90,000 requests share a process with all that is remembered of them. A machine that stands still for five
    # seconds would be a 503 as promised, and a finding; how long a request takes is tested elsewhere.
    monkeypatch.setattr(patience, "SECONDS", 60.0)
    fuzzer = Fuzzer(app, role)
    findings = list(fuzzer.findings())
    print(f"{database.backend}, {fuzzer.report()}, {len(findings)} findings, seed {effort.SEED}")
    assert "\n\n".join(findings) == ""
