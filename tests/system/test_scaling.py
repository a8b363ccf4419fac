"""The model of many hosts (bench/scaling): its queues obey the known laws, and docs/scaling.md says what it says."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from bench.scaling import points, tables
from bench.scaling.costs import MEASURED, Costs
from bench.scaling.database import Database
from bench.scaling.derive import ONE, derive, many
from bench.scaling.engine import Signal, Simulation, Station
from bench.scaling.fleet import Fleet, News, bearable, most, play
from bench.scaling.load import STORED, VOTE, Links, Request, ignore_answer, open_loop
from bench.scaling.scenarios import bench
from bench.scaling.worker import Worker

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scaling.md").read_text()


def queue(rate: float, serve, *, places: int = 1, seconds: float = 4_000.0) -> tuple[float, float, float]:
    """The mean time in a system, the mean number in it, and how busy it was, of arrivals at random."""
    simulation, rng = Simulation(), random.Random(7)
    station, times, inside = Station(simulation, places), [], [0, 0.0, 0.0]  # now, since, and number times time

    def change(by: int) -> None:
        inside[2] += inside[0] * (simulation.now - inside[1])
        inside[0], inside[1] = inside[0] + by, simulation.now

    def customer(began: float):
        change(+1)
        yield from station.serve(serve(rng), slice_=1e9)
        change(-1)
        times.append(simulation.now - began)

    arrivals = open_loop(simulation, rate, random.Random(8), lambda: simulation.start(customer(simulation.now)))
    simulation.start(arrivals)
    simulation.run(seconds)
    change(0)
    return sum(times) / len(times), inside[2] / seconds, station.busy / seconds / places


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_place_and_constant_times_are_as_pollaczek_and_khinchine_have_them(load):
    mean, _, busy = queue(load, lambda _: 1.0, seconds=150_000)
    assert mean == pytest.approx(1 + load / (2 * (1 - load)), rel=0.05)
    assert busy == pytest.approx(load, rel=0.03)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_place_and_exponential_times_are_an_mm1_queue(load):
    mean, _, _ = queue(load, lambda rng: rng.expovariate(1.0), seconds=60_000)
    assert mean == pytest.approx(1 / (1 - load), rel=0.06)


def test_two_places_and_exponential_times_are_an_mm2_queue():
    mean, _, _ = queue(1.2, lambda rng: rng.expovariate(1.0), places=2, seconds=60_000)
    assert mean == pytest.approx(1 / (1 - 0.6**2), rel=0.06)


def test_the_number_in_a_queue_is_its_rate_times_its_time():
    mean, number, _ = queue(0.7, lambda rng: rng.expovariate(1.0), seconds=20_000)
    assert number == pytest.approx(0.7 * mean, rel=0.03)


@pytest.mark.parametrize("operation", ["list", "one", "vote", "vote_hot", "mixed", "news"])
def test_a_closed_loop_keeps_its_clients_and_no_part_is_busier_than_it_can_be(operation):
    rate = bench(operation, 2, 16, seconds=0.5)
    assert rate.requests * rate.milliseconds / 1000 == pytest.approx(16, rel=0.03)
    assert 0 < rate.cores < 1.02  # a place is counted when it is given back


def test_a_single_client_takes_the_sum_of_all_parts():
    c = MEASURED
    parts = c.client + c.iteration + c.snapshot + c.snapshot_database + c.stored
    assert bench("list", 1, 1, seconds=0.2).requests == pytest.approx(1 / parts, rel=0.02)


def test_a_distance_is_waited_for_twice_by_a_read():
    near, far = (bench("list", 1, 1, milliseconds=ms, seconds=0.5).milliseconds for ms in (0.0, 5.0))
    assert far - near == pytest.approx(10, abs=0.2)


def test_the_same_run_is_the_same():
    assert bench("mixed", 2, 16, seconds=0.2) == bench("mixed", 2, 16, seconds=0.2)
    assert play(News(), Fleet(2), seconds=0.2) == play(News(), Fleet(2), seconds=0.2)


def test_more_processors_hosts_and_speed_answer_no_less():
    assert bench("list", 2, 16, cores=4, seconds=0.2).requests > bench("list", 2, 16, seconds=0.2).requests
    assert most("one", Fleet(2), seconds=0.05)[0] > most("one", Fleet(1), seconds=0.05)[0]
    slow = replace(MEASURED, flush=10 * MEASURED.flush)
    assert bench("vote", 2, 16, costs=slow, seconds=0.3).requests < bench("vote", 2, 16, seconds=0.3).requests


def test_a_row_that_is_locked_until_the_log_is_flushed_bounds_the_votes_for_it():
    simulation, costs = Simulation(), Costs(flush=0.01)
    database = Database(simulation, costs, Station(simulation, 8))

    def voter():
        while True:
            yield from database.vote([1], 0.001)

    for _ in range(20):
        simulation.start(voter())
    simulation.run(11.0)
    assert database.votes == pytest.approx(1000, abs=2)
    assert database.held == pytest.approx(11.0, rel=0.01)


def test_one_flush_takes_all_commits_that_were_written_before_it_began():
    simulation = Simulation()
    database = Database(simulation, Costs(flush=0.01), Station(simulation, 8))
    for project in range(5):
        simulation.start(database.vote([project], 0.001))
    simulation.run(1.0)
    assert (database.votes, database.flushes) == (5, 2)


def test_a_vote_spoils_a_page_in_every_process():
    simulation = Simulation()
    cores = Station(simulation, 4)
    database = Database(simulation, MEASURED, cores)
    workers = [Worker(simulation, MEASURED, database, cores, Links(), seed=str(n)) for n in range(2)]

    def read() -> list[int]:
        for worker in workers:
            worker.receive(Request(STORED, "page", ignore_answer, 1.0))
        simulation.run(simulation.now + 0.1)
        return [worker.made for worker in workers]

    assert read() == [1, 1]
    assert read() == [1, 1]
    workers[0].receive(Request(VOTE, 1, ignore_answer))
    simulation.run(simulation.now + 0.1)
    assert read() == [2, 2]


@pytest.mark.parametrize(("rng", "in_order"), [(None, True), (random.Random(7), False)])
def test_a_place_goes_to_who_waits_for_longest_or_to_anyone(rng, in_order):
    simulation, order = Simulation(), []
    station = Station(simulation, 1, rng)

    def task(n: int):
        yield from station.serve(1.0)
        order.append(n)

    for n in range(20):
        simulation.start(task(n))
    simulation.run(30.0)
    assert sorted(order) == [*range(20)]
    assert (order == [*range(20)]) is in_order


def test_waiting_tasks_go_on_in_their_order():
    simulation, signal, order = Simulation(), None, []
    signal = Signal(simulation)

    def task(name: str):
        yield signal
        order.append(name)

    for name in "abc":
        simulation.start(task(name))
    simulation.run(1.0)
    signal.fire()
    simulation.run(2.0)
    assert order == ["a", "b", "c"]


def test_a_load_that_is_carried_is_carried_where_it_is_less():
    carried = [bearable(News(), Fleet(hosts), seconds=0.3, steps=0, ceiling=2) for hosts in (1, 2, 4)]
    assert carried == sorted(carried)
    assert carried[0] < carried[-1]


def test_the_page_has_the_tables_that_the_command_prints():
    for table in (tables.costs(), tables.rows(), tables.sizes(), tables.held()):
        assert table in PAGE


def test_the_page_has_rows_of_the_tables_that_take_long():
    assert tables.most_row(2) in PAGE
    assert tables.news_row("2 hosts, as it is", News(), Fleet(2)) in PAGE


def test_the_errors_of_the_model_are_those_that_the_page_states():
    errors = [abs(point.error) for point in points.HELD]
    assert f"{sum(error <= 0.2 for error in errors)} of {len(errors)}" in PAGE


def test_the_constants_are_found_again_in_what_they_would_be_measured_as():
    c, n = {name: value * 1e6 for name, value in vars(MEASURED).items()}, 16.0

    def point(operation: str, alone: bool, server: float, database: float) -> dict[str, object]:
        return {
            "op": operation, "connections": ONE if alone else many(operation), "processes": 1, "ms": 0.0,
            "server": server, "database": database,
            "client": c["client_vote" if operation == "vote" else "client"], "waits": 1.0 if alone else 1 / n,
            "flush_us": c["flush"],
        }  # fmt: skip

    made = []
    for alone in (True, False):
        share = 1.0 if alone else 1 / n
        batch = (c["batch"] + 2 * c["iteration"]) * share + c["vote"] + c["send"]
        batch_database = c["batch_database"] * share + c["vote_database"] + c["lookup_database"]
        loop = (c["iteration"] + c["snapshot"]) * share
        fresh = batch + c["iteration"] * 2 + c["snapshot"] + c["page"] + c["send"]
        made += [
            point("list", alone, loop + c["stored"], c["snapshot_database"] * share),
            point("one", alone, (c["rows_app"] + c["iteration"]) * share + c["row"],
                  c["rows_database"] * share + c["row_database"]),
            point("vote", alone, batch, batch_database),
            point("list_fresh", alone, fresh / 2, (batch_database + c["snapshot_database"] + c["page_database"]) / 2),
            point("session", alone, c["session"] + c["send"], 0.0), point("asset", alone, c["asset"] + c["send"], 0.0),
        ]  # fmt: skip
    made.append({"op": "list", "processes": 1, "ms": 1.0, "connections": 16, "proxy": 2 * c["proxy"], "waits": 1.0})
    found = vars(derive(made))
    assert {name: found[name] * 1e6 for name in found} == pytest.approx(
        c | {"lookup_database": 0.15 * (c["vote_database"] + c["lookup_database"]),
             "vote_database": 0.85 * (c["vote_database"] + c["lookup_database"])}, rel=1e-6
    )  # fmt: skip
