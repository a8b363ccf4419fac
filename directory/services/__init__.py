"""The rules, shared by routes, commands and the deliverer: no HTTP, and no commit.

It may import `models`, `db`, `extensions`, `errors` and `logs`. A rule gets what it needs as arguments.
"""
