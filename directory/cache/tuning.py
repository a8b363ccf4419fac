"""The constants of the cache. All times are in seconds."""

THREAD_TIMEOUT = 1.0  # for a thread's read of the snapshot; where the database takes longer, the application answers

# The event loop holds up all connections while it waits. Between two waits it answers /healthz, mostly within 100 ms.
LOOP_TIMEOUT = 0.05  # for a statement; a snapshot and its changes have half as long again if they take two
LOOP_LOCK_TIMEOUT = 0.02  # for a thread that is reading to end
LOOP_QUERY_SECONDS = 0.03  # after so much of an iteration it does not begin to read single objects
# Pauses in which it does not use the database, so that threads answer.
PAUSE_AFTER_LOSS = 1.0  # after the connection was lost
PAUSE_AFTER_TIMEOUT = 0.1  # after the loop waited LOOP_LOCK_TIMEOUT and could not read the snapshot
READERS_MAX = 64  # signed-in reads that an iteration answers: each takes 0.1 ms, or 0.5 ms on the longest pages

# How long the application answers a caller whom the cache did not identify, and all signed-in callers after a failure.
BYPASS_SECONDS, BYPASS_ALL_SECONDS = 1.0, 5.0
BYPASSES_MAX = 1_000  # such callers that are remembered
ADMITTED_MAX = 10_000  # readers that a process remembers where only members may read
