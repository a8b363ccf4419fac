"""gunicorn's configuration: what it takes from the settings, and what it closes."""

import gc
import os
import platform
import resource
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import prometheus_client  # noqa: F401  (it looks for the folder when it is imported: other tests here have none)
import pytest

from directory.runtime import bootstrap
from directory.runtime.reload import running
from tests.conftest import ENVIRONMENT
from tests.support.serving import ROOT

LOG = SimpleNamespace(error_log=None, warning=lambda *_: None)  # of gunicorn


@pytest.fixture(autouse=True)
def garbage_is_collected() -> Iterator[None]:
    """The file turns the collector off in the process that reads it."""
    yield
    gc.unfreeze()
    gc.enable()
    running.begin(None)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Reads the file with settings as the environment gives them."""

    def run(**settings: str) -> SimpleNamespace:
        for name, value in {**ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}", **settings}.items():
            monkeypatch.setenv(name, value)
        return SimpleNamespace(**runpy.run_path(str(ROOT / "gunicorn.conf.py")))

    for name in (
        "HOST",
        "PORT",
        "WEB_CONCURRENCY",
        "THREADS",
        "REDIS_URL",
        "WEBHOOK_URL",
        "MAIL_URL",
        "SITE_NAME",
        "LOG_FORMAT",
    ):
        monkeypatch.delenv(name, raising=False)
    return run


def test_by_default_one_process_with_eight_threads_listens_on_loopback(load: Any) -> None:
    conf = load()

    assert (conf.bind, conf.workers, conf.threads) == ("127.0.0.1:8000", 1, 8)


def test_garbage_is_collected_in_the_workers_also_after_a_reload(load: Any) -> None:
    for _ in ("start", "reload"):
        conf = load()
        assert not gc.isenabled()
        conf.pre_fork(SimpleNamespace(), SimpleNamespace())
        assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_a_server_on_sqlite_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Each of these takes a megabyte of memory or more, in a process that never uses it."""
    needless = {"psycopg", "smtplib", "email.headerregistry", "requests", "alembic", "PIL", "webauthn", "authlib"}
    code = f"import runpy, sys; runpy.run_path('gunicorn.conf.py'); import wsgi; print({needless} & {{*sys.modules}})"
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}"}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


COLLECTIONS = """
import gc, runpy
collections = lambda: sum(each["collections"] for each in gc.get_stats())
before = collections()
runpy.run_path("gunicorn.conf.py")
print(collections() - before)
"""


def test_no_garbage_is_looked_for_while_the_application_is_imported(tmp_path: Path) -> None:
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}"}
    command = [sys.executable, "-c", COLLECTIONS]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 20  # while the file itself is compiled; 250 with the collector on


def test_a_single_process_keeps_what_it_counts(load: Any) -> None:
    assert load().max_requests == 0


def test_several_processes_are_replaced_now_and_then_and_not_together(load: Any) -> None:
    conf = load(REDIS_URL="redis://127.0.0.1:1/0", WEB_CONCURRENCY="4", THREADS="2")

    assert (conf.workers, conf.threads) == (4, 2)
    assert (conf.max_requests, conf.max_requests_jitter) == (1_000_000, 100_000)


@pytest.mark.parametrize(("host", "bind"), [("0.0.0.0", "0.0.0.0:8080"), ("::1", "[::1]:8080"), ("db-1", "db-1:8080")])
def test_it_listens_where_it_is_told_to(load: Any, host: str, bind: str) -> None:
    assert load(HOST=host, PORT="8080").bind == bind


@pytest.mark.parametrize(("name", "value"), [("PORT", "0"), ("PORT", "http"), ("HOST", "a b"), ("THREADS", "0")])
def test_a_setting_that_makes_no_sense_stops_the_start_by_name(load: Any, name: str, value: str) -> None:
    with pytest.raises(SystemExit, match=f"^{name}: "):
        load(**{name: value})


def test_nothing_is_open_that_need_not_be(load: Any) -> None:
    conf = load()

    assert conf.control_socket_disable is True
    assert (conf.limit_request_line, conf.limit_request_fields) == (4094, 64)
    assert (conf.timeout, conf.graceful_timeout, conf.keepalive) == (30, 30, 5)
    assert not hasattr(conf, "forwarded_allow_ips")
    assert (conf.forwarder_headers, conf.secure_scheme_headers) == ("", {})
    assert not hasattr(conf, "accesslog")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /dev/shm")
def test_heartbeats_stay_in_memory(load: Any) -> None:
    assert load().worker_tmp_dir == "/dev/shm"


@pytest.mark.parametrize(
    ("settings", "beside"),
    [
        ({"WEBHOOK_URL": "https://here.example/", "WEBHOOK_SECRET": "c2VjcmV0"}, True),
        ({"WEBHOOK_URL": "https://here.example/", "WEBHOOK_SECRET": "c2VjcmV0", "WEBHOOK_WORKER": "false"}, False),
        ({"MAIL_URL": "smtp://localhost", "MAIL_FROM": "directory@example.org"}, True),
        ({"MAIL_URL": "smtp://localhost", "MAIL_FROM": "directory@example.org", "WEBHOOK_WORKER": "false"}, False),
        ({"LINK_CHECKS": "on"}, True),
        ({}, False),
    ],
)
def test_a_deliverer_runs_beside_where_there_is_something_to_deliver_to(
    load: Any, settings: dict[str, str], beside: bool
) -> None:
    conf = load(**settings)
    conf.when_ready.__globals__["Supervisor"] = lambda command, _log, _died: SimpleNamespace(
        start=lambda: None, run=command
    )
    server = SimpleNamespace(log=LOG)
    conf.on_starting(server)
    conf.when_ready(server)

    assert (server.deliverer is not None) == beside
    assert not beside or server.deliverer.run[-3:] == ("webhooks", "work", "--until-eof")


def test_a_server_without_a_deliverer_reloads_and_ends(load: Any) -> None:
    conf, app = load(), SimpleNamespace(extensions={})
    server = SimpleNamespace(log=LOG, app=SimpleNamespace(wsgi=lambda: app))
    conf.on_starting(server)

    assert conf.on_reload(server) is None
    assert conf.on_exit(server) is None


def welcomes(conf: SimpleNamespace, server: SimpleNamespace, ages: range) -> list[str]:
    """What each new worker is to print."""
    workers = [SimpleNamespace(age=age) for age in ages]
    for worker in workers:
        conf.post_fork(server, worker)
    return [worker.welcome for worker in workers]


def test_the_last_of_the_first_workers_prints_what_people_need_and_none_after_it(
    load: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = load(WEB_CONCURRENCY="3", LOG_FORMAT="text", PREPARE_DATABASE="true", SITE_NAME="Ours", HOST="::")
    parts = {"prepare": lambda _app: "the passwords\n", "addresses": bootstrap.addresses}
    conf.on_starting.__globals__["bootstrap"] = SimpleNamespace(**parts)
    app = SimpleNamespace(app_context=nullcontext, extensions={})
    conf.post_fork.__globals__["db"] = SimpleNamespace(engine=SimpleNamespace(dispose=lambda close: None))
    server = SimpleNamespace(app=SimpleNamespace(wsgi=lambda: app), log=LOG)
    conf.on_starting(server)

    tidied: list[Any] = []
    first, second, last, later = welcomes(conf, server, range(1, 5))
    assert (first, second, later) == ("", "", "")
    assert last.startswith("the passwords\n\nOurs is ready:\n  Site    http://[::1]:8000/\n")
    assert last.endswith("Press Ctrl-C to stop.\n")
    conf.post_worker_init.__globals__["housekeeping"] = SimpleNamespace(start=tidied.append)
    conf.post_worker_init(SimpleNamespace(age=3, welcome=last, wsgi=app))
    conf.post_worker_init(SimpleNamespace(age=2, welcome="", wsgi=app))
    assert tidied == [app, app]
    assert capsys.readouterr().out == f"{last}\n"
    conf.on_reload(server)
    assert welcomes(conf, server, range(3, 4)) == [""]


def test_where_logs_are_json_nothing_but_what_seeding_printed_is_no_json(load: Any) -> None:
    conf = load(LOG_FORMAT="json")
    server = SimpleNamespace(log=LOG)
    conf.on_starting(server)

    assert server.welcome == ""


def test_what_a_dead_worker_measured_of_itself_is_forgotten(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conf = load()
    (tmp_path / "gauge_livemax_41.db").touch()
    (tmp_path / "gauge_livemax_42.db").touch()
    workers = [SimpleNamespace(pid=pid) for pid in (41, 42)]
    for worker in workers:
        conf.pre_fork(None, worker)
        worker.is_done[0] = True
    conf.child_exit(None, workers[0])
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    conf.child_exit(None, workers[1])

    assert [path.name for path in tmp_path.glob("gauge*")] == ["gauge_livemax_41.db"]


def test_it_asks_for_as_many_files_as_its_connections_need(load: Any) -> None:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))
        load()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (4096 if most < 0 else min(4096, most), most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))


HEAPS = """
import ctypes, runpy, sys, threading
if sys.argv[1] == "as it is served":
    runpy.run_path("gunicorn.conf.py")
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
meeting = threading.Barrier(4)
def allocate():
    meeting.wait()
    [libc.malloc(5000) for _ in range(100)]
    meeting.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[each.start() for each in threads]
[each.join() for each in threads]
out = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, out)
libc.fclose(out)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_share_a_heap(tmp_path: Path) -> None:
    heaps = {}
    for how in ("as it comes", "as it is served"):
        environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}"}
        command = [sys.executable, "-c", HEAPS, how]
        told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        heaps[how] = told.stdout.count("<heap nr=")
    assert heaps["as it is served"] == 1 < heaps["as it comes"]
