# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What holds for claims on any nodes, here with devices in random places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner, selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate, cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

ROOT, NUMA = model.PCIE_ROOT, model.NUMA_NODE
VARIABLES = {"rdma_driver_dranet_version": "1.5.0", "rdma_driver_gpu_version": "0.5.0"}


@st.composite
def nodes(draw: Any) -> dict[str, list[SliceDevice]]:
    """Nodes whose drivers publish a root complex and a NUMA node, or forget one of them."""
    numa_is_published = draw(st.booleans())
    found: dict[str, list[SliceDevice]] = {}
    for name in ("n1", "n2")[: draw(st.integers(1, 2))]:
        found[name] = []
        for kind, number in (("gpu", draw(st.integers(0, 4))), ("nic", draw(st.integers(0, 4)))):
            for place in range(number):
                root, numa = (
                    draw(st.sampled_from([None, "pci0000:00", "pci0000:80"])),
                    draw(st.sampled_from([None, 0, 1])),
                )
                attributes: dict[str, Any] = {} if root is None else {ROOT: root}
                if numa_is_published and numa is not None:
                    attributes[NUMA] = numa
                own: dict[str, Any]
                if kind == "gpu":
                    own = {
                        "gpu.nvidia.com/type": "gpu",
                        "gpu.nvidia.com/productName": "X",
                        model.PCI_BUS_ID: f"g{place}",
                    }
                    driver = model.GPU_DRIVER
                else:
                    own = {model.RDMA: True, model.PCI_ADDRESS: f"n{place}"}
                    if numa is not None:
                        own[model.NIC_NUMA_NODE] = numa
                    driver = model.DRANET
                found[name].append(SliceDevice(driver, name, f"{kind}-{place}", name, {**attributes, **own}))
    return found


def allocated(devices: list[SliceDevice], spec: dict[str, Any]) -> dict[str, list[SliceDevice]] | None:
    classes = {**selectors.GPU_CLASSES, "zerocopy-rdma-nic": selectors.NIC_CLASS}
    requests = []
    for request in spec["requests"]:
        body = request["exactly"]
        every = [*classes[body["deviceClassName"]], *(one["cel"]["expression"] for one in body.get("selectors", []))]
        matching = frozenset(
            place for place, one in enumerate(devices) if all(cel.matches(text, one) for text in every)
        )
        requests.append(allocate.DeviceRequest(request["name"], (allocate.Alternative(matching, body["count"]),)))
    constraints = [
        allocate.DeviceConstraint(frozenset(one["requests"]), one["matchAttribute"])
        for one in spec.get("constraints", [])
    ]
    found = allocate.allocate(devices, requests, constraints)
    return None if found is None else {name: [devices[place] for place in places] for name, places in found.items()}


@settings(max_examples=150, deadline=None)
@given(
    nodes(), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["auto", "pcie_root", "numa", "unaligned", "none"])
)
def test_a_plan_is_refused_or_can_be_satisfied(
    published: dict[str, list[SliceDevice]], gpus: int, nics: int, align: str
) -> None:
    wanted = {"name": "one", "gpus": gpus, "nics": nics, "align": align}
    hosts = [InventoryHost(name, "group", {**VARIABLES, "rdma_claims_templates": [wanted]}) for name in published]
    every = [one for devices in published.values() for one in devices]
    plan = planner.plan(hosts, resource_slices(every))
    specs = [one["spec"]["spec"]["devices"] for one in plan.objects if one["kind"] == "ResourceClaimTemplate"]
    assert bool(specs) != bool(plan.problems)
    enough = {
        name: sum(one.is_gpu for one in devices) >= gpus and sum(one.is_rdma_nic for one in devices) >= nics
        for name, devices in published.items()
        if devices
    }
    got = {name: [allocated(devices, spec) for spec in specs] for name, devices in published.items() if devices}
    if align in ("auto", "none"):
        # Whoever has the devices can satisfy it, and is told apart from who has not.
        assert bool(plan.problems) == (not any(enough.values()))
        for name, results in got.items():
            assert not specs or any(one is not None for one in results) == enough[name]
    for results in got.values():
        if specs and all(one is None for one in results):
            assert "one does not fit everywhere" in plan.warnings[0]
        for spec, result in zip(specs, results):
            for constraint in spec.get("constraints", []) if result else []:
                values = {
                    device.attributes.get(constraint["matchAttribute"])
                    for name in constraint["requests"]
                    for device in (result or {})[name]
                }
                assert len(values) == 1
                assert None not in values


def with_rails(devices: list[SliceDevice], rails: list[int | None]) -> list[SliceDevice]:
    """The devices, whose NICs are in these rails, one after another; ``None`` is in none, or nothing is known of it."""
    given = iter(rails)
    return [
        replace(one, attributes={**one.attributes, **({} if (rail := next(given)) is None else {names.RAIL: rail})})
        if one.is_rdma_nic
        else one
        for one in devices
    ]


@settings(max_examples=150, deadline=None)
@given(
    nodes(),
    st.lists(st.sampled_from([None, 0, 1, 2]), min_size=8, max_size=8),
    st.integers(0, 4),
    st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
    st.sampled_from(["auto", "none"]),
)
def test_a_pod_gets_one_nic_of_each_rail_or_nothing(
    published: dict[str, list[SliceDevice]], known: list[int | None], gpus: int, rails: list[int], align: str
) -> None:
    published = {
        name: with_rails(devices, known[place * 4 :]) for place, (name, devices) in enumerate(published.items())
    }
    wanted = {"name": "one", "gpus": gpus, "rails": rails, "align": align}
    own = {**VARIABLES, "rdma_driver_attributes": True, "rdma_claims_templates": [wanted]}
    hosts = [InventoryHost(name, "group", own) for name in published]
    plan = planner.plan(hosts, resource_slices([one for devices in published.values() for one in devices]))
    specs = [one["spec"]["spec"]["devices"] for one in plan.objects if one["kind"] == "ResourceClaimTemplate"]
    assert bool(specs) != bool(plan.problems)
    able = {
        name: sum(one.is_gpu for one in devices) >= gpus
        and set(rails) <= {one.attributes.get(names.RAIL) for one in devices}
        for name, devices in published.items()
        if devices
    }
    assert bool(specs) == any(able.values())
    for name, can in able.items():
        results = [allocated(published[name], spec) for spec in specs]
        assert not specs or any(result is not None for result in results) == can
        for result in filter(None, results):
            every = [device for devices in result.values() for device in devices]
            nics = [device for device in every if device.is_rdma_nic]
            assert sorted(str(nic.attributes.get(names.RAIL)) for nic in nics) == sorted(map(str, rails))
            assert len(every) == len({device.name for device in every}) == gpus + len(rails)
