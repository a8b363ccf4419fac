"""What the parts of a request cost: every constant of the model, and the command that measured it."""

from dataclasses import dataclass, replace

US = 1e-6


@dataclass(frozen=True)
class Costs:
    """Seconds of a processor unless it says otherwise. ABOUT says what each is, and what measured it."""

    client: float = 12 * US
    client_vote: float = 31 * US
    iteration: float = 20 * US
    snapshot: float = 109 * US
    snapshot_database: float = 37 * US
    stored: float = 34 * US
    rows_app: float = 197 * US
    rows_database: float = 55 * US
    row: float = 52 * US
    row_database: float = 12 * US
    page: float = 1052 * US
    page_database: float = 384 * US
    thread: float = 150 * US
    send: float = 20 * US
    batch: float = 844 * US
    batch_database: float = 426 * US
    vote: float = 297 * US
    vote_database: float = 157 * US
    lookup_database: float = 28 * US
    proxy: float = 46 * US
    flush: float = 479 * US
    session: float = 326 * US
    asset: float = 311 * US
    redis: float = 20 * US
    redis_app: float = 125 * US
    redis_trips: int = 4

    def slower(self, factor: float) -> "Costs":
        """The same on a machine that takes so many times as long for everything but the flush."""
        processors = {name: value for name, value in vars(self).items() if name not in {"flush", "redis_trips"}}
        return replace(self, **{name: factor * value for name, value in processors.items()})


MEASURED = Costs()
# What measured them: `measure` is python -m bench.scaling.measure, `rows` is python -m bench.scaling.rows.
ABOUT = {
    "client": "wrk's for a read (`measure`)",
    "client_vote": "wrk's for a vote, whose answers come one by one (`measure`)",
    "iteration": "the event loop's, whatever it does (assumed; `measure` has the sum with what is done)",
    "snapshot": "the server process's for a read of the snapshot (`measure`: list)",
    "snapshot_database": "PostgreSQL's for the same (`measure`: list)",
    "stored": "the server process's for a stored page given again (`measure`: list)",
    "rows_app": "the server process's for a statement for single projects (`measure`: one)",
    "rows_database": "PostgreSQL's for the same (`measure`: one)",
    "row": "the server process's for a single project (`measure`: one)",
    "row_database": "PostgreSQL's for the same (`measure`: one)",
    "page": "the server process's for a page that a thread makes (`measure`: list_fresh)",
    "page_database": "PostgreSQL's for the same (`measure`: list_fresh)",
    "thread": "a thread's way from the loop and back where it need not make the page (assumed)",
    "send": "the loop's to send what a thread made (assumed; `measure` has the sum)",
    "batch": "the server process's for a batch of votes (`measure`: vote)",
    "batch_database": "PostgreSQL's for the same (`measure`: vote)",
    "vote": "the server process's for a vote (`measure`: vote)",
    "vote_database": "PostgreSQL's for the same (`measure`: vote; 85 % of what a vote takes of it)",
    "lookup_database": "PostgreSQL's to look up a voter (`measure`: vote; the rest of it)",
    "proxy": "of the proxy that stands for a distance, for a message (`measure`: list)",
    "flush": "no processor's: until the log is on disk (`measure`: pg_stat_wal, mean of the base points)",
    "session": "the server process's for GET /api/session without a cookie, in a thread (`measure`: session)",
    "asset": "the server process's for a file of the pages, in a thread (`measure`: asset)",
    "redis": "Redis's for a command (`rows`, beside other work)",
    "redis_app": "the server process's for a command of Redis (`rows`, beside other work)",
    "redis_trips": "commands of Redis for a vote, one after the other (`rows`)",
}
