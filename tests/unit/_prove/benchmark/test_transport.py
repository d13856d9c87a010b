# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether a benchmark's transfers went where they were meant to go.

The logs are recorded (see fixtures/nixl), of both ends on one machine, over TCP. What went over RDMA is made of them:
the configurations are those that UCX logged in a guest with Soft-RoCE, or are named after mlx5.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import log, transport

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nixl"
MIB = 1 << 20
RXE = "rc_verbs/rxe0:1"
SPLIT = "50% on rc_verbs/rxe0:1 and 50% on tcp/veth0"


def recorded(name: str) -> str:
    return (FIXTURES / f"{name}.log").read_text("utf-8")


def remote(text: str) -> str:
    """The log as if the target had been on another node."""
    lines = []
    for line in text.splitlines():
        if line.startswith("RESULT "):
            value = json.loads(line[7:])
            value["target"]["boot_id"] = "00000000-0000-0000-0000-000000000002"
            line = f"RESULT {json.dumps(value)}"
        lines.append(line.replace("intra-node", "inter-node"))
    return "\n".join(lines)


def over(config: str, text: str = "") -> log.BenchmarkLog:
    """The log as if all that it moved had gone over this, by the HCAs themselves."""
    found = (text or remote(recorded("tcp"))).replace("| software emulation |", "| zero-copy          |")
    for before in ("52% on tcp/lo and 48% on tcp/eth0", "tcp/lo"):
        found = found.replace(before, config)
    return log.read(found)


def case(found: log.BenchmarkLog, operation: str = "WRITE", size: int = MIB, **changed: Any) -> log.Case:
    (mine,) = (one for one in found.cases if (one.operation, one.bytes) == (operation, size))
    return dataclasses.replace(mine, **changed)


def refused(found: log.BenchmarkLog, allocated: Any, **changed: Any) -> str:
    with pytest.raises(transport.DishonestError) as error:
        transport.judge(case(found, **changed), found.tables, allocated)
    return str(error.value)


def test_the_tables_of_a_real_log() -> None:
    found = log.read(recorded("tcp"))
    assert (len(found.cases), found.error) == (6, "")
    assert {table.peer for table in found.tables} == {"self", "intra-node"}
    write = log.payload(found.tables, "WRITE", MIB)
    assert {(peer, row.config) for peer, row in write} == {("intra-node", "52% on tcp/lo and 48% on tcp/eth0")}
    assert set(write[0][1].lanes) == {("tcp", "lo"), ("tcp", "eth0")}
    assert [row.lanes for _peer, row in log.payload(found.tables, "READ", MIB)] == [(("tcp", "lo"),)]


def test_tables_whose_titles_are_side_by_side() -> None:
    """As UCX wrote them before it gave each title a line of its own: `` | ucp_context_0 inter-node cfg#1 | ... |``."""
    text = recorded("tcp")
    titles = re.compile(r"(?m)^(UCX [^|\n]*\|[^|\n]*cfg#[0-9]+ +\|)\nUCX [^|\n]*\|([^|\n]*\|)$")
    older = re.sub(r"(?m)^UCX .*\| +Range +\|.*\n", "", titles.sub(r"\1\2", text))
    assert len(titles.findall(text)) == older.count("cfg#") == text.count("cfg#")
    assert log.read(older).tables == log.read(text).tables


def test_sizes_choose_the_row() -> None:
    lines = ["| a inter-node cfg#1 |", "| remote memory write by ucp_put* from host memory to host |"]
    lines += [
        "| 0 | short | rc_mlx5/mlx5_0:1 |",
        "| 1..8K | copy-in | rc_mlx5/mlx5_1:1 |",
        "| 8193..inf | zero-copy | tcp/e |",
    ]
    table = log.tables(lines)
    chosen = [log.payload(table, "WRITE", size)[0][1].config for size in (0, 1, 8192, 8193, 1 << 40)]
    assert chosen == ["rc_mlx5/mlx5_0:1", "rc_mlx5/mlx5_1:1", "rc_mlx5/mlx5_1:1", "tcp/e", "tcp/e"]


def test_tcp_is_the_floor() -> None:
    found = log.read(remote(recorded("tcp")))
    assert transport.judge(case(found), found.tables, None).config == "52% on tcp/lo and 48% on tcp/eth0"


def test_rdma_over_what_the_pod_was_given() -> None:
    found = over(RXE)
    assert transport.judge(case(found), found.tables, ["rxe0"]) == transport.Transport(RXE, ("rxe0",))


def test_one_node_is_no_benchmark() -> None:
    found = log.read(recorded("tcp"))
    assert "both ends ran on one node" in refused(found, None)
    assert "treated both ends as if they were on one node" in refused(
        log.read(remote(recorded("tcp")).replace("inter-node", "intra-node")), None
    )


@pytest.mark.parametrize(
    ("config", "allocated", "why"),
    [
        (SPLIT, ["rxe0"], f"TCP was allowed: its data went over {SPLIT}"),
        ("tcp/eth0", ["rxe0"], "TCP was allowed"),
        ("cma/memory", ["rxe0"], "not RDMA (rc)"),
        (RXE, ["rxe1"], "but the pod was given rxe1"),
        (RXE, [], "but the pod was given none"),
        (f"50% on {RXE} and 50% on rc_verbs/rxe1:1", ["rxe0"], "but the pod was given rxe0"),
        (RXE, None, "not only over TCP"),
        ("something else", ["rxe0"], "UCX did not report"),
        # As ports with several paths are shown; no transport may hide behind a form that is not known.
        (f"50% on {RXE}/path0 and 50% on tcp/eth0/path1", ["rxe0"], "TCP was allowed"),
        (f"50% on {RXE} and 50% on TCP/eth0", ["rxe0"], "not RDMA (rc)"),
        (f"50% on {RXE} and 50% on tcp/a/b/c", ["rxe0"], "not RDMA (rc)"),
        # UCX cuts what is too long.
        (f"20% on {RXE}, 20% on {RXE}, 20% on {RXE},", ["rxe0"], "UCX reported the transport of only part"),
        (
            f"50% on {RXE} and 50% on rc_verbs/{'x' * 84}",
            ["rxe0"],
            "UCX reported the transport of only part of the data",
        ),
    ],
)
def test_what_went_elsewhere_is_an_error(config: str, allocated: Any, why: str) -> None:
    assert why in refused(over(config), allocated)


@pytest.mark.parametrize(
    "config",
    [
        # A port of 400 Gb/s has two paths (uct_ib_iface_set_num_paths of UCX).
        f"{RXE}/path0",
        f"{RXE} 50% on path0 and 50% on path1",
        f"{RXE}/path1 50% on and 50% on",
        f"33% on {RXE}, 33% on {RXE}, and 33% on {RXE}",
    ],
)
def test_several_paths_of_one_port(config: str) -> None:
    assert transport.judge(case(over(config)), over(config).tables, ["rxe0"]).devices == ("rxe0",)


def test_what_software_emulates_is_no_rdma() -> None:
    """Over whatever transport: the processor at the other end copies the data."""
    found = log.read(remote(recorded("tcp")).replace("tcp/lo ", f"{RXE} "))
    text = f"not RDMA: UCX emulated it in software ({RXE})"
    assert text in refused(found, ["rxe0"], operation="READ")
    # TCP has nothing else.
    plain = log.read(remote(recorded("tcp")))
    assert transport.judge(case(plain, "READ"), plain.tables, None).config == "tcp/lo"


def test_without_tables_nothing_is_known() -> None:
    found = over(RXE)
    found.tables = []
    assert "UCX did not report" in refused(found, ["rxe0"])


@pytest.mark.parametrize(
    ("operation", "counter", "value", "enough"),
    [
        # 5 transfers of 1 MiB.
        ("WRITE", "port_xmit_data", 5 * MIB // 4, True),
        ("WRITE", "port_xmit_data", 5 * MIB // 4 - 1, False),
        ("WRITE", "sent_pkts", 5 * 256, True),
        ("WRITE", "sent_pkts", 5 * 256 - 1, False),
        ("READ", "port_rcv_data", 5 * MIB // 4, True),
        ("READ", "rcvd_pkts", 5 * 256 - 1, False),
    ],
)
def test_counters_have_to_move(operation: str, counter: str, value: int, enough: bool) -> None:
    found = over(RXE)
    counters = {f"rxe0/1/{counter}": value, "rxe1/1/port_xmit_data": 1 << 40}
    if enough:
        one = case(found, operation, counters=counters)
        assert transport.judge(one, found.tables, ["rxe0"]).counted == 5 * MIB
    else:
        assert "counters of rxe0 grew by" in refused(found, ["rxe0"], operation=operation, counters=counters)


def test_a_port_that_is_named_differently_is_another_one() -> None:
    found = over("rc_mlx5/mlx5_10:1")
    assert "mlx5_1" in refused(found, ["mlx5_1"])


def test_why_it_did_not_start() -> None:
    found = log.read(recorded("no-rdma-device"))
    assert found.cases == []
    assert "NIXL_ERR_BACKEND" in found.error
    assert "transports 'rc','ud' are not available" in found.error
    assert log.read("rdma-env: not started: the pod has no RDMA device\n").error == "the pod has no RDMA device"


@pytest.mark.parametrize(
    "change",
    [
        {"verified": False},
        {"operation": "SEND"},
        {"version": 2},
        {"avg_seconds": 0},
        {"avg_seconds": True},
        {"avg_seconds": float("nan")},
        # The bandwidth would be infinite, or nothing.
        {"avg_seconds": 5e-324},
        {"p99_seconds": 1e308},
        {"bytes": -1},
        {"quantiles_seconds": [1.0]},
        {"counters": {"a": -5}},
        {"initiator": {}},
        {"target": None},
    ],
)
def test_a_damaged_result_is_none(change: dict[str, Any]) -> None:
    lines = recorded("tcp").splitlines()
    (first, *_more) = [line for line in lines if line.startswith("RESULT ")]
    found = log.read(f"RESULT {json.dumps({**json.loads(first[7:]), **change})}\n{first}")
    assert found.error.startswith("a line RESULT of its log is damaged")
    assert found.cases == []
    assert log.read("RESULT [1").error
    for word in ("RESULT", "ERROR"):
        assert log.read(f"{word} {'[' * 100_000}").error.startswith(f"a line {word} of its log is damaged")
