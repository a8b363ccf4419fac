"""The catalog of projects: lists, search, order and paging. It may import what `services` may."""
