# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What verify says of tainted GPUs and NICs, whatever the strategy of their nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import GPU_DRIVER, Taint
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import Facts
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

RESTARTED = "then restart the pod of NVIDIA's DRA driver on the node, which removes the taint."


def found(facts: dict[str, Any], names: list[str], *tainted: Taint, strategy: str = "dra") -> list[dict[str, Any]]:
    slices = resource_slices(
        replace(device, taints=tainted if device.name in names else ()) for device in published(facts)
    )
    hosts = {"n": {"inventory_hostname": "n", "group_names": ["h100"], "rdma_strategy": strategy}}
    checks = strategy_checks(hosts, [{"metadata": {"name": "n"}}], [], slices=slices)
    return [one for one in checks if one["id"] == "cluster.taints"]


@pytest.mark.parametrize("strategy", ["dra", "none"])
@pytest.mark.parametrize(
    ("key", "value", "effect", "verdict", "text", "remedy"),
    [
        (
            f"{GPU_DRIVER}/xid",
            "79",
            "NoSchedule",
            "fail",
            "gpu-2 is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it",
            "Do what NVIDIA's Xid catalog (https://docs.nvidia.com/deploy/xid-errors/) says about Xid 79, " + RESTARTED,
        ),
        (
            f"{GPU_DRIVER}/xid",
            "31",
            "None",
            "warn",
            "gpu-2 is tainted gpu.nvidia.com/xid=31 (None): pods still get it",
            "Do what NVIDIA's Xid catalog (https://docs.nvidia.com/deploy/xid-errors/) says about Xid 31, " + RESTARTED,
        ),
        (
            f"{GPU_DRIVER}/gpu-lost",
            "",
            "NoSchedule",
            "fail",
            "gpu-2 is tainted gpu.nvidia.com/gpu-lost (NoSchedule): no new pod gets it",
            "The driver taints all GPUs of the node, because it does not know which one is lost. Find it in the kernel"
            " log (NVRM: Xid) or with nvidia-smi, reset that GPU or reboot the node, " + RESTARTED,
        ),
        (
            f"{GPU_DRIVER}/unmonitored",
            "",
            "None",
            "warn",
            "gpu-2 is tainted gpu.nvidia.com/unmonitored (None): pods still get it",
            "Look in the driver's log for why it cannot watch the GPU, " + RESTARTED,
        ),
        (
            "example.org/drain",
            "",
            "NoExecute",
            "fail",
            "gpu-2 is tainted example.org/drain (NoExecute): pods with it are evicted, and no new pod gets it",
            "See the driver's documentation for what the taint means and how to remove it.",
        ),
    ],
)
def test_taints(
    facts_of: Facts, strategy: str, key: str, value: str, effect: str, verdict: str, text: str, remedy: str
) -> None:
    facts = facts_of("h100-01")
    (one,) = found(facts, ["gpu-2"], Taint(key, value, effect), strategy=strategy)
    pci = next(device.pci for device in published(facts) if device.name == "gpu-2")
    assert (one["host"], one["group"], one["subject"], one["verdict"]) == ("n", "h100", pci, verdict)
    assert (one["text"], one["remedy"]) == (text, remedy)
    taint = {"key": key, "value": value, "effect": effect, "time_added": ""}
    assert one["evidence"] == {"driver": GPU_DRIVER, "taints": [taint]}


def test_what_keeps_pods_away_decides(facts_of: Facts) -> None:
    several = (Taint(f"{GPU_DRIVER}/unmonitored", "", "None"), Taint(f"{GPU_DRIVER}/xid", "79", "NoSchedule"))
    checks = found(facts_of("h100-01"), ["gpu-0", "gpu-1"], *several)
    assert [one["verdict"] for one in checks] == ["fail", "fail"]
    assert all("Xid 79" in one["remedy"] and "watch" not in one["remedy"] for one in checks)
    assert found(facts_of("h100-01"), [], *several) == []
