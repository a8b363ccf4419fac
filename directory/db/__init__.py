"""Engines, transactions, deadlines and prepared statements for SQLite and PostgreSQL."""
