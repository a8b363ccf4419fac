"""Prints the tables of docs/scaling.md: python -m bench.scaling. Takes a minute or more; measures nothing."""

from bench.scaling.tables import ALL

for title, table in ALL.items():
    print(f"\n## {title}\n\n{table()}", flush=True)
