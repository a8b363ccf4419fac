"""A cache of public responses, valid while the database's snapshot says so.

It may import `http`, `db` and whatever these may; the application and its settings are passed to it. Nothing but the
server and `create_app` imports it: the service works the same without it, only slower.
"""
