"""Parsers: each makes a value of the text of a setting. They do not read the environment; `config.py` alone does."""
