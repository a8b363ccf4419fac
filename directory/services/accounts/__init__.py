"""Accounts: their names and passwords, sessions, tokens, feed keys and mailed links; and the lists of users."""
