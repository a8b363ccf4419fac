"""Large work is done in portions whose size follows from the time that they take."""

from directory.db.portions import AT_ONCE, FIRST, PORTION_SECONDS, Doing, Portions


def test_a_portion_is_as_large_as_its_time_permits_and_at_most_twice_the_one_before() -> None:
    portions, sizes = Portions("work"), []
    for seconds_of_a_row in [0.0001] * 8 + [0.004] * 4 + [10.0]:
        sizes.append(portions.size)
        portions.took(portions.size * seconds_of_a_row, portions.size)
    doubled = [FIRST * 2**n for n in range(6)]
    assert sizes[:8] == [*doubled, AT_ONCE, AT_ONCE]
    assert sizes[8:12] == [AT_ONCE, 25, 25, 25]
    assert sizes[10] * 0.004 <= PORTION_SECONDS
    assert portions.size == 1
    assert portions.took(0, 0) is None


def test_a_step_says_how_far_it_is() -> None:
    portions = Portions("words of search", 100_000)
    portions.took(0.1, 12_345)
    assert Doing.line() == "words of search, 12,345 of 100,000"
    Doing.begin("building ix")
    assert Doing.line() == "building ix"
