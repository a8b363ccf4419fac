"""The handling of every request: one pipeline for all routes.

It does not depend on any route, the cache or the server.
"""
