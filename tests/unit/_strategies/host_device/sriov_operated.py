# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A group whose VFs the SR-IOV operator hands out, and what is planned for it."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SRIOV,
    Facts,
    Hosts,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategy_plan

OWN = "rdma_host_device_"
PLACE = "sriov-network-operator"
EIGHT: dict[str, Any] = {"rdma_links_vfs": 8}
OPERATED: dict[str, Any] = {OWN + "provider": "sriov_operator", OWN + "prefix": "openshift.io"}
KINDS = [
    f"{kind}.sriovnetwork.openshift.io"
    for kind in (
        "SriovNetworkNodePolicy",
        "SriovNetworkPoolConfig",
        "SriovNetwork",
        "SriovIBNetwork",
        "SriovNetworkNodeState",
    )
]
MAKERS = ("HostDeviceNetwork.mellanox.com", *KINDS[2:4])
PLUGIN = {
    "kind": "DaemonSet",
    "metadata": {"name": "sriov-device-plugin", "namespace": PLACE},
    "spec": {"template": {"spec": {"containers": [{"args": ["--log-level=10", "--resource-prefix=openshift.io"]}]}}},
}


def lab(facts_of: Facts, **own: Any) -> Hosts:
    facts = facts_of("lab-01")
    return SRIOV.hosts_of({"lab-01": facts, "lab-02": copy.deepcopy(facts)}, "lab", **{**EIGHT, **OPERATED, **own})


def plan(hosts: Hosts, *there: Any, nodes: Any = None, kinds: Any = None) -> dict[str, Any]:
    every = list(there) if there else None
    kinds = KINDS if kinds is None else kinds
    return strategy_plan({}, list(hosts), hosts, "host_device", kinds=kinds, objects=every, nodes=nodes)


def infiniband(facts_of: Facts) -> dict[str, Any]:
    facts = copy.deepcopy(facts_of("v100-01"))
    for hca in facts["hcas"]:
        hca["sriov"].update(role="pf", num_vfs=4)
    return facts
