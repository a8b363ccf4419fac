"""How hard the fuzzers try: usually little and the same each time; with FUZZ_EXAMPLES that much, and new.

FUZZ_SEED has schemathesis try what it tried before; hypothesis prints how to do so with what it finds.
"""

import os
import random

from hypothesis import HealthCheck, settings

ASKED = os.environ.get("FUZZ_EXAMPLES")
SEED = int(os.environ.get("FUZZ_SEED") or (random.randrange(10**6) if ASKED else 1))
SUPPRESSED = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]


def effort(usual: int, **options: int) -> settings:
    """Settings of hypothesis for `usual` examples where nothing else is asked for."""
    return settings(
        max_examples=int(ASKED or usual),
        derandomize=not ASKED,
        database=None,
        deadline=None,
        suppress_health_check=SUPPRESSED,
        print_blob=True,
        **options,
    )
