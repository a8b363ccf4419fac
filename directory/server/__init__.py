"""A gunicorn worker on uvloop and httptools: its event loop reads requests whole, and answers many of them itself.

It imports the cache, http and db; nothing but gunicorn's configuration imports it. Under gunicorn's own threaded worker
the service gives the same answers.
"""

# By SERVER_WORKER.
WORKER_CLASSES = {"loop": "directory.server.worker.Worker", "gthread": "gthread"}
