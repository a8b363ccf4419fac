"""The catalog of projects: lists, search, order and paging."""
