# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is refused of the strategy sriov, by its plan and by preflight."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    HOST_DEVICE,
    SRIOV,
    Facts,
    unplug,
    wrong_names,
)

OWN = "rdma_host_device_"
EIGHT: dict[str, Any] = {"rdma_links_vfs": 8}
hosts_of, plan, recorded = SRIOV.hosts_of, SRIOV.plan, SRIOV.recorded
TEMPLATE = {"name": "one", "nics": 1}

REFUSED = [
    (
        {"rdma_links_vfs": None},
        "rdma_links_vfs is not set, and no usable Ethernet port has VFs for pods: set the number for each"
        " port, such as 8",
    ),
    (
        {"rdma_links_vfs": 0},
        "rdma_links_vfs is 0, but rdma_strategy is sriov: set the number of VFs of each port, or leave it out if",
    ),
    ({"rdma_links_vfs": "eight"}, "rdma_links_vfs is 'eight', it must be a whole number"),
    ({OWN + "networks": []}, "networks is not set: pods get their addresses from it"),
    ({OWN + "networks": ["10.90.0.0/28"]}, "has addresses for 14 pods, but the group's nodes have 16 VFs"),
    *wrong_names(OWN, "sriov_", 55),
    (
        {"rdma_claims_templates": [{**TEMPLATE, "nic": {"vf": True}}]},
        "rdma_claims_templates is set, but rdma_strategy is sriov, whose pods do not use claims: leave it out, or set"
        " rdma_strategy to dra, whose pods can claim VFs",
    ),
    ({"rdma_claims_templates": [TEMPLATE]}, "whose pods do not use claims: leave it out"),
    ({"rdma_discover_expect_link_layer": "InfiniBand"}, "rdma_strategy is sriov, but no node of the group has a VF of"),
]


@pytest.mark.parametrize(("own", "message"), REFUSED)
def test_a_mistake_is_refused_in_one_message(facts_of: Facts, own: dict[str, Any], message: str) -> None:
    facts = facts_of("lab-01")
    found = plan(hosts_of({"lab-01": facts, "lab-02": facts}, "lab", **{**EIGHT, **own}))
    (line,) = found["problems"]
    assert line.startswith("lab-[01-02]: ")
    assert message in line
    assert found["sets"] == []


def test_no_node_has_vfs_of_infiniband(facts_of: Facts) -> None:
    (line,) = plan(recorded(facts_of, "v100-01", "v100-02", group="v100"))["problems"]
    assert line == (
        "v100-[01-02]: rdma_links_vfs is not set, and no usable InfiniBand port has VFs for pods:"
        " set the number for each port, such as 8"
    )


def test_nics_with_vfs_are_not_for_host_device(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    facts["hcas"][0]["sriov"]["num_vfs"] = 8
    (line,) = HOST_DEVICE.plan(HOST_DEVICE.hosts_of({"lab-01": facts}, "lab", **EIGHT))["problems"]
    assert line == (
        "lab-01: rdma_links_vfs is 8, but rdma_strategy is host_device, and NICs with VFs are not given to"
        " pods: leave it out, or set rdma_strategy to sriov"
    )
    # They are still there when the variable has gone.
    (line,) = HOST_DEVICE.plan(HOST_DEVICE.hosts_of({"lab-01": facts}, "lab"))["problems"]
    assert line == (
        "lab-01: rdma_strategy is 'host_device', but all usable NICs of the group have VFs, and NICs with VFs"
        " are not given to pods: with rdma_strategy none, prepare removes those of rdma_links_vfs"
    )


def test_a_vf_whose_driver_is_not_allowed_is_named(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    pf = facts["hcas"][0]
    pf["sriov"]["num_vfs"] = 1
    vf = {**copy.deepcopy(pf), "name": "mlx5_9", "sriov": {"role": "vf", "pf_address": pf["pci"]["address"]}}
    vf["pci"]["address"] = "0000:3f:00.2"
    facts["hcas"].append(vf)
    reason = {"code": "driver_not_allowed", "text": "driver igbvf is not one of igb", "fields": {}}
    facts["excluded"].append({"hca": "mlx5_9", "port": 1, "reasons": [reason]})
    (line,) = plan(hosts_of({"one": facts}, **EIGHT))["problems"]
    why = f"pods get no VF of {pf['name']}, because the host needs mlx5_9 (driver igbvf is not one of igb)"
    assert line.endswith(f"a VF of an ACTIVE Ethernet NIC that a pod can have; {why}")


def test_no_node_has_a_usable_port(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("lab-01"))
    own: dict[str, Any] = {**EIGHT, "rdma_driver_exclude": [facts["hcas"][0]["pci"]["address"]]}
    (line,) = plan(hosts_of({"one": facts}, **own))["problems"]
    assert "rdma_strategy is sriov, but no node of the group has a VF of an ACTIVE Ethernet NIC" in line
    unplug(facts, facts["usable"][0])
    (line,) = plan(hosts_of({"one": facts}, rdma_discover_expect_link_layer="Ethernet"))["problems"]
    assert "rdma_strategy is sriov, but no node of the group has a VF of an ACTIVE Ethernet NIC" in line
    (line,) = plan(hosts_of({"one": None}))["problems"]
    assert line.endswith(
        "rdma_strategy is sriov, but no node of the group has facts: gather them first (role rdma_discover)"
    )


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            {"rdma_kernel_netns_mode": "exclusive", "rdma_links_ports": [{"hca": "mlx5_0"}]},
            "but rdma_strategy is sriov, which works in mode shared",
        ),
        ({"rdma_links_vfs": -1}, "rdma_links_vfs is -1, it must be the number of VFs of each link"),
        ({"rdma_links_vfs": 64}, "rdma_links_vfs is 64, but mlx5_0/1 can have 8 at most"),
        ({OWN + "networks": []}, "rdma_host_device_networks is not set"),
    ],
)
def test_preflight_refuses_in_one_message(facts_of: Facts, own: dict[str, Any], message: str) -> None:
    hosts = recorded(facts_of, "lab-01", group="lab", **{**EIGHT, **own})
    (line,) = prepare_problems({}, list(hosts), hosts, facts=True)
    assert line.startswith("lab-01: ")
    assert message in line


def test_preflight_accepts(facts_of: Facts) -> None:
    hosts = recorded(facts_of, "lab-01", group="lab", **EIGHT)
    assert prepare_problems({}, list(hosts), hosts, facts=True) == []


def test_one_resource_of_two_groups(facts_of: Facts) -> None:
    hosts = {
        **recorded(facts_of, "lab-01", group="lab", rdma_host_device_resource="nic", **EIGHT),
        **HOST_DEVICE.recorded(facts_of, "v100-01", group="v100", rdma_host_device_resource="nic"),
    }
    (line,) = plan(hosts)["problems"]
    assert "rdma_host_device_resource is 'rdma/nic', which group lab also has" in line
