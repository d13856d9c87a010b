# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What playbooks/verify.yml finds on a real API server whose nodes are objects only."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.cluster.test_gpu_owners import COMING, DEFINITION
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

# Of two groups.
FLEET = ("v100-01", "v100-02", "a100-01")


def failed(report: Object, kind: str) -> List[Object]:
    return [check for check in report["checks"] if check["id"] == kind and check["verdict"] == "fail"]


def hosts(checks: List[Object]) -> Set[str]:
    return {check["host"] for check in checks}


def test_each_fault_of_a_cluster_is_named(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    playbook(**own)
    cluster_set.kubectl("delete", "deviceclass", "zerocopy-rdma-nic")
    # From now on kubectl manages this label, so applying it again is a conflict.
    template = ["resourceclaimtemplate", "-n", cluster_set.namespace, "--selector=zerocopy.rdma/alias=a100-1nic"]
    cluster_set.kubectl("label", "--overwrite", *template, "zerocopy.rdma/alias=mine")
    # Claims would be applied when the drivers have published. What is wrong with them is said before.
    said, report = playbook.verified("--tags=cluster", rdma_wait=True, **own)
    # This ring alone, which needs the facts of the host.
    assert {check["ring"] for check in report["checks"]} == {"cluster"}
    assert report["bandwidth"] == []
    # No kubelet starts the pods of the DaemonSets.
    assert hosts(failed(report, "cluster.driver")) == set(FLEET)
    gone, changed = failed(report, "cluster.objects")
    assert "DeviceClass zerocopy-rdma-nic" in gone["text"]
    subject = f"ResourceClaimTemplate {cluster_set.namespace}/a100-1nic"
    assert re.fullmatch(f"{subject} of set .* was changed by hand", changed["text"])
    assert gone["remedy"]
    assert changed["remedy"]
    every = [check for check in report["checks"] if check["verdict"] == "fail"]
    assert said.startswith(f"{len(every)} of {len(report['checks'])} checks and measurements failed")
    # The first of the report: drivers come before objects.
    assert re.search(r"The first is cluster\.driver of \S+: DRANET's pod dranet-", said)
    playbook(**own)
    _said, mended = playbook.verified("--tags=cluster", **own)
    assert failed(mended, "cluster.objects") == []


def test_gpus_of_two_owners_in_a_group_without_dra(
    cluster_set: ClusterSet, playbook: Playbook, facts_of: Facts
) -> None:
    """Of a site whose GPU Operator is to deploy the DRA driver, and of one that runs it itself."""
    playbook = playbook.of("v100-01")
    groups = {"v100": {"rdma_strategy": "shared_device", "rdma_claims_templates": []}}
    playbook(groups=groups)
    offered = {"status": {part: {"nvidia.com/gpu": "8"} for part in ("capacity", "allocatable")}}
    cluster_set.patch("node", "v100-01", offered, subresource="status")
    cluster_set.kubectl("create", "-f", "-", stdin=DEFINITION)
    try:
        cluster_set.kubectl("wait", "--for=condition=Established", "crd/gpuclusters.nvidia.com", "--timeout=60s")
        one = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": "gpu-cluster"}}
        cluster_set.kubectl("create", "-f", "-", stdin=one)
        _said, early = playbook.verified("--tags=cluster", groups=groups)
    finally:
        cluster_set.kubectl("delete", "crd", "gpuclusters.nvidia.com")
    (check,) = failed(early, "cluster.gpus")
    assert (check["host"], check["text"]) == ("v100-01", COMING)
    items = resource_slices(placed_on(published(facts_of("v100-01")), "v100-01"))
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": items})
    _said, report = playbook.verified("--tags=cluster", groups=groups)
    cluster_set.kubectl("delete", "resourceslices", *(item["metadata"]["name"] for item in items))
    assert hosts(failed(report, "cluster.gpus")) == {"v100-01"}


def test_claims_that_cannot_be_are_a_check_that_failed(cluster_set: ClusterSet, playbook: Playbook) -> None:
    playbook = playbook.of(*FLEET)
    own: Dict[str, Any] = {"rdma_claims_namespaces": [cluster_set.namespace]}
    too_many = [{"name": "too-many", "nics": 99}]
    said, report = playbook.verified("--tags=cluster", rdma_claims_templates=too_many, **own)
    (check,) = report["checks"]
    assert (check["id"], check["host"], check["verdict"]) == ("cluster.provision", None, "fail")
    assert "requests 0 gpus and 99 nics" in check["text"]
    first = "1 of 1 checks and measurements failed. The first is cluster.provision of the cluster: provision fails"
    assert said.startswith(first)
