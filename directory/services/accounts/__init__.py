"""Accounts: registration, sign-in, passwords, sessions and tokens. It may import what `services` may."""
