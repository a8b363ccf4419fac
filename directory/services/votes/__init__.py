"""Votes: giving and withdrawing them, and which of them count."""
