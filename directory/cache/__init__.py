"""A cache of public responses, which are given again until something that they depend on is written.

It also fills these in for signed-in readers, and makes responses of single objects, which it does not store.

It may import `http`, `db` and whatever these may; the application and its settings are passed to it. Only the server
and `create_app` import it: without it the service gives the same answers, slower.
"""
