# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NVSentinel's NIC monitor reports HCAs that are gone, and in RDMA netns mode exclusive those in pods are."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

EXCLUSIVE = {"rdma_kernel_netns_mode": "exclusive"}
IMAGE = "ghcr.io/nvidia/nvsentinel/nic-health-monitor:v1.19.0"
STATES = "InfiniBandStateCheck,InfiniBandDegradationCheck, EthernetStateCheck"


def monitor(image: str = IMAGE, *args: str, **pod: Any) -> dict[str, Any]:
    """A DaemonSet as ``cluster_info`` tells of it."""
    container = {"name": "nic-health-monitor", "image": image, "args": list(args)}
    spec = {"template": {"spec": {"containers": [{"image": "example.org/other:1"}, container], **pod}}}
    meta = {"namespace": "nvsentinel", "name": "nic-health-monitor", "set": ""}
    return {"kind": "DaemonSet", "metadata": meta, "spec": spec}


def warned(
    facts: dict[str, Any] | None, own: dict[str, Any], objects: list[Any] | None, labels: Any = None
) -> list[str]:
    host = {"inventory_hostname": "n1", "group_names": ["g"], **({"ansible_facts": {"rdma": facts}} if facts else {})}
    found = strategy_plan({}, ["n1"], {"n1": {**host, **own}}, "dra", objects=objects, nodes={"n1": labels or {}})
    assert found["problems"] == []
    return [text for text in found["warnings"] if "NVSentinel" in text]


@pytest.mark.parametrize(
    ("node", "own", "expected"),
    [
        ("v100-01", EXCLUSIVE, True),
        ("v100-01", {}, False),
        # The mode that the node has; its PF is looked at.
        ("case-vf", {}, True),
        ("case-vf", {"rdma_kernel_netns_mode": "shared"}, False),
        # VFs whose PF is not in sight are no VFs to the monitor.
        ("h100-01", EXCLUSIVE, True),
        # It knows NICs of two vendors only, and none that is no PCI function.
        ("case-mi300x", EXCLUSIVE, False),
        ("case-soft-roce", EXCLUSIVE, False),
    ],
)
def test_which_hosts(facts_of: Facts, node: str, own: dict[str, Any], expected: bool) -> None:
    found = warned(facts_of(node), own, [monitor()])
    assert [text.startswith("n1: ") and "nvsentinel/nic-health-monitor" in text for text in found] == [True] * expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (monitor("mirror.example.org:5000/nic-health-monitor@sha256:00"), True),
        (monitor(IMAGE, "--checks", STATES, "--processing-strategy", "EXECUTE_REMEDIATION"), True),
        (monitor(IMAGE, "-checks=EthernetStateCheck"), True),
        # The options of others, and what comes later.
        (monitor(IMAGE, "--processing-strategy", "STORE_ONLY", "--processing-strategy=EXECUTE_REMEDIATION"), True),
        (monitor(IMAGE, "--state-file", "STORE_ONLY"), True),
        (monitor(IMAGE, "--processing-strategy", "STORE_ONLY"), False),
        (monitor(IMAGE, "--processing-strategy=STORE_ONLY", "--checks", STATES), False),
        (monitor(IMAGE, "--checks", "InfiniBandDegradationCheck,EthernetDegradationCheck"), False),
        (monitor("ghcr.io/nvidia/nvsentinel/gpu-health-monitor:v1.19.0"), False),
        (monitor("example.org/nic-health-monitor-tests:1"), False),
        (monitor(IMAGE, nodeSelector={"gpu": "yes"}), False),
        # Another kind that is looked at, and a specification that says nothing.
        ({"kind": "Deployment", "metadata": {"namespace": "a", "name": "b"}, "spec": {}}, False),
        ({"kind": "DaemonSet", "metadata": {"namespace": "a", "name": "b"}, "spec": {}}, False),
    ],
)
def test_which_monitors(found: dict[str, Any], expected: bool) -> None:
    """On hosts without facts."""
    assert bool(warned(None, EXCLUSIVE, [found])) is expected


def test_where_its_selector_fits_or_nothing_was_asked() -> None:
    assert warned(None, EXCLUSIVE, [monitor(IMAGE, nodeSelector={"gpu": "yes"})], {"gpu": "yes"})
    assert warned(None, EXCLUSIVE, None) == []


def test_the_cluster_is_asked_for_it() -> None:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost

    host = InventoryHost(name="n1", group="g", variables={"rdma_strategy": "dra", "rdma_driver_enabled": False})
    assert {"kind": "DaemonSet.apps", "name": ""} in registry.cluster_queries([host])
