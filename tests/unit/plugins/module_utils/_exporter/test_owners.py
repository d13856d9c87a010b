# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whose a port is, in each way in which a pod can hold one."""

from __future__ import annotations

from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.claims import Claimed
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import Known
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.namespaces import Link
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.owners import Owner, Owners
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container, Pod, Pods
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca, known

INODE = 4026532352
LINK = Link("ens1", 5, True, "", "0000:3b:00.0", None, False, 0)
POD = {"s1": Pod("vllm-0", "llm", "/run/netns/cni-1", INODE)}


def owners(found: Known, reading: Dict[str, Any]) -> List[Owner]:
    return Owners(found).of(reading, reading["ports"]["1"])


def with_pods(found: Known, pods: Dict[str, Pod], *containers: Container) -> Known:
    found.pods = Pods(pods, {str(number): container for number, container in enumerate(containers)})
    return found


def test_an_hca_in_the_namespace_of_a_pod() -> None:
    reading = hca(place=INODE)
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",)), Container("proxy", "s1"))
    found.claims = {("llm", "vllm-0", "main"): [Claimed("vllm-0-nic", "dra.net", "n", "pci-0000-3b-00-0")]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "vllm-0-nic", "netns")]


def test_a_netdev_in_the_namespace_of_a_pod_while_all_see_the_hca() -> None:
    reading = hca(port={"netdev": ""})
    found = with_pods(known(reading), POD)
    found.links = {INODE: [LINK]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "", "", "netns")]


def test_a_software_device_whose_netdev_dranet_has_moved() -> None:
    """As a guest of make cluster had it, with DRANET in netns mode shared: all see the HCA, without its netdev."""
    reading = hca("rxe5", pci="", software=True, driver="rxe", parent="enp67s0", port={"netdev": ""})
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",)))
    found.links = {INODE: [LINK._replace(name="enp67s0", pci="0000:43:00.0")]}
    devices = [
        Claimed("nics", "gpu.nvidia.com", "node1", "gpu-0"),
        Claimed("nics", "dra.net", "node1", "pci-0000-43-00-0"),
    ]
    found.claims = {("llm", "vllm-0", "main"): devices}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "nics", "netns")]
    # With another pod that calls its netdev the same, only the device says whose it is.
    found.links[INODE + 1] = found.links[INODE]
    assert [owner.how for owner in owners(found, reading)] == ["device"]


def test_a_software_device_in_the_namespace_of_a_pod() -> None:
    """As it had it in netns mode exclusive, where Soft-RoCE is made again beside its netdev."""
    reading = hca("rxe5", place=INODE, pci="", software=True, driver="rxe", parent="", port={"netdev": "enp67s0"})
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",)))
    found.links = {INODE: [LINK._replace(name="enp67s0", pci="0000:43:00.0")]}
    found.claims = {("llm", "vllm-0", "main"): [Claimed("nics", "dra.net", "node1", "pci-0000-43-00-0")]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "nics", "netns")]


def test_netdevs_of_pods_on_that_of_the_host() -> None:
    reading = hca()
    pods = {**POD, "s2": Pod("vllm-1", "llm", "/run/netns/cni-2", INODE + 1)}
    found = with_pods(known(reading), pods)
    found.host_links = [LINK]
    child = Link("net1", 2, True, "ipvlan", "", 5, True, None)
    # Its number is that of another netdev, in the pod's own namespace.
    found.links = {INODE: [child], INODE + 1: [child._replace(outside=False)]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "", "", "ipvlan")]


def test_all_pods_that_have_the_device() -> None:
    reading = hca()
    pods = {f"s{number}": Pod(f"vllm-{number}", "llm") for number in range(3)}
    containers = [Container("main", f"s{number}", ("231:192",), number == 2) for number in range(3)]
    found = with_pods(known(reading), pods, *containers, Container("other", "s0", ("231:193",)))
    assert owners(found, reading) == [
        Owner("llm", "vllm-0", "main", "", "device"),
        Owner("llm", "vllm-1", "main", "", "device"),
        Owner("llm", "vllm-2", "main", "", "privileged"),
    ]


def test_each_holder_is_told_once() -> None:
    reading = hca(place=INODE)
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",), True))
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "", "netns")]


def test_a_claim_of_another_device_is_not_the_one_that_brought_it() -> None:
    reading = hca(place=INODE)
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",)))
    found.claims = {
        ("llm", "vllm-0", "main"): [Claimed("gpu", "gpu.nvidia.com", "n", "gpu-0")],
        ("other", "vllm-0", "main"): [Claimed("nic", "dra.net", "n", "pci-0000-3b-00-0")],
    }
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "", "netns")]


def test_nothing_is_left_once_the_pod_has_ended() -> None:
    reading = hca(place=INODE)
    assert owners(with_pods(known(reading), {}), reading) == []


def test_dranet_does_not_name_what_it_has_moved() -> None:
    """Claims as a guest of make cluster had them."""
    reading = hca(place=INODE)
    found = with_pods(known(reading), POD, Container("main", "s1", ("231:192",)))
    gpu, nic = Claimed("pair", "gpu.nvidia.com", "n", "gpu-0"), Claimed("pair", "dra.net", "", "")
    found.claims = {("llm", "vllm-0", "main"): [gpu, nic]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "pair", "netns")]
    # It came with either of these.
    found.claims = {("llm", "vllm-0", "main"): [gpu, nic, Claimed("more", "dra.net", "", "")]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "", "netns")]
    # A claim for a GPU alone brings no NIC, nor does any bring what was not moved.
    found.claims = {("llm", "vllm-0", "main"): [gpu]}
    assert owners(found, reading) == [Owner("llm", "vllm-0", "main", "", "netns")]
    shared = hca()
    found = with_pods(known(shared), POD, Container("main", "s1", ("231:192",)))
    found.claims = {("llm", "vllm-0", "main"): [gpu, nic]}
    assert owners(found, shared) == [Owner("llm", "vllm-0", "main", "", "device")]
