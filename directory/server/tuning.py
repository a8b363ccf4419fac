"""The server's constants: the limits of clients, the waits of a process, and the sizes of batches."""

# All times are in seconds.
LINE_MAX = 4094  # bytes of a request line
HEAD_MAX = 8192  # bytes of a head, which is what nginx takes of one header
FIELDS_MAX = 64  # header fields
HEAD_SECONDS = 10.0  # for a head, from its first byte
REQUEST_SECONDS = 20.0  # for a head and its body, from the first byte of the head
CHUNK_MAX = 16  # bytes that a chunk may have in addition to its data, on top of HEAD_MAX for the whole body
FIRST_BYTE_SECONDS = 5.0  # for the first byte of a new connection
SEND_SECONDS = 20.0  # for a client to take any more of its response
SEND_BUFFER = 65_536  # bytes of a response that the system takes before the client does; Linux takes twice as many
LINGER_SECONDS = 2.0  # for a client to read the end of its response and to close
DISCARD_MAX = 65_536  # bytes read from a connection that is being closed: with bytes unread it would be reset
HELD_MAX = 64 * 2**20  # bytes that the clients of a process may occupy: see `Connection.held`
LARGE_MAX = 32 * 2**20  # bytes of the bodies over BODY_MAX (http/request_body.py) that wait for a thread or have one
EVICTED = 16  # the part of all connections that make room when a process has as many as it may: one in so many
LOG_SECONDS = 10.0  # between two log lines on connections that were closed for others
STOP_SECONDS = 2.0  # for which a stopping process keeps idle connections, on which a request may be on its way
TICK_SECONDS = 0.2  # between two checks of the deadlines, and of whether the process is to end
NO_FILES_SECONDS = 0.1  # after which a process that could open no more files accepts again

# Batches of votes: measured with 16 connections and two processes over PostgreSQL with fsync, 100,000 projects. Without
# the pause batches alternated between one vote and seven, and the throughput fell to a third (ADR 13).
WINDOW_SECONDS = 0.1  # after the start of a batch the next one starts, even if the first has not ended
PAUSE_SECONDS = 0.001  # after the end of a batch the next one waits, for the first one's clients to send again
BATCH_MAX = 64  # votes, which are one transaction
