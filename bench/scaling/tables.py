"""The tables of docs/scaling.md."""

from dataclasses import fields

from bench.scaling import points, weights
from bench.scaling.costs import ABOUT, MEASURED
from bench.scaling.fleet import Fleet, News, bearable, most, play

HOSTS = (2, 8, 64)
OPERATIONS = ("list", "one", "vote", "mixed")
SIZES = (1_000_000, 10_000_000, 100_000_000)
GIB = 2**30
# What stands before the hosts, each with all that the ones above have.
NEWS = {
    "as it is": News(),
    "files by nginx": News(files=0),
    "public answers for 5 s by a CDN": News(files=0, age=5),
    "no session without a cookie": News(files=0, age=5, sessions=0),
}


def _table(head: str, lines: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|---" * columns + "|", *lines])


def costs() -> str:
    """Every constant of the model."""
    lines = []
    for field in fields(MEASURED):
        value = getattr(MEASURED, field.name)
        shown = f"{value}" if isinstance(value, int) else f"{value * 1e6:,.0f} us"
        lines.append(f"| `{field.name}` | {shown} | {ABOUT[field.name]} |")
    return _table("| constant | value | what it is |", lines)


def rows() -> str:
    """Bytes of rows and indexes, and what operations write."""
    sizes = " | ".join(f"{size:,}" for size in weights.SIZES)
    head = f"| bytes of rows + indexes | {sizes} |"
    taken = [
        f"| a {entity} | {' | '.join(f'{each.rows:,.0f} + {each.indexes:,.0f}' for each in found)} |"
        for entity, found in weights.TAKES.items()
    ]
    written = [
        f"| {name} | {' | '.join(f'{op.statements:.0f} / {op.records:,.0f} / {op.images:,.0f}' for op in found)} |"
        for name, found in weights.WRITES.items()
    ]
    writes = f"| statements / bytes of records / bytes of whole pages in the log | {sizes} |"
    return _table(head, taken) + "\n\n" + _table(writes, written)


def sizes() -> str:
    """What a directory takes, and where its size breaks something."""
    lines = []
    for projects in SIZES:
        votes = projects * weights.VOTES
        seconds = weights.dashboard_seconds(votes)
        lines.append(
            f"| {projects:,} | {votes:,} | {weights.directory(projects) / GIB:,.0f} GiB "
            f"| {seconds:,.2f} s{' (over the 4 s that a statement may take)' if seconds > 4 else ''} |"
        )
    return _table("| projects | votes | rows and indexes | the dashboard in nobody's memory |", lines)


def held() -> str:
    """The points that the model was held against."""
    lines = [
        f"| `{each.operation}` | {each.processes} | {each.milliseconds:g} "
        f"| {', '.join(f'{rate:,.0f}' for rate in each.rounds)} | {each.simulated:,.0f} | {each.error:+.0%} |"
        for each in points.HELD
    ]
    return _table("| operation | processes | ms each way | requests/s, three rounds | model | error |", lines)


def most_row(hosts: int) -> str:
    """What so many hosts answer at most."""
    found = [most(operation, Fleet(hosts)) for operation in OPERATIONS]
    cells = (f"{rate:,.0f} ({app:.0%}, {database:.0%})" for rate, app, database in found)
    return f"| {hosts} | {' | '.join(cells)} |"


def most_table() -> str:
    """What hosts answer at most."""
    return _table(f"| hosts | {' | '.join(OPERATIONS)} |", [most_row(hosts) for hosts in HOSTS])


def news_row(name: str, news: News, fleet: Fleet) -> str:
    """What becomes of a load."""
    found = play(news, fleet)
    return (
        f"| {name} | {found.requests:,.0f} | {found.list_p99:,.0f} | {found.vote_p99:,.0f} | {found.hosts_busy:.0%} "
        f"| {found.database_busy:.1%} | {found.row_locked:.0%} | {found.made:,.0f} |"
    )


def news_table() -> str:
    """A front page in a day's news, as the service is and with what could stand before it."""
    cases = [(f"{hosts} hosts, {name}", news, Fleet(hosts)) for name, news in NEWS.items() for hosts in HOSTS]
    columns = ("what", "requests/s", "first page p99 ms", "vote p99 ms", "hosts busy", "PostgreSQL busy", "row locked")
    head = f"| {' | '.join(columns)} | pages made/s |"
    return _table(head, [news_row(*case) for case in cases])


def bearable_table() -> str:
    """How many times the load of the news is carried."""
    lines = []
    for hosts in HOSTS:
        found = [bearable(news, Fleet(hosts), seconds=0.5) for news in (*NEWS.values(), News(readers=1, files=0))]
        votes = found[-1] * News().votes
        lines.append(f"| {hosts} | {' | '.join(f'{each:.1f}' for each in found[:-1])} | {votes:,.0f} |")
    head = f"| hosts | {' | '.join(NEWS)} | votes a minute for one project alone |"
    return _table(head, lines)


# Every table by its title.
ALL = {
    "Bytes": rows, "Costs": costs, "Held against what was measured": held, "At most": most_table, "News": news_table,
    "How many times the news": bearable_table, "Size": sizes,
}  # fmt: skip
