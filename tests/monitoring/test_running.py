# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An alert fires and resolves in a real Prometheus and Alertmanager, and panels of the dashboards have data there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import fleet, node, rules
from ansible_collections.zerocopy.rdma.tests.monitoring.stack import Pages, Stack, awaited
from ansible_collections.zerocopy.rdma.tests.unit._prove.monitoring.pages import HOST, Node, full, of_health

_OTHER = "h100-02"
_UP = {"state": "4: ACTIVE\n", "phys_state": "5: LinkUp\n"}
_REST = {"rate": "400 Gb/sec (4X NDR)\n", "link_layer": "InfiniBand\n", "lid": "0x11\n", "sm_lid": "0x1\n"}


def _port(root: Path, number: int) -> Path:
    return root / f"sys/class/infiniband/mlx5_{number}/ports/1"


def _lay_out(root: Path) -> None:
    """A (synthesised) node with two HCAs."""
    for number in range(2):
        directory = _port(root, number)
        directory.mkdir(parents=True)
        for name, content in {**_UP, **_REST}.items():
            (directory / name).write_text(content)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("node")
    _lay_out(found)
    return found


@pytest.fixture(scope="module")
def stack(root: Path, facts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    recorded, looks = Node(2), iter(range(1 << 20))
    pages = Pages(
        {
            "/recorded": lambda: full(recorded, next(looks)),
            "/health": lambda: of_health(full(Node(2)), facts),
        }
    )
    # What has to last for minutes lasts for a second here.
    quick = re.sub(r"(?m)^( +for: ).*$", r"\g<1>1s", rules.prometheus())
    rails = [{"name": str(number), "hca": f"mlx5_{number}", "port": 1, "pci": ""} for number in range(2)]
    own = {"host": _OTHER, "group": "h100", "rails": rails}
    started = Stack(tmp_path_factory.mktemp("stack"), quick, own, root, pages)
    try:
        yield started
    finally:
        started.close()
        pages.close()


def test_an_alert_fires_and_resolves(stack: Stack, root: Path) -> None:
    up = 'rdma_port_state_id{job="exporter",device="mlx5_0"} == 4'
    awaited(lambda: stack.asked(up), stack.log)
    directory = _port(root, 0)
    (directory / "phys_state").write_text("2: Polling\n")
    (directory / "state").write_text("1: DOWN\n")
    fired = stack.told("RdmaPortState", "firing")
    text = warning(codes.PORT_DOWN, "mlx5_0/1", up=["mlx5_1/1"], state="DOWN", physical_state="Polling").text
    assert fired["annotations"] == {
        "summary": f"{_OTHER}: {text}",
        "description": "Plug in the cable or bring the port up, unless it is meant to be unused.",
        "command": f"ansible-playbook -i inventory zerocopy.rdma.verify --tags host --limit '{_OTHER}'",
    }
    assert {**fired["labels"], "instance": ""} == {
        "alertname": "RdmaPortState",
        "check": "host.port_state",
        "code": "port_down",
        "device": "mlx5_0",
        "group": "h100",
        "host": _OTHER,
        "instance": "",
        "job": "exporter",
        "port": "1",
        "rail": "0",
        "severity": "critical",
    }
    (directory / "phys_state").write_text(_UP["phys_state"])
    (directory / "state").write_text(_UP["state"])
    resolved = stack.told("RdmaPortState", "resolved")
    assert resolved["fingerprint"] == fired["fingerprint"]


def _expressions() -> Iterator[Any]:
    for name, made in (("fleet", fleet.fleet()), ("node", node.node())):
        for panel in json.loads(made)["panels"]:
            for target in panel["targets"]:
                yield pytest.param(panel, target["expr"], id=f"{name} {panel['title']} {target['refId']}")


@pytest.mark.parametrize(("panel", "expression"), list(_expressions()))
def test_a_panel_has_data(panel: dict[str, Any], expression: str, stack: Stack) -> None:
    for name, value in (("$__rate_interval", "10s"), ("$group", "h.*"), ("$host", HOST)):
        expression = expression.replace(name, value)
    # What is 0 where there is nothing is something here.
    asked = expression.replace(" or vector(0)", "")
    found = awaited(lambda: stack.asked(asked), lambda: f"{asked}\n{stack.log()}")
    if panel["type"] == "table":
        organised = panel["transformations"][-1]["options"]
        shown = {name for name in organised["indexByName"] if name not in organised["renameByName"]}
        # An empty label is none.
        assert {name for each in found for name in each["metric"]} <= shown
