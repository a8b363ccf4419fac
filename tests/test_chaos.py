"""The promises about faults, each tried for a moment. `make chaos` tries them for minutes and prints what it saw."""

import pytest

from tests.chaos import Scenario, scenarios
from tests.servers import ServerMissing

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_what_is_promised_holds(scenario: Scenario) -> None:
    try:
        outcome = scenario.play(**scenario.short)
    except ServerMissing as missing:
        pytest.skip(str(missing))
    assert outcome.done
    assert outcome.seen
