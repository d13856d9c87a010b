# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What perftest says, and how its programs are run. Here a script plays perftest; guests have the real one."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse, perftest_run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth.perftest_run import (
    PerftestRun,
    PerftestTools,
)

# Seconds that no program takes, on whatever machine.
PATIENCE = 600
TEXTS = Path(__file__).resolve().parents[4] / "fixtures" / "perftest"

# Listens as a server, connects as a client, says what it is told, and notes on which CPUs it ran.
PROGRAM = """\
#!/usr/bin/env python3
import os, socket, sys, time
here = {here!r}
if "--help" in sys.argv:
    sys.exit(print(open(here + "/help").read()))
open(here + "/seen", "a").write(" ".join(sys.argv[1:]) + " cpus=%d\\n" % len(os.sched_getaffinity(0)))
if os.path.exists(here + "/broken"):
    sys.exit(open(here + "/broken").read())
port = int(sys.argv[sys.argv.index("-p") + 1])
if sys.argv[-1].count(".") == 3:
    try:
        socket.create_connection((sys.argv[-1], port), timeout=60).close()
    except OSError:
        sys.exit(" Couldn't connect to %s:%d" % (sys.argv[-1], port))
    for argument in sys.argv:
        if argument.startswith("--out_json_file="):
            open(argument.split("=")[1], "w").write(open(here + "/json").read())
    print(open(here + "/text").read())
else:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("0.0.0.0", port))
        server.listen(1)
        server.accept()
"""


def text(name: str) -> str:
    return (TEXTS / name).read_text("utf-8")


def values(found: List[perftest_parse.PerftestRow]) -> List[float]:
    return [round(row.value, 2) for row in found]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("write_bw.txt", [94.71]),
        ("write_bw-mib.txt", [94.71]),
        ("write_bw-all.txt", [0.07, 91.9, 94.7]),
        ("write_bw-warning-before-row.txt", [183.61]),
        ("write_bw-warning-in-row.txt", [183.61]),
        ("write_bw-two-processes.txt", [94.71, 94.71]),
        ("read_lat.txt", [1.94]),
        ("read_lat-nan.txt", [4067.57]),
        ("failed.txt", []),
    ],
)
def test_the_rows_of_a_table(name: str, expected: List[float]) -> None:
    assert values(perftest_parse.of_text(text(name))) == pytest.approx(expected, abs=0.01)


def test_a_heading_may_be_torn() -> None:
    assert values(perftest_parse.of_text(text("write_bw-warning-in-heading.txt"))) == [183.61]


def test_a_row_has_sizes_and_peak() -> None:
    (row,) = perftest_parse.of_text(text("write_bw.txt"))
    assert row == perftest_parse.PerftestRow(8388608, 4470, 94.71, 94.74)
    (row,) = perftest_parse.of_text(text("read_lat.txt"))
    assert row == perftest_parse.PerftestRow(2, 1000, 1.94)


def test_the_warning_may_stand_anywhere() -> None:
    """At every place of the output the same row is found, or none, but never another."""
    whole = text("write_bw.txt")
    warning = "Conflicting CPU frequency values detected: 1200.000000 != 2600.000000. CPU Frequency is not max.\n"
    for place in range(len(whole) + 1):
        found = values(perftest_parse.of_text(whole[:place] + warning + whole[place:]))
        assert found == [94.71], place


def test_what_is_no_number_is_no_value() -> None:
    assert perftest_parse.of_text(text("read_lat-nan.txt").replace("4067.57", "-nan")) == []


def test_a_line_that_ends_early_is_no_row() -> None:
    whole = text("write_bw.txt")
    cut = whole[: whole.index("94.71")]
    assert perftest_parse.of_text(cut) == []


@pytest.mark.parametrize(("name", "expected"), [("write_bw.json", 94.71), ("read_lat.json", 1.94)])
def test_json(name: str, expected: float) -> None:
    (row,) = perftest_parse.of_json(text(name))
    assert row.value == expected


def test_json_that_is_none_is_not_used() -> None:
    assert perftest_parse.of_json(text("write_bw-unquoted.json")) == []
    assert perftest_parse.of_json(text("read_lat-nan.json")) == []
    assert perftest_parse.of_json("") == []
    assert perftest_parse.of_json("[]") == []
    assert perftest_parse.of_json('{"results": {"MsgSize": 1}}') == []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with programs that play perftest, and what they say."""
    program = tmp_path / "ib_write_bw"
    program.write_text(PROGRAM.format(here=str(tmp_path)))
    program.chmod(0o755)
    (tmp_path / "help").write_text("Options: --out_json_file=<file>\n")
    (tmp_path / "text").write_text(text("write_bw-warning-in-row.txt"))
    (tmp_path / "json").write_text(text("write_bw.json"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def run(**other: Any) -> PerftestRun:
    return PerftestRun(**{"name": "one", "test": "write_bw", "hca": "rxe0", "port": 1, "iterations": 20, **other})


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_command() -> None:
    argv = perftest_run.arguments(run(tcp_port=18515, gid_index=3, size=65536, address="10.0.0.1"), "/tmp/x.json")
    assert " ".join(argv) == (
        "ib_write_bw -d rxe0 -i 1 -p 18515 -n 20 -F -s 65536 -x 3 --report_gbits"
        " --out_json --out_json_file=/tmp/x.json 10.0.0.1"
    )
    argv = perftest_run.arguments(run(tcp_port=1, test="send_lat", address="fd00::1", ipv6=True))
    assert argv[-2:] == ["--ipv6-addr", "fd00::1"]
    assert (
        " ".join(perftest_run.arguments(run(tcp_port=1, test="read_lat"))) == "ib_read_lat -d rxe0 -i 1 -p 1 -n 20 -F"
    )


def test_loopback_measures_and_leaves_nothing(here: Path) -> None:
    port = free_port()
    (result,) = perftest_run.loopback([run(tcp_port=port)], PerftestTools(), PATIENCE)
    assert (result["ok"], result["value"], result["source"]) == (True, 94.71, "json")
    until(lambda: port not in PerftestTools().listening())


def test_json_that_cannot_be_read_leaves_the_table(here: Path) -> None:
    (here / "json").write_text(text("write_bw-unquoted.json"))
    (result,) = perftest_run.loopback([run(tcp_port=free_port())], PerftestTools(), PATIENCE)
    assert (result["value"], result["source"]) == (183.61, "text")


def test_a_perftest_without_json_is_not_asked_for_it(here: Path) -> None:
    (here / "help").write_text("Options: --report_gbits\n")
    (result,) = perftest_run.loopback([run(tcp_port=free_port())], PerftestTools(), PATIENCE)
    assert result["source"] == "text"
    assert "--out_json" not in (here / "seen").read_text()


def test_a_server_that_nobody_asks_ends_by_itself(here: Path) -> None:
    # A program that is ended before it listens had too little time: a busy machine needs more to start it.
    for seconds in (1, 4, 16, 64):
        port = free_port()
        (result,) = perftest_run.serve([run(tcp_port=port)], PerftestTools(), seconds)
        if not result["error"].endswith(f"did not end within {seconds} s"):
            break
    assert result == {"name": "one", "ok": True, "code": "", "error": ""}
    until(lambda: port not in PerftestTools().listening())


def test_a_server_says_why_it_does_not_listen(here: Path) -> None:
    (here / "broken").write_text(" Unable to find the Infiniband/RoCE device\n")
    (result,) = perftest_run.serve([run(tcp_port=free_port())], PerftestTools(), PATIENCE)
    assert result["error"] == "ib_write_bw failed: Unable to find the Infiniband/RoCE device"


def test_a_tcp_port_in_use_is_named(here: Path) -> None:
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        one.listen(1)
        port = one.getsockname()[1]
        (result,) = perftest_run.serve([run(tcp_port=port)], PerftestTools(), PATIENCE)
    assert result["error"] == f"TCP port {port} is in use on this node"


def test_a_client_without_server_says_so(here: Path) -> None:
    port = free_port()
    (result,) = perftest_run.measure([run(tcp_port=port, address="127.0.0.1")], PerftestTools(), PATIENCE)
    assert (result["code"], result["error"]) == (
        "failed",
        f"ib_write_bw failed: Couldn't connect to 127.0.0.1:{port}",
    )


def test_a_client_that_does_not_end_is_ended(here: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(1)
        (here / "text").unlink()
        os.mkfifo(here / "text")
        (result,) = perftest_run.measure([run(tcp_port=one.getsockname()[1], address="127.0.0.1")], PerftestTools(), 1)
    assert result["error"] == "ib_write_bw did not end within 1 s"


def test_without_perftest_every_run_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = [run(tcp_port=free_port(), test="send_lat"), run(tcp_port=free_port(), test="send_lat", name="two")]
    # Where it is installed, it is not to be found.
    (tmp_path / "timeout").symlink_to(_timeout())
    found = {**command.environment(), "PATH": str(tmp_path)}
    monkeypatch.setattr(command, "environment", lambda: found)
    for results in (perftest_run.serve(runs, PerftestTools(), 5), perftest_run.loopback(runs, PerftestTools(), 5)):
        assert {(result["code"], result["error"]) for result in results} == {
            ("not_installed", "ib_send_lat is not installed (package perftest)")
        }
    clients = [run(tcp_port=1, test="send_lat", address="127.0.0.1")]
    assert [result["code"] for result in perftest_run.measure(clients, PerftestTools(), 5)] == ["not_installed"]


def _timeout() -> str:
    return subprocess.run(["which", "timeout"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_it_runs_near_its_hca(here: Path, tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    device = tmp_path / "root/sys/class/infiniband/rxe0/device"
    device.mkdir(parents=True)
    (device / "local_cpulist").write_text(f"{allowed[0]},4096-4099\n")
    (tmp_path / "root/proc").symlink_to("/proc")
    node = PerftestTools(str(tmp_path / "root"))
    assert node.cpus("rxe0") == {allowed[0]}
    (result,) = perftest_run.loopback([run(tcp_port=free_port())], node, PATIENCE)
    assert result["cpus"] == 1
    assert {line.split("cpus=")[1] for line in (here / "seen").read_text().splitlines()} == {"1"}
    assert sorted(os.sched_getaffinity(0)) == allowed


@pytest.mark.parametrize("content", ["", "\n", "4096\n", "x\n"])
def test_cpus_that_cannot_be_used_are_no_reason_not_to_run(tmp_path: Path, content: str) -> None:
    device = tmp_path / "sys/class/infiniband/rxe0/device"
    device.mkdir(parents=True)
    (device / "local_cpulist").write_text(content)
    assert PerftestTools(str(tmp_path)).cpus("rxe0") == os.sched_getaffinity(0)
