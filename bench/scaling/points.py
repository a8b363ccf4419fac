"""What was measured of one and two processes, which the model is held against, and by how much it errs.

`python -m bench.scaling.measure`, two rounds of three seconds each, 100,000 projects, 16 connections.
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
        rate = bench(self.operation, self.processes, CONNECTIONS, milliseconds=self.milliseconds, seconds=0.6)
        return rate.requests

    @property
    def error(self) -> float:
        """How much more the model says than was measured, as a share."""
        return self.simulated / self.measured - 1


HELD = (
    Held("list", 1, 0, (20_617, 18_965)),
    Held("one", 1, 0, (10_446, 11_022)),
    Held("vote", 1, 0, (1_619, 1_857)),
    Held("vote_hot", 1, 0, (1_674, 1_904)),
    Held("mixed", 1, 0, (4_435, 4_256)),
    Held("news", 1, 0, (3_412, 3_850)),
    Held("list", 2, 0, (27_887, 26_937)),
    Held("one", 2, 0, (11_275, 15_857)),
    Held("vote", 2, 0, (1_792, 2_026)),
    Held("vote_hot", 2, 0, (1_760, 1_696)),
    Held("mixed", 2, 0, (3_826, 4_751)),
    Held("news", 2, 0, (3_956, 4_125)),
    Held("list", 1, 1, (4_654, 4_822)),
    Held("one", 1, 1, (3_936, 3_634)),
    Held("vote", 1, 1, (1_195, 1_129)),
    Held("vote_hot", 1, 1, (1_189, 1_171)),
    Held("mixed", 1, 1, (1_655, 1_647)),
    Held("news", 1, 1, (1_540, 1_559)),
    Held("list", 2, 1, (4_367, 4_855)),
    Held("one", 2, 1, (4_162, 3_867)),
    Held("vote", 2, 1, (1_135, 460)),
    Held("vote_hot", 2, 1, (1_040, 694)),
    Held("mixed", 2, 1, (1_829, 1_693)),
    Held("news", 2, 1, (1_707, 1_596)),
)
