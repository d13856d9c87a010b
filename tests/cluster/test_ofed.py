# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The OFED driver of a played Network Operator: one node first, the way back when it does harm, and afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet
from ansible_collections.zerocopy.rdma.tests.cluster.played_ofed import LABEL, PlayedOperator
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.cluster.test_network_operator import Install, make_install, there

# Fixtures that are defined elsewhere.
__all__ = ["make_install", "make_set_of_inventory"]

NODES = ["v100-01", "v100-02"]
NFD = "feature.node.kubernetes.io/"


def state(cluster_set: ClusterSet) -> Dict[str, Any]:
    """Of each node the label by which it is in a policy, the mark of a run, and whether it is cordoned."""
    nodes = [cluster_set.get("node", name) for name in NODES]
    return {
        node["metadata"]["name"]: (
            node["metadata"]["labels"].get(LABEL),
            node["metadata"]["labels"].get("zerocopy.rdma.node-restriction.kubernetes.io/ofed"),
            node["spec"].get("unschedulable", False),
        )
        for node in nodes
    }


def test_one_node_first_and_back_when_it_does_harm(
    cluster_set: ClusterSet,
    install: Install,
    playbook: Playbook,
    cluster: dynamic.DynamicClient,
    nodes: Path,
) -> None:
    install(True)
    for name in NODES:
        kernel = (nodes / name / "proc" / "sys" / "kernel" / "osrelease").read_text().strip()
        found = {"pci-15b3.present": "true", "kernel-version.full": kernel}
        found.update({"system-os_release.ID": "ubuntu", "system-os_release.VERSION_ID": "24.04"})
        cluster_set.kubectl("label", "node", name, *(f"{NFD}{key}={value}" for key, value in found.items()))
    own = {
        "rdma_strategy": "shared_device",
        "rdma_shared_device_provider": "network_operator",
        "rdma_claims_templates": [],
        "rdma_ofed_deploy": True,
        "rdma_ofed_version": "26.07-0.7.0.0-0",
        "rdma_ofed_watch": 1,
        "rdma_ofed_timeout": 120,
        "rdma_ofed_free": 0,
    }
    options: Dict[str, Any] = {"groups": {"v100": own}, "rdma_hosts": "v100", "rdma_claims_namespaces": []}
    without, with_driver = ("v100.operator", None, False), ("v100.ofed", None, False)
    policy = "nicnodepolicy.mellanox.com/rdma-shared-v100"
    try:
        playbook("--tags=driver", **options)
        assert state(cluster_set) == dict.fromkeys(NODES, without)
        with PlayedOperator(cluster, cluster_set.namespace, nodes, NODES) as operator:
            operator.flooding = True
            said = playbook.refused(name="ofed.yml", **options)
            assert said.startswith("v100-01 did not get the OFED driver: the kernel wrote 5")
            assert "messages within a minute, more than 2000. It has the driver of its kernel again" in said
            assert operator.history == ["v100-01 on", "v100-01 off"]
            assert state(cluster_set) == dict.fromkeys(NODES, without)
            assert there(cluster_set, "nicnodepolicies") == {policy}

            operator.flooding = False
            playbook(name="ofed.yml", **options)
            assert operator.history[2:] == ["v100-01 on", "v100-02 on"]
            assert state(cluster_set) == dict.fromkeys(NODES, with_driver)
            # The one without the driver would never be ready again.
            assert there(cluster_set, "nicnodepolicies") == {f"{policy}-ofed"}
            said = playbook.refused("--tags=driver", name="teardown.yml", **options)
            assert said.startswith("Nothing was changed. The OFED driver is on v100-01, v100-02, and teardown")
            assert state(cluster_set) == dict.fromkeys(NODES, with_driver)
            own["rdma_ofed_deploy"] = False
            playbook(name="ofed.yml", **options)
            # One wave, whose hosts are at work at the same time.
            assert sorted(operator.history[4:]) == ["v100-01 off", "v100-02 off"]
            assert state(cluster_set) == dict.fromkeys(NODES, without)
            assert there(cluster_set, "nicnodepolicies") == {policy}
            playbook("--tags=driver", name="teardown.yml", **options)
            assert there(cluster_set, "nicnodepolicies") == set()
    finally:
        cluster_set(name="zerocopy-rdma-v100-shared-device", namespace="kube-system", state="absent")
