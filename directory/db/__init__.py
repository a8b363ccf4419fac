"""Engines, transactions, deadlines and prepared statements for SQLite and PostgreSQL.

It may import only `extensions`, `errors` and `logs` of the service.
"""
