"""A gunicorn worker on uvloop and httptools: its event loop reads the requests, and answers many of them itself.

`worker` accepts connections, `protocol` reads requests from them, and `dispatch` chooses what answers each: the loop
itself, or, in a thread of `thread_pool`, `vote_batching` or the application. It imports the cache, http and db; only
gunicorn's configuration imports it. gunicorn's own threaded worker gives the same answers.
"""

# By SERVER_WORKER.
WORKER_CLASSES = {"loop": "directory.server.worker.Worker", "gthread": "gthread"}
