# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""GPUs that a DRA driver publishes and a device plugin offers: verify says so, whoever has installed the two."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import AMD_DRIVER, GPU_DRIVER
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit._strategies.device_plugin.device_plugin_plan import Facts
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# The name under which published() has every node.
NODE = "n"


@pytest.fixture(name="slices")
def make_slices(facts_of: Facts) -> list[dict[str, Any]]:
    """Those of both drivers of the node, by a site that runs the one of NVIDIA itself."""
    return resource_slices(published(facts_of("h100-01")))


def gpu_checks(
    slices: list[dict[str, Any]], allocatable: dict[str, str], name: str = NODE, **own: Any
) -> list[dict[str, Any]]:
    hosts = {NODE: {"inventory_hostname": NODE, "group_names": ["h100"], "rdma_strategy": "dra"}}
    live = {"metadata": {"name": name}, "status": {"allocatable": allocatable}}
    found = strategy_checks(hosts, [live], [], slices=slices, **own)
    assert {one["id"] for one in found} <= {"cluster.gpus"}
    return found


def test_a_device_plugin_beside_the_drivers_of_a_site(slices: list[dict[str, Any]]) -> None:
    (found,) = gpu_checks(slices, {"nvidia.com/gpu": "8", "cpu": "64"})
    assert (found["host"], found["group"], found["subject"]) == (NODE, "h100", GPU_DRIVER)
    assert found["verdict"] == "fail"
    assert found["text"] == (
        "gpu.nvidia.com publishes 8 devices, and a device plugin offers nvidia.com/gpu: a GPU can be given to two pods"
        " at once"
    )
    assert found["evidence"] == {"devices": 8, "resources": ["nvidia.com/gpu"]}
    assert found["remedy"]


@pytest.mark.parametrize(
    ("allocatable", "verdict"),
    [
        ({"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "80"}, "fail"),
        ({"nvidia.com/mig-1g.5gb": "7"}, "fail"),
        ({"example.org/gpu": "8"}, "fail"),
        # A plugin that was removed, NICs, and what another driver would publish.
        ({"nvidia.com/gpu": "0"}, "pass"),
        ({"nvidia.com/hostdev": "8", "nvidia.com/resibp2s0": "1"}, "pass"),
        ({"amd.com/gpu": "8"}, "pass"),
        ({}, "pass"),
    ],
)
def test_what_a_device_plugin_may_offer(
    slices: list[dict[str, Any]], allocatable: dict[str, str], verdict: str
) -> None:
    own: dict[str, Any] = {"rdma_gpu_resources": ["example.org/"], "rdma_audit_resources": ["nvidia.com/resibp2s0"]}
    (found,) = gpu_checks(slices, allocatable, **own)
    assert (found["verdict"], bool(found["remedy"])) == (verdict, verdict == "fail")


def test_a_device_plugin_alone(slices: list[dict[str, Any]]) -> None:
    """Whoever is about to deploy a driver sees that the GPUs are taken."""
    plugin = {"nvidia.com/gpu": "8", "nvidia.com/gpu.shared": "0", "example.org/gpu": "1"}
    own: dict[str, Any] = {"rdma_gpu_resources": ["example.org/"]}
    nics = [one for one in slices if one["spec"]["driver"] != GPU_DRIVER]
    empty = [{**one, "spec": {**one["spec"], "devices": []}} for one in slices]
    for published_there in (nics, [], empty):
        (found,) = gpu_checks(published_there, plugin, **own)
        assert (found["verdict"], found["subject"]) == ("pass", "example.org/gpu, nvidia.com/gpu")
        assert found["text"] == (
            "a device plugin allocates the GPUs as example.org/gpu, nvidia.com/gpu, and no DRA driver publishes them"
        )


def test_a_gpu_cluster_whose_driver_publishes_nothing_yet(slices: list[dict[str, Any]]) -> None:
    plugin, gpu_clusters = {"nvidia.com/gpu": "8", "amd.com/gpu": "8"}, [{"metadata": {"name": "gpu-cluster"}}]
    (found,) = gpu_checks([], plugin, gpu_clusters=gpu_clusters)
    assert (found["verdict"], found["subject"]) == ("fail", GPU_DRIVER)
    assert found["text"] == (
        "GPUCluster gpu-cluster deploys gpu.nvidia.com, which publishes nothing here yet, and a device plugin offers"
        " nvidia.com/gpu: a GPU can be given to two pods at once"
    )
    assert found["evidence"] == {"devices": 0, "resources": ["nvidia.com/gpu"]}
    assert found["remedy"]
    # What is published tells more.
    (found,) = gpu_checks(slices, plugin, gpu_clusters=gpu_clusters)
    assert found["text"].startswith("gpu.nvidia.com publishes 8 devices, and a device plugin offers nvidia.com/gpu: ")
    # Alone, or beside the plugin of other GPUs, it is nothing to complain about.
    assert gpu_checks([], {}, gpu_clusters=gpu_clusters) == []
    for name in ("amd.com/gpu", "example.org/gpu"):
        (found,) = gpu_checks([], {name: "8"}, gpu_clusters=gpu_clusters, rdma_gpu_resources=["example.org/"])
        assert (found["verdict"], found["subject"]) == ("pass", name)


def test_nodes_without_gpus_and_unknown_ones_say_nothing(slices: list[dict[str, Any]]) -> None:
    assert gpu_checks([], {"cpu": "64", "nvidia.com/gpu": "0"}) == []
    assert gpu_checks(slices, {"nvidia.com/gpu": "8"}, name="another") == []


def test_amd(facts_of: Facts) -> None:
    slices = resource_slices(published(facts_of("case-mi300x")))
    (found,) = gpu_checks(slices, {"amd.com/gpu": "8", "amd.com/nic": "8", "nvidia.com/gpu": "1"})
    assert (found["subject"], found["evidence"]["resources"]) == (AMD_DRIVER, ["amd.com/gpu"])


def test_slices_are_read_where_no_strategy_needs_them() -> None:
    tasks = yaml.safe_load((variables.ROLES / "rdma_verify" / "tasks" / "cluster.yml").read_text("utf-8"))[0]["block"]
    (query,) = [task for task in tasks if "zerocopy.rdma.resource_slice_info" in task]
    (judge,) = [task["zerocopy.rdma.verify"] for task in tasks if "zerocopy.rdma.verify" in task]
    # Many clusters have no DRA.
    assert (query["failed_when"], query["when"]) == (False, "rdma_provision_plan.published is not defined")
    assert judge["published"] == f"{{{{ rdma_provision_plan.published | default({query['register']}) }}}}"


def test_slices_that_are_none() -> None:
    spec = {"driver": GPU_DRIVER, "pool": {"name": NODE}, "nodeName": NODE}
    broken = {"kind": "ResourceSlice", "spec": {**spec, "devices": [{"name": "gpu-0", "attributes": {"type": {}}}]}}
    with pytest.raises(ValueError, match="no known value"):
        gpu_checks([broken], {})
