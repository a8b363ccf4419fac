"""The server's constants, each with what it bounds or what it was measured against."""

# What a client may take of the server. Every time is in seconds.
RECEIVE = 8192  # bytes read from a connection at once
HEAD_MAX = 8192  # bytes of a head: what nginx takes of one header; gunicorn itself would take half a megabyte
HEAD_SECONDS = 10.0  # for a head, from its first byte
BODY_SECONDS = 20.0  # for a request in all, from its first byte
CHUNKS_MAX = 4  # times the limit of a body, for a chunked body as it is sent: chunks of two bytes still fit
FIRST_BYTE_SECONDS = 5.0  # for the first byte of a new connection
SEND_SECONDS = 20.0  # for a client to take any more of its response
LINGER_SECONDS = 2.0  # for a client to read the end of its response and to close
LINGERING_MAX = 500  # connections that are being closed
DISCARD_MAX = 65_536  # bytes read from a connection that is being closed: with bytes unread it would be reset
STOP_SECONDS = 2.0  # for which a stopping process keeps idle connections, on which a request may be on its way

# Batches of votes: measured with 16 connections and two processes over PostgreSQL with fsync, 100,000 projects. One
# thread for a batch took 1.4 times the votes that a thread for each took (ADR 13).
WINDOW_SECONDS = 0.1  # that a batch waits for the one before, at most
PAUSE_SECONDS = 0.001  # that it then waits for the clients of that one to send again; epoll counts in milliseconds
BATCH_MAX = 64  # votes, which are one transaction

# Connection balancing: measured with 16 connections to two processes, of which one got fourteen before.
YIELD_SECONDS = 0.005  # for another process to take a connection; it may have to wait for a processor
YIELD_LOOK_SECONDS = 0.001  # between looks at whether it did: epoll counts in no less
ACCEPT_MAX = 16  # connections accepted at once where no other process takes any
NO_FILES_SECONDS = 0.1  # until a process that may open no more files tries to accept again
