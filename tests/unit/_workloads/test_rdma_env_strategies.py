# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""rdma-env.sh in pods as each strategy makes them of a described node, and beside what strategy ``inject`` sets."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.gather import GatherOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import adjust
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import Hardware, Watched
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_shells import SHELLS, make_shell
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_tree import IPC_LOCK, PodTree, make

# A fixture that is defined elsewhere.
__all__ = ["make_shell"]

_RDMA_NAMES = ("NCCL_IB_HCA", "UCX_NET_DEVICES", "NVSHMEM_HCA_LIST")


def moved(pod: PodTree, *hcas: str) -> None:
    """In RDMA netns mode exclusive /sys has the devices of the pod only, and their netdevs came with them."""
    netdevs = {path.name for hca in hcas for path in (pod.root / "sys/class/infiniband" / hca / "device/net").glob("*")}
    pod.keep(*hcas)
    for kind, own in (("infiniband", set(hcas)), ("net", netdevs)):
        for path in list((pod.root / "sys/class" / kind).iterdir()):
            if path.name not in own:
                path.unlink()
    for node in list((pod.root / "sys/class/infiniband_verbs").glob("uverbs*")):
        if (node / "ibdev").read_text().strip() not in hcas:
            node.unlink()


def dra(pod: PodTree) -> None:
    """DRANET: device nodes and netdevs of the claim, netns mode exclusive."""
    moved(pod, "mlx5_0", "mlx5_5")
    pod.limits("8388608", capabilities=IPC_LOCK)


def dra_shared(pod: PodTree) -> None:
    """The same in mode shared, where /sys shows the devices of others as well."""
    pod.keep("mlx5_0", "mlx5_5")
    pod.netdevs("rail0", "rail5")
    pod.limits("8388608", capabilities=IPC_LOCK)


def shared_device(pod: PodTree) -> None:
    """The shared device plugin: device nodes only. The netdevs, whose GIDs are used, stay on the node."""
    pod.keep("mlx5_0", "mlx5_5")
    pod.netdevs()
    pod.write("sys/class/net/eth0")
    pod.limits("8388608", capabilities=IPC_LOCK)


def host_device(pod: PodTree) -> None:
    """The SR-IOV device plugin with Multus: the CNI plugin has renamed the netdevs, which GIDs show by these names."""
    pod.keep("mlx5_0", "mlx5_5")
    pod.netdevs()
    for number, hca in ((1, "mlx5_0"), (2, "mlx5_5")):
        pod.write(f"sys/class/net/net{number}")
        (netdev,) = (pod.root / "sys/class/infiniband" / hca / "device/net").iterdir()
        netdev.rename(netdev.with_name(f"net{number}"))
        for path in (pod.port(hca) / "gid_attrs/ndevs").iterdir():
            if path.read_text().strip() == netdev.name:
                path.unlink()
                path.write_text(f"net{number}\n")
    pod.limits("8388608", capabilities=IPC_LOCK)


def inject(pod: PodTree) -> None:
    """The NRI plugin: device nodes in a pod on the host network, whose limit of locked memory was raised instead."""
    pod.keep("mlx5_0", "mlx5_5")
    pod.limits("unlimited")


@pytest.mark.parametrize("as_made_by", [dra, dra_shared, shared_device, host_device, inject])
def test_a_roce_pod_of_each_strategy(
    shell: List[str],
    root_of: Callable[[str], Path],
    facts_of: Callable[..., Dict[str, Any]],
    tmp_path: Path,
    as_made_by: Callable[[PodTree], None],
) -> None:
    pod = make(root_of("case-h100-roce"), tmp_path / "pod", shell)
    as_made_by(pod)
    found = pod.run(ZEROCOPY_RDMA_DEVICES="2")
    assert found.status == 0, found.said
    (index,) = {hca["ports"][0]["roce_v2_gid_index"] for hca in facts_of("case-h100-roce")["hcas"]}
    assert found.variables == {
        "NCCL_IB_HCA": "=mlx5_0:1,mlx5_5:1",
        **dict.fromkeys(("UCX_NET_DEVICES", "NVSHMEM_HCA_LIST"), "mlx5_0:1,mlx5_5:1"),
        **dict.fromkeys(("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"), str(index)),
    }
    # One that it asked for and did not get.
    assert pod.run(ZEROCOPY_RDMA_DEVICES="3").status == 85


def test_a_vf_of_strategy_sriov(shell: List[str], root_of: Callable[[str], Path], tmp_path: Path) -> None:
    """One VF has moved with its netdev; its PF and the other one are not in the pod."""
    pod = make(root_of("case-vf"), tmp_path / "pod", shell)
    moved(pod, "mlx5_1")
    pod.limits("8388608", capabilities=IPC_LOCK)
    found = pod.run()
    assert found.status == 0, found.said
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_1:1"


def hardware_of(root: Path) -> Hardware:
    return Watched(str(root), GatherOptions(), ()).now()


@pytest.mark.parametrize("node", ["h100-01", "case-h100-roce", "v100-01", "a100-01", "case-vf"])
def test_strategy_inject_sets_the_same(root_of: Callable[[str], Path], tmp_path: Path, node: str) -> None:
    """The daemon works it out of the node's facts, the script of what the pod sees: it is one rule in two languages."""
    hardware = hardware_of(root_of(node))
    hcas = [name for name, hca in hardware.hcas.items() if hca.ports]
    pod = Pod("p", "llm", {"rdma.zerocopy.io/nics": ",".join(hcas)}, host_network=True)
    container = Container("main")
    wish = adjust.asked(pod, container, Configuration())
    assert wish
    set_by_it = adjust.given(wish, pod, container, Configuration(), hardware).adjustment.environment

    tree = make(root_of(node), tmp_path / "pod", SHELLS["bash"])
    tree.keep(*hcas)
    alone = tree.run()
    assert alone.status == 0, alone.said

    def plain(variables: Dict[str, str]) -> Dict[str, Any]:
        """Ports have no order: the script lists them by device node, the daemon by GPU."""
        return {name: sorted(value.lstrip("=").split(",")) for name, value in variables.items()}

    assert plain(alone.variables) == plain(set_by_it)
    assert alone.variables["NCCL_IB_HCA"].startswith("=")
    assert set_by_it["NCCL_IB_HCA"].startswith("=")
    # In its container the script finds nothing to add, and says what is there.
    beside = tree.run(**set_by_it)
    assert beside.variables == set_by_it
    assert all(f"{name}={set_by_it[name]} was set before, and stays" in beside.said for name in _RDMA_NAMES)


def test_strategy_inject_leaves_out_a_port_without_a_gid(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    root = tmp_path / "node"
    shutil.copytree(root_of("case-h100-roce"), root, symlinks=True)
    for index in range(16):
        kind = root / "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types" / str(index)
        if kind.exists():
            kind.write_text("IB/RoCE v1\n")
    pod = Pod("p", "llm", {"rdma.zerocopy.io/nics": "mlx5_0,mlx5_5"}, host_network=True)
    container = Container("main")
    wish = adjust.asked(pod, container, Configuration())
    assert wish
    environment = adjust.given(wish, pod, container, Configuration(), hardware_of(root)).adjustment.environment
    tree = make(root, tmp_path / "pod", SHELLS["bash"])
    tree.keep("mlx5_0", "mlx5_5")
    assert environment == tree.run().variables
    assert environment["UCX_NET_DEVICES"] == "mlx5_5:1"
