"""What was measured of one and two processes, which the model is held against, and by how much it errs.

`python -m bench.scaling.measure`, three rounds of three seconds each, 100,000 projects, 16 connections.
"""

import statistics
from dataclasses import dataclass
from functools import cached_property

from bench.scaling.scenarios import bench

CONNECTIONS = 16


@dataclass(frozen=True)
class Held:
    """A point: an operation, processes, milliseconds to PostgreSQL each way, and requests a second in each round."""

    operation: str
    processes: int
    milliseconds: float
    rounds: tuple[float, ...]

    @property
    def measured(self) -> float:
        """The mean of the rounds."""
        return statistics.fmean(self.rounds)

    @cached_property
    def simulated(self) -> float:
        """What the model says."""
        rate = bench(self.operation, self.processes, CONNECTIONS, milliseconds=self.milliseconds, seconds=2.0)
        return rate.requests

    @property
    def error(self) -> float:
        """How much more the model says than was measured, as a share."""
        return self.simulated / self.measured - 1


HELD = (
    Held("list", 1, 0, (21_855, 21_902, 20_929)),
    Held("one", 1, 0, (11_358, 11_636, 11_638)),
    Held("vote", 1, 0, (1_703, 1_738, 1_648)),
    Held("vote_hot", 1, 0, (1_724, 1_796, 1_714)),
    Held("mixed", 1, 0, (3_595, 4_036, 3_667)),
    Held("news", 1, 0, (3_004, 3_177, 3_091)),
    Held("list", 2, 0, (27_396, 27_427, 28_416)),
    Held("one", 2, 0, (14_770, 14_522, 14_749)),
    Held("vote", 2, 0, (2_469, 2_250, 2_262)),
    Held("vote_hot", 2, 0, (2_468, 2_162, 2_239)),
    Held("mixed", 2, 0, (4_217, 4_226, 3_692)),
    Held("news", 2, 0, (3_733, 3_739, 3_743)),
    Held("list", 1, 1, (4_687, 4_814, 4_727)),
    Held("one", 1, 1, (3_912, 3_722, 3_904)),
    Held("vote", 1, 1, (1_116, 1_137, 1_096)),
    Held("vote_hot", 1, 1, (1_109, 1_134, 1_123)),
    Held("mixed", 1, 1, (1_571, 1_639, 1_573)),
    Held("news", 1, 1, (1_463, 1_478, 1_491)),
    Held("list", 2, 1, (5_091, 5_184, 5_135)),
    Held("one", 2, 1, (4_526, 4_713, 4_465)),
    Held("vote", 2, 1, (1_056, 1_107, 1_178)),
    Held("vote_hot", 2, 1, (984, 988, 983)),
    Held("mixed", 2, 1, (1_653, 1_716, 1_614)),
    Held("news", 2, 1, (1_656, 1_551, 1_661)),
)
