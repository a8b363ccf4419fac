"""How any request is handled: the one pipeline that every route goes through.

It may import `services`, `db` and whatever these may. It knows no route, and nothing of the cache or the server.
"""
