"""The rules, shared by routes, commands and workers: no HTTP, and no commit."""
