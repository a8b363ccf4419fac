"""Holds the bounds of the cache: of time, in seconds, and of callers."""

TIMEOUT = 1.0  # for a thread's read of the snapshot; where the database takes longer, the application answers

# The event loop holds up all connections while it waits. It answers /healthz between two such waits, within 100 ms.
LOOP_TIMEOUT = 0.05  # for the statements of one wait
LOOP_LOCK_TIMEOUT = 0.02  # for a read that a thread has begun
LOOP_QUERY_SECONDS = 0.03  # of an iteration, after which it begins no other statement
LOST_PAUSE = 1.0  # for which it leaves the database alone after it lost the connection
SLOW_PAUSE = 0.1  # for which it leaves the database alone after it waited in vain for another thread's snapshot
# Signed-in reads of one iteration: to fill in the votes takes 0.1 ms for each, and 0.5 ms for the longest pages.
READERS_MAX = 64

# How long the application answers a caller whom the cache did not identify, and all signed-in callers after a failure.
REFUSED_SECONDS, FAILED_SECONDS = 1.0, 5.0
REFUSED_MAX = 1_000  # callers that are remembered
