"""The service does what its document says, whoever asks: schemathesis finds nothing, with all its checks.

SCHEMATHESIS_EXAMPLES sets how many examples it makes of each operation, SCHEMATHESIS_SEED which.
"""

import pytest

from tests.fuzzing import Fuzzer


@pytest.mark.slow
@pytest.mark.parametrize("role", ["anonymous", "member", "admin"])
def test_the_service_does_what_its_document_says(app, role):
    assert "\n\n".join(Fuzzer(app, role).findings()) == ""
