# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""GPUs by the names that device plugins give them: found by the audit, moved, counted, and never given twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision import cluster
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import gpu_owners
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, Object, audited, pod
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import (
    NEAREST,
    ONE,
    PAIR,
    moved,
    only,
    refused,
)

# Whole ones, of which one is known to the site only.
WHOLE = ["nvidia.com/gpu", "nvidia.com/v100", "amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi", "example.org/gpu"]
PARTS = {
    "nvidia.com/gpu.shared": "a share of a GPU",
    "nvidia.com/mig-1g.5gb": "a partition of a GPU",
    "nvidia.com/mig-1g.5gb.shared": "a partition of a GPU",
    "amd.com/cpx_nps4": "a partition of a GPU",
    "example.org/gpu.shared": "a share of a GPU",
}
SITE = Names(gpus=("example.org/",))
FOUR = NamedRequest("four", templates={NAMESPACE: "four-1"}, gpus=4)


def known(*requests: NamedRequest) -> list[NamedRequest]:
    """Requests of a group that has all of these GPUs."""
    vendors, models = ["nvidia", "amd", "intel", "habana"], ["Tesla V100-SXM2-32GB"]
    own = [name for name in (*WHOLE, *PARTS) if name.startswith("example.org/")]
    return [replace(each, gpu_vendors=vendors, gpu_models=models, gpu_resources=own) for each in requests]


def asking(resource: str, number: str = "1", **spec: Any) -> Object:
    """A pod with this resource, on the host's network."""
    spec.setdefault("hostNetwork", True)
    container = {"resources": {"limits": {resource: number}}, "securityContext": {"privileged": True}}
    return pod(container=container, **spec)


@pytest.mark.parametrize(
    ("name", "vendor", "part"),
    [
        ("nvidia.com/gpu", "nvidia", "whole"),
        ("nvidia.com/v100", "nvidia", "whole"),
        ("nvidia.com/A100-SXM4-40GB", "nvidia", "whole"),
        ("nvidia.com/GeForce_RTX_3060", "nvidia", "whole"),
        ("nvidia.com/gpu.shared", "nvidia", "share"),
        ("nvidia.com/v100.shared", "nvidia", "share"),
        ("nvidia.com/GRID_A100-4C", "nvidia", "share"),
        ("nvidia.com/gpumem-percentage", "nvidia", "share"),
        ("nvidia.com/mig-1g.5gb", "nvidia", "partition"),
        ("nvidia.com/mig-1g.10gb.me", "nvidia", "partition"),
        ("nvidia.com/small-1g.10gb", "nvidia", "partition"),
        ("amd.com/gpu", "amd", "whole"),
        ("amd.com/spx_nps1", "amd", "whole"),
        ("amd.com/cpx_nps4", "amd", "partition"),
        ("gpu.intel.com/i915", "intel", "whole"),
        ("gpu.intel.com/xe", "intel", "whole"),
        ("habana.ai/gaudi", "habana", "whole"),
        ("example.org/gpu", "", "whole"),
        ("example.org/mig-1g.5gb", "", "partition"),
    ],
)
def test_which_resources_are_gpus(name: str, vendor: str, part: str) -> None:
    assert gpu(name, SITE) == (vendor, part)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "nvidia.com/hostdev",
            "nvidia.com/sriov_rdma",
            "nvidia.com/rdma_vf",
            "nvidia.com/cx7_qsfp",
            "nvidia.com/bf2_sf",
        ),
        *("gpu.intel.com/i915_monitoring", "gpu.intel.com/millicores", "amd.com/nic", "intel.com/qat", "rdma/ib"),
        *("example.com/gpu", "cpu", "nvidia.com"),
    ],
)
def test_which_are_none(name: str) -> None:
    assert gpu(name, SITE) is None


def test_what_the_site_says_of_its_names_takes_precedence() -> None:
    assert gpu("nvidia.com/resibp2s0") is not None
    assert gpu("nvidia.com/resibp2s0", Names(rdma=["nvidia.com/resibp2s0"])) is None
    assert gpu("nvidia.com/a100-ib") is None
    assert gpu("nvidia.com/a100-ib", Names(gpus=["nvidia.com/a100-ib"])) == ("nvidia", "whole")


@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_on_the_network_of_the_host_it_uses_rdma(name: str) -> None:
    found = audited([asking(name)], gpu_resources=SITE.gpus)
    assert [one["name"] for one in found["workloads"]] == ["pod"]
    items = [{**asking(name), "spec": {**asking(name)["spec"], "nodeName": "n1"}}]
    users, _plugins = node_use.users(items, {}, [], SITE)
    assert [(user.name, user.why) for user in users] == [("pod", "hostNetwork with RDMA")]


def test_a_name_that_only_the_site_knows() -> None:
    assert audited([asking("example.org/gpu")])["workloads"] == []
    assert node_use.users([asking("example.org/gpu")], {}, []) == ([], [])


@pytest.mark.parametrize("name", WHOLE)
def test_a_claim_with_gpus_replaces_whole_ones(name: str) -> None:
    spec = only(asking(name, "4"), RewriteOptions(known(ONE, PAIR, FOUR), site=SITE))["spec"]
    assert spec["resourceClaims"] == [{"name": "rdma", "resourceClaimTemplateName": "four-1"}]
    assert spec["containers"][0]["resources"] == {"claims": [{"name": "rdma"}]}


@pytest.mark.parametrize(("name", "what"), PARTS.items())
def test_a_claim_for_whole_gpus_does_not_replace_parts(name: str, what: str) -> None:
    chosen = RewriteOptions([ONE, PAIR], {"pod": ["pair"]}, SITE)
    assert refused(asking(name), chosen) == f"the claim has whole GPUs, which cannot replace {name}, {what}"
    only_gpus = f"no request of the group fits a pod with {name}, {what}; it has pair"
    assert refused(asking(name), RewriteOptions(known(PAIR), site=SITE)) == only_gpus
    # Beside a claim for the NIC, the device plugin goes on handing them out.
    resources = only(asking(name), RewriteOptions(known(ONE, PAIR), site=SITE))["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {name: "1"}, "claims": [{"name": "rdma"}]}


def test_what_was_counted_is_told() -> None:
    chosen = RewriteOptions([FOUR], {"pod": ["four"]})
    why = "the claim has 4 GPUs for one container, but main has nvidia.com/v100: 2"
    assert refused(asking("nvidia.com/v100", "2"), chosen) == why


@pytest.mark.parametrize("name", ["nvidia.com/v100", "nvidia.com/mig-1g.5gb", "example.org/gpu"])
def test_injection_finds_nics_for_gpus_of_any_name(name: str) -> None:
    options = RewriteOptions(known(NEAREST), site=SITE)
    limits = only(asking(name), options)["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {name: "1", "rdma.io/hca": "1"}
    why = "nearest gives the NICs nearest to nvidia.com/gpu, but container main requests no GPU"
    assert refused(asking("amd.com/gpu"), options) == why


def test_ports_that_were_moved_belong_to_the_container_with_gpus() -> None:
    """The main container is not the first."""

    def server(name: str, port: int) -> Object:
        item = asking("example.org/gpu", metadata={"name": name})
        item["spec"]["containers"][0].update(image="registry.example.org/llm/vllm:v1", ports=[{"containerPort": port}])
        item["spec"]["containers"].insert(0, {"name": "proxy", "image": f"registry.example.org/{name}:1"})
        return item

    found = audited([server("a", 8000), server("b", 8001)], gpu_resources=SITE.gpus)
    assert all("ports_remapped" in [one["code"] for one in each["findings"]] for each in found["workloads"])
    there, _notes = moved(server("a", 8000), server("b", 8001), options=RewriteOptions(known(ONE), site=SITE))
    assert [one["spec"]["containers"][1]["ports"] for one in there] == [[{"containerPort": 8000}]] * 2


def node(name: str, labels: dict[str, str], allocatable: dict[str, str]) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def taken_of(nodes: list[Object], hosts: list[str], values: Object, more: Names) -> dict[str, list[str]]:
    """What device plugins have of these nodes, as the module ``cluster_info`` tells of them."""
    allocatable = {item["metadata"]["name"]: cluster._allocatable(item) for item in nodes}
    labels = {item["metadata"]["name"]: item["metadata"]["labels"] for item in nodes}
    return gpu_owners.by_device_plugin(allocatable, labels, hosts, values, more)


@pytest.mark.parametrize(
    ("allocatable", "taken"),
    [
        ({"nvidia.com/gpu": "8"}, ["nvidia.com/gpu"]),
        ({"nvidia.com/v100": "4", "nvidia.com/hostdev": "2"}, ["nvidia.com/v100"]),
        ({"nvidia.com/gpu.shared": "80", "nvidia.com/gpu": "0"}, ["nvidia.com/gpu.shared"]),
        ({"nvidia.com/mig-1g.5gb": "7", "nvidia.com/gpu": "7"}, ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]),
        # NVIDIA's, for all that is known.
        ({"example.org/gpu": "1"}, ["example.org/gpu"]),
        ({"nvidia.com/gpu": "0", "nvidia.com/v100": "0"}, []),
        ({"amd.com/gpu": "8", "nvidia.com/resibp2s0": "1", "cpu": "64"}, []),
    ],
)
def test_nodes_whose_gpus_a_device_plugin_has(allocatable: dict[str, str], taken: list[str]) -> None:
    found = taken_of([node("n1", {}, allocatable)], ["n1"], {}, Names(["nvidia.com/resibp2s0"], SITE.gpus))
    assert found == ({"n1": taken} if taken else {})


@pytest.mark.parametrize(
    ("labels", "values", "is_taken"),
    [
        ({}, {}, False),
        ({"nvidia.com/gpu.present": "false"}, {}, False),
        ({"nvidia.com/gpu.present": "true"}, {}, True),
        ({"feature.node.kubernetes.io/pci-10de.present": "true"}, {}, True),
        ({"nvidia.com/gpu.present": "true"}, {"kubeletPlugin": {"nodeSelector": {"group": "h100"}}}, False),
        (
            {"nvidia.com/gpu.present": "true", "group": "h100"},
            {"kubeletPlugin": {"nodeSelector": {"group": "h100"}}},
            True,
        ),
        ({"nvidia.com/gpu.present": "true"}, {"kubeletPlugin": {"affinity": {"nodeAffinity": {}}}}, True),
        ({"nvidia.com/gpu.present": "true"}, {"kubeletPlugin": {"affinity": {"nodeAffinity": {"x": 1}}}}, False),
    ],
)
def test_nodes_that_are_not_in_the_run(labels: dict[str, str], values: Object, is_taken: bool) -> None:
    """The chart brings the driver there as well."""
    nodes = [node("other", labels, {"nvidia.com/v100": "4"}), node("bare", {"nvidia.com/gpu.present": "true"}, {})]
    found = taken_of(nodes, ["n1"], values, Names())
    assert found == ({"other": ["nvidia.com/v100"]} if is_taken else {})
