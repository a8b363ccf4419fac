"""Votes: giving and withdrawing them, which of them count, and their review."""
