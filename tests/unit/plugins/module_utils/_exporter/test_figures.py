# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the exporter writes, read back: from its file, from its address, and from pages that it would never write."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import figures, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import (
    FILE_NAME,
    Configuration,
    Rail,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import History
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.kernel_faults import KernelFaults
from ansible_collections.zerocopy.rdma.plugins.modules import rdma_exporter_info
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca, known

NOW = 1_800_000_000.0


def page(age: float = 5.0, **own: Any) -> str:
    """A page as the exporter makes it."""
    found, metrics, history = known(hca(**own)), text.Metrics(), History()
    config = Configuration(directory="/d", rails=(Rail("3", "mlx5_0", 1, ""),))
    text.of_hcas(metrics, config, found, history)
    history.look(found.hcas, set())
    text.of_presence(metrics, config, found, history)
    faults = KernelFaults("/")
    faults.counts = {("0000:3b:00.0", "hca_unhealthy"): 2, ("0000:3b:00.0", "pcie_error"): 1}
    faults.active = {("0000:3b:00.0", "hca_unhealthy")}
    text.of_kernel(metrics, config, found, history, faults)
    metrics.add("rdma_exporter_last_look_timestamp_seconds", "When the last look ended.", NOW - age)
    return metrics.text()


def test_what_the_exporter_writes_is_read_back() -> None:
    pcie = {"current_speed": 32e9, "max_speed": 32e9, "current_width": 8, "max_width": 16}
    port = {
        "link_layer": "InfiniBand",
        "lid": 7,
        "sm_lid": 1,
        "counters": {"link_downed": 2, "symbol_error": 5, "port_rcv_data": 9},
        "hw": {"local_ack_timeout_err": 4},
    }
    found = figures.read(page(place=4026532000, pcie=pcie, port=port), NOW)
    assert found["age"] == 5.0
    assert found["devices"] == {
        "mlx5_0": {
            "pci_address": "0000:3b:00.0",
            "pf_address": "",
            "driver": "mlx5_core",
            "board_id": "MT_0000000838",
            "place": "pod",
            "present": True,
            "faults": {"hca_unhealthy": 2, "pcie_error": 1},
            "active_faults": {"hca_unhealthy": 1},
            **pcie,
        }
    }
    assert found["ports"] == {
        "mlx5_0/1": {
            "link_layer": "InfiniBand",
            "pci_address": "0000:3b:00.0",
            "rail": "3",
            "state_id": 4,
            "physical_state_id": 5,
            "rate_bytes_per_second": 50000000000,
            "lid": 7,
            "sm_lid": 1,
            "flaps": 0,
            "counters": {"link_downed": 2, "symbol_error": 5, "local_ack_timeout_err": 4},
        }
    }


def test_a_vf_is_told_from_a_nic() -> None:
    vf = figures.read(page(pci="0000:3b:00.2", pf="0000:3b:00.0"), NOW)["devices"]["mlx5_0"]
    assert (vf["pci_address"], vf["pf_address"]) == ("0000:3b:00.2", "0000:3b:00.0")
    # An older exporter does not tell.
    older = 'rdma_device_info{device="mlx5_0",pci_address="0000:3b:00.2",driver="mlx5_core",board_id="",place="pod"} 1'
    assert figures.read(older + "\n", NOW)["devices"]["mlx5_0"]["pf_address"] == ""


@pytest.mark.parametrize(
    "line",
    [
        'rdma_port_state_id{device="mlx5_0",port="1"} many',
        'rdma_port_state_id{device="mlx5_0",port="one"} 4',
        'rdma_port_state_id{device="mlx5_0"} 4',
        'rdma_port_state_id{device="mlx5_0",port="1" 4',
        'rdma_port_state_id{port="1"} 4',
        'node_infiniband_state_id{device="mlx5_0",port="1"} 4',
        "rdma_port_state_id",
        "\x00\xff",
    ],
)
def test_a_line_that_is_no_figure_of_a_port_is_none(line: str) -> None:
    assert figures.read(line + "\n", NOW)["ports"] in ({}, {"mlx5_0/1": {"counters": {}}})


def test_infinite_and_missing_numbers_are_no_figures() -> None:
    for value in ("NaN", "+Inf", "-Inf", "1e400"):
        found = figures.read(f'rdma_port_flaps_total{{device="mlx5_0",port="1"}} {value}\n', NOW)
        assert found["ports"].get("mlx5_0/1", {"counters": {}}) == {"counters": {}}


def configured(root: Path, **config: Any) -> None:
    path = root / figures.CONFIG.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(config))


def test_the_file_is_found_by_the_configuration(tmp_path: Path, run_module: Any) -> None:
    def call() -> Dict[str, Any]:
        found: Dict[str, Any] = run_module(rdma_exporter_info, root=str(tmp_path))
        return found

    assert (call()["figures"], call()["reason"]) == (None, "")
    configured(tmp_path, directory="/metrics")
    assert call()["figures"] is None
    assert call()["reason"].startswith(f"{tmp_path}/metrics/{FILE_NAME} cannot be read: ")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / FILE_NAME).write_text(page())
    assert list(call()["figures"]["ports"]) == ["mlx5_0/1"]
    (tmp_path / figures.CONFIG.lstrip("/")).write_text("{")
    assert "cannot be read: the file is not JSON" in call()["reason"]


class _Answer(BaseHTTPRequestHandler):
    status, body = 200, b""

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Say nothing."""


def test_an_exporter_that_listens_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"0.0.0.0:{server.server_port}"
    monkeypatch.setattr(figures, "_config", lambda _path: Configuration(listen=address))
    try:
        monkeypatch.setattr(_Answer, "body", page().encode())
        found = figures.figures()
        assert found is not None
        assert list(found["ports"]) == ["mlx5_0/1"]
        monkeypatch.setattr(_Answer, "status", 503)
        with pytest.raises(figures.FiguresError, match="answers 503 with "):
            figures.figures()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with pytest.raises(figures.FiguresError, match=f"http://{address}/metrics gives no answer: "):
        figures.figures()
