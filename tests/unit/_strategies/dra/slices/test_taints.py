# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Taints of devices as slices have them, and as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    DRANET,
    GPU_DRIVER,
    SliceDevice,
    Taint,
)
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

XID = Taint(f"{GPU_DRIVER}/xid", "79", "NoSchedule", "2026-11-28T13:00:00Z")
LOST = Taint(f"{GPU_DRIVER}/gpu-lost", "", "NoSchedule")


def gpu(number: int, *tainted: Taint, node: str = "h100-03", driver: str = GPU_DRIVER) -> SliceDevice:
    return SliceDevice(driver, node, f"gpu-{number}", node, {f"{GPU_DRIVER}/type": "gpu"}, taints=tainted)


@pytest.mark.parametrize("basic", [False, True])
def test_taints_are_read(basic: bool) -> None:
    devices = [gpu(0), gpu(1, XID, LOST)]
    slices = resource_slices(devices)
    if basic:
        for piece in slices:
            named = [(each.pop("name"), each) for each in piece["spec"]["devices"]]
            piece["spec"]["devices"] = [{"name": name, "basic": body} for name, body in named]
    assert model.devices(slices) == devices
    assert model.plain(devices[1])["taints"] == [
        {"key": XID.key, "value": "79", "effect": "NoSchedule", "time_added": "2026-11-28T13:00:00Z"},
        {"key": LOST.key, "value": "", "effect": "NoSchedule", "time_added": ""},
    ]


@pytest.mark.parametrize(
    ("effect", "barred"),
    # The last one is of a version that is still to come.
    [("NoSchedule", True), ("NoExecute", True), ("None", False), ("PreferNoSchedule", False)],
)
def test_effects(effect: str, barred: bool) -> None:
    (found,) = model.devices(resource_slices([gpu(0, Taint("a/b", "", effect))]))
    assert found.is_barred == barred


@pytest.mark.parametrize(
    "taint", [{"key": "a"}, {"effect": "None"}, "a", {"key": 1, "effect": "None"}, {"key": "a", "effect": ["None"]}]
)
def test_taints_that_are_none(taint: Any) -> None:
    (piece,) = resource_slices([gpu(0)])
    piece["spec"]["devices"][0]["taints"] = [taint]
    with pytest.raises(ValueError, match="a taint of a device has no key or effect"):
        model.devices([piece])


def test_each_tainted_device_is_named() -> None:
    some = [gpu(2, XID), *(gpu(number, LOST, node="a100-01") for number in range(3))]
    others = [
        gpu(0),
        gpu(3, Taint(f"{GPU_DRIVER}/xid", "31", "None")),
        gpu(4, Taint("example.org/drain", "", "NoExecute"), XID),
        gpu(5, XID, driver="example.org"),
        SliceDevice(DRANET, "h100-03", "ib0", "h100-03", taints=(XID,)),
    ]
    assert taints.lines([*some, *others]) == [
        "a100-01: gpu-0, gpu-1, gpu-2 are tainted gpu.nvidia.com/gpu-lost (NoSchedule): no new pod gets them",
        "h100-03: gpu-2 is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it",
        "h100-03: gpu-3 is tainted gpu.nvidia.com/xid=31 (None): pods still get it",
        "h100-03: gpu-4 is tainted example.org/drain (NoExecute), gpu.nvidia.com/xid=79 (NoSchedule): pods with it are"
        " evicted, and no new pod gets it",
        "h100-03: ib0 is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it",
    ]
