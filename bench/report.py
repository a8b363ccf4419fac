"""The measurements as Markdown tables."""

import statistics
from typing import Any

Rows = list[dict[str, Any]]


def table(rows: Rows) -> str:
    """Medians of all rounds; the ratio is of each round's own Flask ceiling."""
    lines = []
    for size in sorted({row["size"] for row in rows}):
        lines += ["", f"### {size:,} projects", ""]
        lines += [("| operation | server | requests/s (min-max) | of constant Flask | p50 ms | p99 ms |"
                  " server CPU us | database CPU us | worker MB | start s | errors |"), "|---" * 11 + "|"]  # fmt: skip
        for op in dict.fromkeys(row["op"] for row in rows):
            for server in dict.fromkeys(row["server"] for row in rows):
                mine = [r for r in rows if (r["size"], r["op"], r["server"]) == (size, op, server)]
                if mine:
                    lines.append(_line(op, server, mine, rows))
    return "\n".join(lines) + "\n"


def _line(op: str, server: str, mine: Rows, rows: Rows) -> str:
    ceiling = {
        r["round"]: r["rps"]
        for r in rows
        if r["server"] == "flask_const" and r["size"] == mine[0]["size"] and r["op"] == _like(op)
    }
    ratios = [r["rps"] / ceiling[r["round"]] for r in mine if r["round"] in ceiling]

    def middle(name: str, digits: int = 1) -> str:
        values = [r[name] for r in mine if name in r]
        return f"{statistics.median(values):,.{digits}f}" if values else "-"

    rates = [r["rps"] for r in mine]
    cells = [op, server, f"{statistics.median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})"]
    cells += [f"{statistics.median(ratios):.2f}" if ratios else "-", middle("p50_ms"), middle("p99_ms")]
    cells += [middle("server_us", 0), middle("database_us", 0), middle("worker_mb", 0), middle("start_s", 2)]
    return "| " + " | ".join([*cells, str(sum(r["errors"] for r in mine))]) + " |"


def growth(rows: Rows) -> str:
    """The cost of a request at each size, in CPU microseconds of server and database: medians of all rounds.

    Of what is timed one by one, its median time instead. As a multiple of the first, the median of the rounds' own
    multiples, and the least and the greatest.
    """
    sizes = sorted({row["size"] for row in rows})
    if len(sizes) < 2:
        return ""
    lines = ["", "### Growth", "", "| operation | " + " | ".join(f"{size:,}" for size in sizes)]
    lines[-1] += " | last to first (min-max) |"
    lines.append("|---" * (len(sizes) + 2) + "|")
    for op in dict.fromkeys(row["op"] for row in rows):
        mine = [row for row in rows if row["op"] == op]
        mine = [row for row in mine if row["server"] == "ours"] or mine  # those of fields are asked of another server
        costs = [[_cost(row) for row in mine if row["size"] == size] for size in sizes]
        multiples = [last / first for first, last in zip(costs[0], costs[-1], strict=True)]
        spread = f"{statistics.median(multiples):.2f} ({min(multiples):.2f}-{max(multiples):.2f})"
        unit = "us" if "server_us" in mine[0] else "ms"
        shown = (f"{statistics.median(each):,.{0 if unit == 'us' else 1}f} {unit}" for each in costs)
        lines.append(f"| {op} | {' | '.join(shown)} | {spread} |")
    return "\n".join(lines) + "\n"


def _cost(row: dict[str, Any]) -> float:
    return float(row["server_us"] + row.get("database_us", 0) if "server_us" in row else row["p50_ms"])


def _like(op: str) -> str:
    """Mixtures of pages are held against the ceiling of one page, and members' requests against that of anybody's."""
    return "list" if op in {"list_mix", "mixed"} else op.partition("_me")[0]
