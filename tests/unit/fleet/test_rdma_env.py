# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""rdma-env.sh in each shell that an image may have, with what pods of described nodes see."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.topology import PATH_CLASSES
from ansible_collections.zerocopy.rdma.tests.unit.fleet.pod_tree import IPC_LOCK, NO_IPC_LOCK, SCRIPT, PodTree, make

Pod = Callable[..., PodTree]
SHELLS: Dict[str, List[str]] = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}
IPV4, V2, V1 = "0000:0000:0000:0000:0000:ffff:", "RoCE v2", "IB/RoCE v1"


@pytest.fixture(params=sorted(SHELLS))
def shell(request: pytest.FixtureRequest) -> List[str]:
    argv = SHELLS[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    return argv


@pytest.fixture
def pod(shell: List[str], root_of: Callable[[str], Path], tmp_path: Path) -> Pod:
    def new(node: str) -> PodTree:
        return make(root_of(node), tmp_path / node, shell)

    return new


def test_roce(pod: Pod, facts_of: Callable[..., Dict[str, Any]]) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_5")
    found = roce.run(ZEROCOPY_RDMA_DEVICES="2")
    (index,) = {hca["ports"][0]["roce_v2_gid_index"] for hca in facts_of("case-h100-roce")["hcas"]}
    assert found.status == 0, found.said
    assert found.variables == {
        "NCCL_IB_GID_INDEX": str(index),
        "NCCL_IB_HCA": "=mlx5_0:1,mlx5_5:1",
        "NVSHMEM_HCA_LIST": "mlx5_0:1,mlx5_5:1",
        "NVSHMEM_IB_GID_INDEX": str(index),
        "UCX_IB_GID_INDEX": str(index),
        "UCX_NET_DEVICES": "mlx5_0:1,mlx5_5:1",
    }
    assert f"mlx5_0 port 1: Ethernet, GID index {index} ({IPV4}0a03:0040, netdev rail0)" in found.said


def test_infiniband_has_no_gid_index(pod: Pod) -> None:
    infiniband = pod("h100-01")
    infiniband.keep("mlx5_3")
    assert infiniband.run().variables == {
        "NCCL_IB_HCA": "=mlx5_3:1",
        "NVSHMEM_HCA_LIST": "mlx5_3:1",
        "UCX_NET_DEVICES": "mlx5_3:1",
    }


def test_what_is_set_stays(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0")
    found = roce.run(UCX_NET_DEVICES="mlx5_0:1,eth0", NCCL_IB_GID_INDEX="9", NCCL_IB_HCA="")
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_0:1,eth0"
    assert found.variables["NCCL_IB_GID_INDEX"] == "9"
    assert found.variables["NCCL_IB_HCA"] == "=mlx5_0:1"
    assert "NCCL_IB_GID_INDEX=9 was set before, and stays" in found.said


def test_the_command_takes_the_place_of_the_script(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    done = roce.run("sh", "-c", 'printf "UCX_X=%s\\n" "$*"; exit 3', "x", "a b", "*", "$(id)")
    assert done.status == 3
    assert done.variables == {"UCX_X": "a b * $(id)"}


# Netdevs of this pod: those of the node have GIDs in the tables as well, in RDMA netns mode shared.
@pytest.mark.parametrize(
    ("entries", "netdevs", "family", "index"),
    [
        pytest.param({3: (f"{IPV4}0a00:0001", V2, "rail0")}, ["rail0"], "4", "3", id="ipv4"),
        pytest.param(
            {2: (f"{IPV4}0a00:0001", V1, "rail0"), 5: (f"{IPV4}0a00:0001", V2, "rail0")}, ["rail0"], "4", "5", id="v1"
        ),
        pytest.param(
            {
                0: ("fe80:0000:0000:0000:0ac0:ebff:fe00:0001", V2, "rail0"),
                4: ("2001:0db8:0000:0000:0000:0000:0000:0001", V2, "rail0"),
            },
            ["rail0"],
            "4",
            "4",
            id="global before link-local",
        ),
        pytest.param(
            {1: (f"{IPV4}0a00:0001", V2, "rail0"), 12: ("2001:0db8:0000:0000:0000:0000:0000:0001", V2, "rail0")},
            ["rail0"],
            "6",
            "12",
            id="ipv6 preferred, beyond 9",
        ),
        pytest.param(
            {1: (f"{IPV4}0a00:0001", V2, "bond9"), 2: (f"{IPV4}0a00:0002", V2, "rail0")},
            ["rail0"],
            "4",
            "2",
            id="of the pod",
        ),
        pytest.param(
            {1: (f"{IPV4}0a00:0001", V2, "other"), 2: (f"{IPV4}0a00:0002", V2, "rail0")},
            ["rail0", "other"],
            "4",
            "2",
            id="netdev of the port before its VLAN",
        ),
        pytest.param({7: (f"{IPV4}0a00:0001", V2, "rail0")}, ["eth0"], "4", "7", id="netdev of the node"),
        pytest.param({7: (f"{IPV4}0a00:0001", V2, "../../x")}, ["rail0"], "4", "7", id="hostile netdev"),
        pytest.param({7: (f"{IPV4}0a00:0001", V2, "")}, ["rail0"], "4", "7", id="netdev cannot be read"),
        pytest.param(
            {1: ("$(touch /tmp/x):*", V2, "rail0"), 6: (f"{IPV4}0a00:0001", V2, "rail0")},
            ["rail0"],
            "4",
            "6",
            id="hostile gid",
        ),
    ],
)
def test_gid_index(pod: Pod, entries: Dict[int, Any], netdevs: List[str], family: str, index: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0")
    for netdev in netdevs:
        if not (roce.root / "sys/class/net" / netdev).exists():
            roce.write(f"sys/class/net/{netdev}")
    roce.netdevs(*netdevs)
    for number in range(16):
        roce.gid("mlx5_0", number, *entries.get(number, ("0000:0000:0000:0000:0000:0000:0000:0000", "", "")))
    found = roce.run(ZEROCOPY_RDMA_FAMILY=family)
    assert found.status == 0, found.said
    assert found.variables["NCCL_IB_GID_INDEX"] == index
    assert found.variables["UCX_IB_GID_INDEX"] == index


def rail(roce: PodTree, hca: str, netdev: str, *indexes: int, gid: str = f"{IPV4}0a00:0001") -> None:
    for number in range(16):
        entry = (gid, V2, netdev) if number in indexes else ("0000:0000:0000:0000:0000:0000:0000:0000", "", "")
        roce.gid(hca, number, *entry)


def test_an_index_that_is_right_for_all_ports(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    rail(roce, "mlx5_0", "rail0", 3, 5)
    rail(roce, "mlx5_1", "rail1", 5)
    assert roce.run().variables["NCCL_IB_GID_INDEX"] == "5"


@pytest.mark.parametrize(
    ("gid", "more"), [(f"{IPV4}0a00:0001", {}), ("2001:" + ":".join(["0db8"] * 7), {"NCCL_IB_ADDR_FAMILY": "AF_INET6"})]
)
def test_no_index_is_right_for_all_ports(pod: Pod, gid: str, more: Dict[str, str]) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    rail(roce, "mlx5_0", "rail0", 3, gid=gid)
    rail(roce, "mlx5_1", "rail1", 5, gid=gid)
    found = roce.run()
    assert found.status == 0
    assert {name: value for name, value in found.variables.items() if "GID" in name or "FAMILY" in name} == more
    assert "no GID index is right for all ports" in found.said


def test_infiniband_beside_roce_gets_no_index(pod: Pod) -> None:
    both = pod("case-h100-roce")
    both.keep("mlx5_0", "mlx5_1")
    (both.port("mlx5_1") / "link_layer").write_text("InfiniBand\n")
    found = both.run()
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_0:1,mlx5_1:1"
    assert "UCX_IB_GID_INDEX" not in found.variables


def test_ports_that_are_down_are_left_out(pod: Pod) -> None:
    a100 = pod("a100-01")
    a100.keep("mlx5_0", "mlx5_1")
    found = a100.run()
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_1:1"
    assert "not up: mlx5_0:1" in found.said
    assert a100.run(ZEROCOPY_RDMA_DEVICES="2").status == 85


def test_roce_v1_only(pod: Pod) -> None:
    old = pod("case-two-ports")
    old.image("mlx4")
    found = old.run()
    assert found.variables == {
        "NCCL_IB_HCA": "=mlx4_0:1",
        "NVSHMEM_HCA_LIST": "mlx4_0:1",
        "UCX_NET_DEVICES": "mlx4_0:1",
    }
    assert "without a RoCE v2 GID: mlx4_0:2" in found.said
    (old.port("mlx4_0", 1) / "state").write_text("1: DOWN\n")
    assert old.run().status == 84


def test_vf(pod: Pod) -> None:
    vf = pod("case-vf")
    vf.keep("mlx5_1")
    found = vf.run()
    assert found.status == 0, found.said
    assert found.variables["NCCL_IB_HCA"] == "=mlx5_1:1"
    # It has no address, so there is its link-local GID only.
    assert "(fe80:" in found.said


def test_soft_roce_needs_its_own_provider(pod: Pod) -> None:
    soft = pod("case-soft-roce")
    nodes = soft.root / "sys/class/infiniband_verbs"
    soft.keep(
        *(text for text in ((path / "ibdev").read_text().strip() for path in nodes.glob("uverbs*")) if "rxe" in text)
    )
    found = soft.run()
    assert (found.status, "has no provider rxe" in found.said) == (86, True), found.said
    soft.image("rxe")
    assert soft.run().status == 0


def test_the_wheel_of_nixl_has_one_provider(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    bundle = "usr/local/lib/python3.12/dist-packages/nixl_cu12.libs"
    for name in ("libibverbs-5b3d2a6e.so.1.14.57.0", "libmlx5-1c2d3e4f.so.1.25.57.0"):
        roce.write(f"{bundle}/{name}")
    assert roce.run().status == 0
    for driver in (roce.root / "sys/class/infiniband").glob("*/device/driver"):
        driver.unlink()
        driver.symlink_to(roce.write("sys/bus/pci/drivers/bnxt_en/bind").parent)
    roce.image("bnxt_re")
    found = roce.run()
    assert found.status == 86
    assert f"the libibverbs in /{bundle} has no provider bnxt_re, which mlx5_0 needs" in found.said
    assert roce.run(ZEROCOPY_RDMA_LIBRARIES="system").status == 0
    assert roce.run(ZEROCOPY_RDMA_LIBRARIES="none").status == 0


def test_an_image_without_libibverbs(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    shutil.rmtree(roce.root / "usr/lib/x86_64-linux-gnu")
    found = roce.run()
    assert found.status == 86
    assert "the image has no libibverbs" in found.said
    # Where a site puts it.
    roce.write("site/libibverbs.so.1")
    roce.write("site/libibverbs/libmlx5-rdmav34.so")
    assert roce.run(LD_LIBRARY_PATH="/nowhere:/site").status == 0


def test_no_device(pod: Pod) -> None:
    bare = pod("case-h100-roce")
    bare.keep()
    found = bare.run()
    assert (found.status, found.variables) == (81, {})
    assert "not started: the pod has no RDMA device" in found.said
    found = bare.run("echo", "UCX_X=1", ZEROCOPY_RDMA="optional")
    assert (found.status, found.variables) == (0, {"UCX_X": "1"})
    assert "no RDMA: the pod has no RDMA device" in found.said
    assert bare.run(ZEROCOPY_RDMA="off").said == ""


def test_devices_that_cannot_be_used(pod: Pod) -> None:
    other = pod("case-h100-roce")
    other.keep("mlx5_2")
    # A directory cannot be opened for writing, even by root.
    (node,) = (other.root / "dev/infiniband").glob("uverbs*")
    node.unlink()
    node.mkdir()
    found = other.run()
    assert (found.status, f"may not open {node.name}" in found.said) == (82, True)
    node.rmdir()
    node.touch()
    (other.root / "sys/class/infiniband/mlx5_2").unlink()
    found = other.run()
    assert (found.status, "not in the pod's network namespace" in found.said) == (82, True)


@pytest.mark.parametrize("name", ["mlx5_0,eth0", "mlx5 0", "*", "$(id)", "..", ".hidden", "a;b", "'"])
def test_hostile_names(pod: Pod, name: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    (node,) = (
        path
        for path in (roce.root / "sys/class/infiniband_verbs").glob("uverbs*")
        if (path / "ibdev").read_text() == "mlx5_0\n"
    )
    (node / "ibdev").write_text(f"{name}\n")
    if name != "..":
        (roce.root / "sys/class/infiniband/mlx5_0").rename(roce.root / "sys/class/infiniband" / name)
    found = roce.run()
    assert found.status == 0
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_1:1"


def test_all_ports_down(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_4")
    (roce.port("mlx5_4") / "state").write_text("1: DOWN\n")
    found = roce.run()
    assert (found.status, "no port of mlx5_4 is ACTIVE after 0 s" in found.said) == (83, True)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        pytest.param("sys/class/infiniband/mlx5_4/ports/1/state", "1: DOWN", "4: ACTIVE", id="link"),
        pytest.param("sys/class/infiniband_verbs/{verbs}/ibdev", "", "mlx5_4", id="device"),
    ],
)
def test_it_waits(pod: Pod, tmp_path: Path, path: str, before: str, after: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_4")
    (verbs,) = (node.name for node in (roce.root / "dev/infiniband").glob("uverbs*"))
    file = (roce.root / path.format(verbs=verbs)).resolve()
    file.write_text(f"{before}\n")
    sleep = tmp_path / "bin/sleep"
    sleep.parent.mkdir()
    sleep.write_text(f"#!/bin/sh\necho '{after}' > {file}\n")
    sleep.chmod(0o755)
    if "busybox" in roce.shell:
        # Its sleep is built in: what it waits for does not come, and it gives up.
        assert roce.run(ZEROCOPY_RDMA_WAIT="1").status in (82, 83)
        return
    found = roce.run(ZEROCOPY_RDMA_WAIT="2", PATH=f"{sleep.parent}:{os.environ['PATH']}")
    assert (found.status, found.variables["UCX_NET_DEVICES"]) == (0, "mlx5_4:1")


@pytest.mark.parametrize(
    ("limits", "environment", "status"),
    [
        pytest.param({"soft": "8388608"}, {}, 87, id="limited"),
        pytest.param({"soft": "8388608", "capabilities": IPC_LOCK}, {}, 0, id="capability"),
        pytest.param({"soft": "8388608", "capabilities": "0000000000000000"}, {}, 87, id="not root"),
        pytest.param({"soft": "8388608"}, {"ZEROCOPY_RDMA_MEMLOCK": "8388608"}, 0, id="enough"),
        pytest.param({"soft": "8388607"}, {"ZEROCOPY_RDMA_MEMLOCK": "8388608"}, 87, id="not enough"),
        pytest.param({"soft": "unlimited"}, {}, 0, id="unlimited"),
    ],
)
def test_locked_memory(pod: Pod, limits: Dict[str, str], environment: Dict[str, str], status: int) -> None:
    roce = pod("case-h100-roce")
    roce.limits(**limits)
    found = roce.run(**environment)
    assert found.status == status, found.said
    assert (f"locked memory is limited to {limits['soft']} bytes" in found.said) == (status == 87)


def test_locked_memory_in_a_user_namespace(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.limits("65536", capabilities=IPC_LOCK)
    roce.write("proc/self/uid_map", "         0     100000      65536\n")
    assert roce.run().status == 87


def test_the_limit_is_raised_where_the_pod_may(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.limits("65536", "unlimited", NO_IPC_LOCK)
    _soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    allowed = hard == resource.RLIM_INFINITY
    assert roce.run().status == (0 if allowed else 87)


def pairs(mapping: str) -> Dict[str, str]:
    return dict(pair.split("=") for pair in mapping.split(","))


@pytest.mark.parametrize("node", ["case-h100-roce", "h100-01", "v100-01", "case-nps4"])
def test_vllm_gets_the_nic_beside_each_gpu(pod: Pod, facts_of: Callable[..., Dict[str, Any]], node: str) -> None:
    facts = facts_of(node)
    usable = {entry["hca"] for entry in facts["usable"]}
    own = pod(node)
    own.keep(*usable)
    own.gpus(*range(len(facts["gpus"])))
    own.write("opt/vllm/lib64/python3.12/site-packages/vllm/v1/executor/vllm_net_devices.py")
    found = own.run()
    assert found.status == 0, found.said
    assert found.variables["VLLM_NIC_SELECTION_VARS"] == "UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1,NCCL_IB_HCA:1"
    # vLLM would put its own in front of these.
    assert not {"UCX_NET_DEVICES", "NVSHMEM_HCA_LIST", "NCCL_IB_HCA"} & set(found.variables)
    chosen = pairs(found.variables["VLLM_GPU_NIC_PCIE_MAPPING"])
    names = {hca["pci"]["address"]: hca["name"] for hca in facts["hcas"] if hca["name"] in usable}
    assert list(chosen) == [gpu["pci"]["address"] for gpu in facts["gpus"]]
    for entry in facts["affinity"]:
        paths = {name: PATH_CLASSES.index(entry["paths"][name]) for name in usable}
        assert paths[names[chosen[entry["address"]]]] == min(paths.values())
    # As many GPUs for one NIC as for another.
    users = [list(chosen.values()).count(address) for address in names]
    assert max(users) - min(users) <= 1


def test_vllm_with_some_of_the_gpus(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_6")
    roce.gpus(6)
    found = roce.run(ZEROCOPY_RDMA_MAPPING="yes")
    (pair,) = found.variables["VLLM_GPU_NIC_PCIE_MAPPING"].split(",")
    gpu, nic = (part.split(":")[1] for part in pair.split("="))
    assert gpu != nic
    assert gpu[0] == nic[0] == "c"


def test_a_variable_of_the_user_is_left_out_of_the_mapping(pod: Pod) -> None:
    roce = pod("case-h100-roce")
    roce.gpus(0)
    found = roce.run(ZEROCOPY_RDMA_MAPPING="yes", NCCL_IB_HCA="mlx5_7")
    assert found.variables["VLLM_NIC_SELECTION_VARS"] == "UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1"
    assert found.variables["NCCL_IB_HCA"] == "mlx5_7"


@pytest.mark.parametrize("why", ["no GPU", "old vLLM", "switched off"])
def test_no_mapping(pod: Pod, why: str) -> None:
    roce = pod("case-h100-roce")
    if why != "no GPU":
        roce.gpus(0)
    if why != "old vLLM":
        roce.write("usr/local/lib/python3.12/dist-packages/vllm/v1/executor/vllm_net_devices.py")
    found = roce.run(ZEROCOPY_RDMA_MAPPING="no" if why == "switched off" else "auto")
    assert not any(name.startswith("VLLM") for name in found.variables)
    assert found.variables["NCCL_IB_HCA"].startswith("=mlx5_0:1,")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ZEROCOPY_RDMA", "maybe"),
        ("ZEROCOPY_RDMA_FAMILY", "ipv4"),
        ("ZEROCOPY_RDMA_WAIT", "1s"),
        ("ZEROCOPY_RDMA_DEVICES", "-1"),
        ("ZEROCOPY_RDMA_LIBRARIES", "wheel"),
        ("ZEROCOPY_RDMA_MAPPING", "1"),
        ("ZEROCOPY_RDMA_MEMLOCK", "64k"),
    ],
)
def test_values_that_are_none(pod: Pod, name: str, value: str) -> None:
    found = pod("case-nothing").run(**{name: value})
    assert (found.status, f"{name}={value} is not" in found.said) == (80, True)


def test_no_command(shell: List[str]) -> None:
    done = subprocess.run([*shell, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, "no command" in done.stderr) == (80, True)
