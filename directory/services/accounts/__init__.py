"""Accounts: registration, sign-in, passwords, sessions and tokens."""
