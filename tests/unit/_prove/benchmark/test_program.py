# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The benchmark's program. NIXL is played: both ends are threads of one process, and data is copied in memory.

The real one is in the logs of fixtures/nixl.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import socket
import sys
import threading
import types
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import log
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import HOST_SYS

_PROGRAM = Path(__file__).parents[4] / "roles" / "rdma_benchmark" / "files" / "kv_benchmark.py"
SIZES = [4096, (1 << 24) + 12345]


class PlayedAgent:
    """Copies what a transfer is of, apart from its last ``lost`` bytes."""

    lost = 0

    def __init__(self, name: str, _config: object) -> None:
        self.name = name

    def register_memory(self, _regions: object, _kind: str) -> None:
        return

    def get_agent_metadata(self) -> bytes:
        return self.name.encode()

    def add_remote_agent(self, metadata: bytes) -> str:
        return metadata.decode()

    def get_xfer_descs(self, regions: list[Any], _kind: str) -> Any:
        return regions[0]

    def initialize_xfer(self, operation: str, local: Any, remote: Any, _name: str) -> Any:
        source, target = (local, remote) if operation == "WRITE" else (remote, local)
        return target[0], source[0], source[1] - self.lost

    def transfer(self, handle: Any) -> str:
        ctypes.memmove(*handle)
        return "DONE"

    def release_xfer_handle(self, _handle: Any) -> None:
        return


@pytest.fixture(name="program")
def make_program(monkeypatch: pytest.MonkeyPatch) -> Any:
    played: Any = types.ModuleType("nixl._api")
    played.nixl_agent, played.nixl_agent_config = PlayedAgent, dict
    monkeypatch.setitem(sys.modules, "nixl", types.ModuleType("nixl"))
    monkeypatch.setitem(sys.modules, "nixl._api", played)
    for name in ("UCX_LOG_FILE", "UCX_PROTO_INFO", "UCX_LOG_LEVEL"):
        # The program sets them, and they are to be gone afterwards.
        monkeypatch.setenv(name, "")
    spec = importlib.util.spec_from_file_location("kv_benchmark", _PROGRAM)
    assert spec
    assert spec.loader
    found: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    # Pinning would be of the tests' own process.
    monkeypatch.setattr(found, "pin", lambda *_arguments: {"pinned": False, "nic_node": None})
    return found


def pair(program: Any, **changed: Any) -> tuple[str, log.BenchmarkLog]:
    """What the target says when it fails, and what the initiator logs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"port": port, "timeout": 600, "peer": "127.0.0.1"}
    settings = {"operations": ["WRITE", "READ"], "sizes": SIZES, "iterations": 3, "warmup": 1, **common, **changed}
    said, wrote = [], []
    program.say = lambda word, value: wrote.append(f"{word} {value if isinstance(value, str) else json.dumps(value)}")

    def target() -> None:
        try:
            program.serve(Namespace(role="target", **settings))
        except program.BenchmarkError as error:
            said.append(str(error))

    thread = threading.Thread(target=target)
    thread.start()
    try:
        program.Initiator(Namespace(role="initiator", **settings), program.UcxLog()).run()
    except program.BenchmarkError as error:
        wrote.append(f"ERROR {json.dumps({'reason': str(error), 'ucx': ''})}")
    finally:
        thread.join()
    return "".join(said), log.read("\n".join(wrote))


def test_all_operations_and_sizes(program: Any) -> None:
    said, found = pair(program)
    assert (said, found.error) == ("", "")
    assert [(case.operation, case.bytes) for case in found.cases] == [
        (operation, size) for operation in ("WRITE", "READ") for size in SIZES
    ]
    assert all((case.iterations, case.warmup, case.initiator.memory) == (3, 1, "DRAM") for case in found.cases)
    assert all(case.initiator.boot_id == case.target.boot_id != "" for case in found.cases)


@pytest.mark.parametrize("operation", ["WRITE", "READ"])
def test_data_that_did_not_arrive(program: Any, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    monkeypatch.setattr(PlayedAgent, "lost", 1)
    said, found = pair(program, operations=[operation], sizes=[4096])
    assert found.error == f"{operation} of 4096 bytes: what arrived differs from what was sent"
    assert said == f"the other end failed: {found.error}"
    assert found.cases == []


def test_a_transfer_that_fails(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayedAgent, "transfer", lambda *_arguments: "ERR")
    assert pair(program)[1].error == "a transfer ended with state ERR"


def test_a_target_that_fails_says_why(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_agent: PlayedAgent) -> bytes:
        raise program.BenchmarkError("no memory")

    monkeypatch.setattr(PlayedAgent, "get_agent_metadata", broken)
    assert pair(program)[1].error == "the other end failed: no memory"


def test_a_transfer_that_does_not_end(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayedAgent, "transfer", lambda *_arguments: "PROC")
    monkeypatch.setattr(PlayedAgent, "check_xfer_state", lambda *_arguments: "PROC", raising=False)
    assert pair(program, timeout=1)[1].error == "a transfer did not end within 1 s"


def test_counters_of_a_device_that_is_shared_are_the_nodes(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod's own come first: another device of the node may have the same name."""
    assert f"{program.HOST}/sys" == HOST_SYS
    monkeypatch.setattr(program, "CLASS", str(tmp_path / "sys"))
    monkeypatch.setattr(program, "HOST", str(tmp_path / "host"))
    node = tmp_path / "host" / str(tmp_path / "sys").lstrip("/")
    for base, device, counter, value in (
        (tmp_path / "sys", "mlx5_0", "counters/port_xmit_data", 7),
        (tmp_path / "sys", "rxe1", "gids/0", 0),
        (node, "mlx5_0", "counters/port_xmit_data", 5),
        (node, "rxe1", "hw_counters/sent_pkts", 3),
        (node, "mlx5_2", "counters/port_xmit_data", 4),
    ):
        path = base / device / "ports" / "1" / counter
        path.parent.mkdir(parents=True)
        path.write_text(f"{value}\n")
    assert program.counters(["mlx5_0", "rxe1", "mlx5_9"]) == {"mlx5_0/1/port_xmit_data": 7, "rxe1/1/sent_pkts": 3}


def test_counters_that_were_reset_meanwhile_tell_nothing(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as by ibdiagnet --pc. The log of the pair would be damaged otherwise."""
    readings = [{"mlx5_0/1/port_xmit_data": 1 << 40, "mlx5_1/1/port_xmit_data": 7}, {"mlx5_0/1/port_xmit_data": 9}]
    readings[1]["mlx5_1/1/port_xmit_data"] = 1 << 20
    monkeypatch.setattr(program, "counters", lambda _devices: readings.pop(0))
    _said, found = pair(program, operations=["WRITE"], sizes=[4096])
    assert (found.error, [case.counters for case in found.cases]) == ("", [{}])
    assert program.grown({"a": 5, "b": 5}, {"a": 7, "c": 1}) == {"a": 2}


def test_quantiles(program: Any) -> None:
    assert [program.quantile([4.0, 1.0, 3.0, 2.0, 5.0], percent) for percent in (0, 50, 95, 100)] == [1, 3, 4.8, 5]
    assert program.quantile([7.0], 99) == 7


def test_no_two_chunks_are_alike(program: Any) -> None:
    end = program.End.__new__(program.End)
    size = 2 * program.CHUNK + 5
    chunks = list(end.blocks(size, 1))
    assert [(offset, len(chunk)) for offset, chunk in chunks] == [
        (0, program.CHUNK),
        (program.CHUNK, program.CHUNK),
        (2 * program.CHUNK, 5),
    ]
    assert chunks[0][1] != chunks[1][1]
    assert chunks[0][1] != next(end.blocks(size, 2))[1]


def test_lists_of_cpus(program: Any) -> None:
    assert program.cpus_of("0-2,8") == {0, 1, 2, 8}
    assert program.cpus_of("") == set()
