"""Engines, transactions, deadlines and prepared statements for SQLite and PostgreSQL.

It may import `extensions`, `errors` and `logs`, and nothing else of the service.
"""
