# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A group whose VFs the SR-IOV operator hands out, on a real API server with the operator's own definitions (v1.6.0).

The operator does not run here. What it would make is made by the test: its DaemonSet, and what it says of nodes.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
import yaml
from vmlab.golang import go

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.modules import cluster_info
from ansible_collections.zerocopy.rdma.tests.bench.cluster_objects import sriov_plugin
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object, actions, reasons
from ansible_collections.zerocopy.rdma.tests.cluster.host_devices import labels, offer, operated, pod, verdicts
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import SRIOV, Facts
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

_MODULE = "github.com/k8snetworkplumbingwg/sriov-network-operator@v1.6.0"
_GROUP = "sriovnetwork.openshift.io"
_OF_NODES = ("sriovnetworknodepolicies", "sriovnetworknodestates", "sriovnetworkpoolconfigs")
KINDS = (*_OF_NODES, "sriovnetworks", "sriovibnetworks")
SET: Dict[str, str] = {"name": "zerocopy-rdma-host-device", "namespace": "kube-system"}
APPLIED, RESOURCE = "Apply the objects (host_device)", "openshift.io/sriov_lab"


def source(directory: Path) -> Path:
    """The directory of the operator's module, with its chart and definitions."""
    # The checksum database says that the module is the one that everybody has.
    return Path(json.loads(go(directory, "mod", "download", "-json", _MODULE))["Dir"])


@pytest.fixture(name="operator")
def make_operator(cluster_set: ClusterSet, tmp_path: Path) -> Iterator[str]:
    """Namespace of an operator, whose kinds the API server knows until the end of the test."""
    directory = source(tmp_path) / "config" / "crd" / "bases"
    objects = [yaml.safe_load((directory / f"{_GROUP}_{name}.yaml").read_text(encoding="utf-8")) for name in KINDS]
    assert set(actions(cluster_set(name="operator", objects=objects)).values()) == {"created"}
    namespace = f"{cluster_set.namespace}-sriov"
    cluster_set.kubectl("create", "namespace", namespace)
    cluster_set.kubectl("create", "-f", "-", stdin=sriov_plugin(namespace))
    yield namespace
    cluster_set.kubectl("delete", "pods", "-n", cluster_set.namespace, "--all", "--force")
    # Before their kinds go. Without a kubelet there is nothing to wait for.
    cluster_set(**SET, state="absent")
    cluster_set.kubectl("delete", ",".join(KINDS), "-n", namespace, "--all")
    assert set(actions(cluster_set(name="operator", state="absent", wait=True)).values()) == {"pruned"}
    cluster_set.kubectl("delete", "namespace", namespace, "--wait=false")


def custom(namespace: str, kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": meta, "spec": spec}


def test_vfs_by_the_operator(
    cluster_set: ClusterSet,
    playbook: Playbook,
    operator: str,
    control_plane: Any,
    run_module: Callable[..., Object],
    facts_of: Facts,
) -> None:
    playbook, namespace = playbook.of("lab-01", "lab-02", "h100-01"), cluster_set.namespace
    # An operator is in a cluster once.
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace], "rdma_operator_sriov_namespace": operator}
    groups = {"lab": {**operated(namespace, operator), "rdma_links_vfs": 8}}
    done = actions(playbook(groups=groups, **own)[APPLIED])
    assert done[f"SriovNetwork {operator}/sriov-lab"] == "created"
    assert done[f"SriovNetworkPoolConfig {operator}/rdma-lab"] == "created"
    # The nodes have their NICs in different places.
    items = json.loads(cluster_set.kubectl("get", "sriovnetworknodepolicies", "-n", operator, "-o", "json"))["items"]
    selected = [item["spec"]["nodeSelector"][SRIOV.label] for item in items]
    served = {name: value for name, value in labels(cluster_set).items() if value}
    assert set(served) == {"lab-01", "lab-02"}
    assert sorted(served.values()) == sorted(selected)

    # What others have the operator do is seen before anything changes.
    found = SRIOV.recorded(facts_of, "lab-01", "lab-02", group="lab", **groups["lab"])
    looks = strategies({}, list(found), found)["objects"]
    selector = {"nodeSelector": {}, "nicSelector": {"vendor": "15b3"}}
    theirs = custom(operator, "SriovNetworkNodePolicy", "theirs", {"resourceName": "x", "numVfs": 4, **selector})
    said = []
    for change in ("create", "delete"):
        cluster_set.kubectl(change, "-f", "-", stdin=theirs)
        kinds = registry.kinds()
        info = run_module(cluster_info, kubeconfig=str(control_plane.kubeconfig), objects=looks, kinds=kinds)
        state = {"nodes": info["nodes"], "kinds": info["kinds"], "objects": info["objects"]}
        said.append(strategies({}, list(found), found, **state)["problems"])
    assert "somebody else's SriovNetworkNodePolicy theirs selects mlx5_0" in said[0][0]
    assert said[1] == []

    # No network goes while a pod has it, whatever the namespace of the object that makes it.
    cluster_set.kubectl("create", "-f", "-", stdin=pod(namespace, "sriov-lab"))
    kept = reasons(cluster_set(**SET, state="absent", _ansible_check_mode=True))
    assert kept["sriov-lab"] == f"requested by Pod {namespace}/training"

    for host, status in (("lab-01", "Succeeded"), ("lab-02", "Failed")):
        cluster_set.kubectl("create", "-f", "-", stdin=custom(operator, "SriovNetworkNodeState", host, {}))
        change = json.dumps({"status": {"syncStatus": status}})
        where = ("sriovnetworknodestates", host, "-n", operator, "--subresource=status", "--type=merge")
        cluster_set.kubectl("patch", *where, "-p", change)
    offer(cluster_set, "lab-01", RESOURCE, "8")
    _said, report = playbook.verified("--tags=cluster", groups=groups, **own)
    assert verdicts(report, "cluster.state") == [("lab-01", operator, "pass"), ("lab-02", operator, "fail")]
    assert ("lab-01", RESOURCE, "pass") in verdicts(report, "cluster.resources")
    assert ("", "zerocopy-rdma-host-device", "pass") in verdicts(report, "cluster.objects")
    assert ("", f"{operator}/sriov-network-config-daemon", "fail") in verdicts(report, "cluster.plugin")


def test_a_policy_that_is_rejected_stops_no_other_host(
    cluster_set: ClusterSet, playbook: Playbook, operator: str, facts_of: Facts
) -> None:
    playbook, namespace = playbook.of("lab-01", "lab-02"), cluster_set.namespace
    own: Dict[str, Any] = {"rdma_claims_namespaces": [namespace]}
    groups = {"lab": {**operated(namespace, operator), "rdma_links_vfs": 8}}
    # The nodes have their NICs in different places. The webhook of the operator would know none of the second one.
    (nic,) = facts_of("lab-02")["hcas"]
    address = nic["pci"]["address"]
    selects = {"nodeSelector": {}, "nicSelector": {"rootDevices": [address]}, "numVfs": 8, "resourceName": "x"}
    probe = custom(operator, "SriovNetworkNodePolicy", "probe", selects)
    expression = f"!('{address}' in object.spec.nicSelector.rootDevices)"
    with cluster_set.denying(KINDS[0] + f".{_GROUP}", expression, probe):
        said, results = playbook.partly(groups=groups, **own)
        assert set(said) == {"lab-02"}
        assert said["lab-02"].startswith(f"lab-02: SriovNetworkNodePolicy {operator}/sriov-lab-")
        assert said["lab-02"].endswith("no supported NIC is selected")
        done = actions(results[APPLIED])
        assert sorted(done[name] for name in done if name.startswith("SriovNetworkNodePolicy")) == [
            "created",
            "rejected",
        ]
        assert done[f"SriovNetwork {operator}/sriov-lab"] == "created"
        (line, hint) = results["Show which policies the webhook of the SR-IOV operator rejected"]["msg"]
        assert "denied request: no supported NIC is selected" in line
        assert "(rdma_links_vfs)" in hint
    done = actions(playbook(groups=groups, **own)[APPLIED])
    assert sorted(done[name] for name in done if name.startswith("SriovNetworkNodePolicy")) == ["created", "unchanged"]


def test_vfs_of_infiniband_by_the_operator(cluster_set: ClusterSet, operator: str, facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    for hca in facts["hcas"]:
        hca["sriov"].update(role="pf", num_vfs=4)
    own = operated(cluster_set.namespace, operator)
    found = SRIOV.right(SRIOV.hosts_of({"v100-01": facts}, "v100", **own, rdma_max_unavailable="10%"))
    (one,) = found["sets"]
    objects = [item for item in one["objects"] if item["apiVersion"].startswith(_GROUP)]
    assert {item["kind"] for item in objects} >= {"SriovIBNetwork", "SriovNetworkPoolConfig"}
    assert set(actions(cluster_set(**SET, objects=objects)).values()) == {"created"}
    network = next(item for item in objects if item["kind"] == "SriovIBNetwork")
    # A field that the operator does not know is noticed.
    wrong = {**network, "spec": {**network["spec"], "trust": "on"}}
    assert ".spec.trust" in cluster_set(**SET, objects=[wrong], prune=False)["msg"]
