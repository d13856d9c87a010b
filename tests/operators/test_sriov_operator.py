# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the real SR-IOV operator and its webhook make of the objects of a group whose VFs it hands out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, reasons
from ansible_collections.zerocopy.rdma.tests.cluster.host_devices import OPERATOR_PREFIX, operated, pod
from ansible_collections.zerocopy.rdma.tests.operators import sriov_operator
from ansible_collections.zerocopy.rdma.tests.operators.sriov_operator import Operator
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import (
    SRIOV,
    Facts,
    Hosts,
)

NODES = ("lab-01", "lab-02")
RESOURCE = "sriov_lab"
SET = {"name": "zerocopy-rdma-host-device", "namespace": "kube-system"}
STATE = "sriovnetwork.openshift.io/state"
CURRENT = "sriovnetwork.openshift.io/current-state"


@pytest.fixture(name="operator")
def make_operator(cluster_set: ClusterSet, control_plane: Any, tmp_path: Path) -> Iterator[Operator]:
    for name in NODES:
        cluster_set.kubectl("label", "node", name, "node-role.kubernetes.io/worker=", "kubernetes.io/os=linux")
    with sriov_operator.installed(cluster_set, control_plane, tmp_path) as found:
        yield found


def objects_of(hosts: Hosts) -> list[Object]:
    return [item for one in SRIOV.right(hosts)["sets"] for item in one["objects"]]


def plugin_configuration(operator: Operator, node: str) -> list[Object]:
    """What the operator tells the device plugin of a node."""
    data = operator.get("configmap", "device-plugin-config").get("data") or {}
    found: list[Object] = json.loads(data.get(node, "{}")).get("resourceList") or []
    return found


def cordoned(operator: Operator) -> set[str]:
    return {item["metadata"]["name"] for item in operator.items("nodes", "-A") if item["spec"].get("unschedulable")}


def drained(operator: Operator) -> set[str]:
    states = [item["metadata"] for item in operator.items("sriovnetworknodestates")]
    return {meta["name"] for meta in states if meta.get("annotations", {}).get(CURRENT) == "DrainComplete"}


def test_vfs_by_the_operator(cluster_set: ClusterSet, operator: Operator, facts_of: Facts) -> None:
    namespace = cluster_set.namespace
    own = {**operated(namespace, operator.namespace), "rdma_links_vfs": 8}
    hosts = SRIOV.recorded(facts_of, *NODES, group="lab", **own)
    objects = objects_of(hosts)
    operator.until("DaemonSets of daemon and plugin", lambda: len(operator.items("daemonsets")) == 2)

    # Its webhook refuses policies for nodes without the group's label, and VFs that its daemon has not seen.
    for name in NODES:
        operator.says(name, facts_of(name), vfs=0)
    assert "no matched node is selected by the nodeSelector" in cluster_set(**SET, objects=objects)["msg"]
    for name, labels in SRIOV.right(hosts)["labels"].items():
        cluster_set.kubectl("label", "node", name, *(f"{label}={value}" for label, value in labels.items()))
    said = cluster_set(**SET, objects=objects)["msg"]
    assert "is higher than the virtual functions allocated for the PF externally value(0)" in said
    assert operator.items("sriovnetworks") == []
    # A node without VFs holds up its own policy and nothing else.
    first, second = NODES
    operator.says(first, facts_of(first), vfs=8)
    options = {"objects": objects, "force_conflicts": "members", "rejectable": ["SriovNetworkNodePolicy"]}
    done = cluster_set(**SET, **options)
    assert sorted(actions(done).values()) == ["created"] * (len(objects)) + ["rejected"]
    assert set(done["unready"]) == {second}
    operator.says(second, facts_of(second), vfs=8)
    assert [action for action in actions(cluster_set(**SET, **options)).values() if action != "unchanged"] == [
        "created"
    ]
    # What the webhook adds to a policy is not undone.
    assert not cluster_set(**SET, objects=objects, force_conflicts="members")["changed"]

    # The network of pods, which they ask for by our names.
    where = ("network-attachment-definitions", "-n", namespace)
    operator.until("the network of pods", lambda: bool(operator.items(*where)))
    network = operator.get("network-attachment-definitions", "sriov-lab", namespace)
    assert network["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] == f"{OPERATOR_PREFIX}/{RESOURCE}"
    configuration = json.loads(network["spec"]["config"])
    assert (configuration["type"], configuration["ipam"]["range"]) == ("sriov", "10.110.0.0/24")

    # Each node hands out the VFs of its own NIC, and the operator makes none.
    operator.until("configurations of plugins", lambda: all(plugin_configuration(operator, name) for name in NODES))
    for name in NODES:
        (nic,) = facts_of(name)["hcas"]
        (resource,) = plugin_configuration(operator, name)
        assert resource["resourceName"] == RESOURCE
        assert resource["selectors"]["rootDevices"] == [nic["pci"]["address"]]
        assert resource["selectors"]["IsRdma"] is True
        (interface,) = operator.get("sriovnetworknodestates", name)["spec"]["interfaces"]
        assert (interface["pciAddress"], interface["numVfs"]) == (nic["pci"]["address"], 8)
        assert interface["externallyManaged"] is True

    # Verify looks at what there is, once the controller of DaemonSets has seen the operator's labels.
    def selected() -> set[int]:
        return {item["status"].get("desiredNumberScheduled") for item in operator.items("daemonsets")}

    operator.until("pods on both nodes", lambda: selected() == {len(NODES)})
    nodes, sets, synced = (operator.items(kind, "-A") for kind in ("nodes", "daemonsets", "sriovnetworknodestates"))
    checks = strategy_checks(hosts, nodes, sets, synced)
    states = [(check["host"], check["verdict"]) for check in checks if check["id"] == "cluster.state"]
    assert states == [(name, "pass") for name in NODES]
    plugins = {check["subject"]: check["evidence"]["desired"] for check in checks if check["id"] == "cluster.plugin"}
    assert plugins[f"{operator.namespace}/sriov-device-plugin"] == len(NODES)
    assert plugins[f"{operator.namespace}/sriov-network-config-daemon"] == len(NODES)

    # The daemons of both nodes ask for a drain, and the operator drains one at a time, as the group allows.
    for name in NODES:
        cluster_set.kubectl("annotate", "node", name, f"{STATE}=Drain_Required", "--overwrite")
    operator.until("a drained node", lambda: bool(drained(operator)))
    (first,) = drained(operator)
    assert cordoned(operator) == {first}
    cluster_set.kubectl("annotate", "node", first, f"{STATE}=Idle", "--overwrite")
    (second,) = set(NODES) - {first}
    operator.until("the other drained node", lambda: drained(operator) == {second})
    assert cordoned(operator) == {second}
    cluster_set.kubectl("annotate", "node", second, f"{STATE}=Idle", "--overwrite")
    operator.until("no cordoned node", lambda: not cordoned(operator))

    # A network that a pod asks for stays; what the operator has made goes with ours.
    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace, "sriov-lab"))
    kept = reasons(cluster_set(**SET, state="absent", _ansible_check_mode=True))
    assert kept["sriov-lab"] == f"requested by Pod {namespace}/training"
    cluster_set.kubectl("delete", "pod", "training", "-n", namespace, "--force")
    assert set(actions(cluster_set(**SET, state="absent")).values()) == {"pruned"}
    operator.until("no configuration", lambda: not any(plugin_configuration(operator, name) for name in NODES))
    assert operator.items("sriovnetworks") == []
    operator.until("no network of pods", lambda: not operator.items(*where))
