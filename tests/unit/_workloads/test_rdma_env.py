# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What rdma-env.sh sets, in each shell that an image may have, with what pods of described nodes see."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_shells import MakePod, make_pod, make_shell
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_tree import IPC_LOCK, SCRIPT, PodTree

# Fixtures that are defined elsewhere.
__all__ = ["make_pod", "make_shell"]

IPV4, V2, V1 = "0000:0000:0000:0000:0000:ffff:", "RoCE v2", "IB/RoCE v1"


def test_roce(pod: MakePod, facts_of: Callable[..., Dict[str, Any]]) -> None:
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


def test_infiniband_has_no_gid_index(pod: MakePod) -> None:
    infiniband = pod("h100-01")
    infiniband.keep("mlx5_3")
    assert infiniband.run().variables == {
        "NCCL_IB_HCA": "=mlx5_3:1",
        "NVSHMEM_HCA_LIST": "mlx5_3:1",
        "UCX_NET_DEVICES": "mlx5_3:1",
    }


@pytest.mark.parametrize(
    ("node", "rails", "expected"),
    [
        ("case-h100-roce", "", {}),
        ("case-h100-roce", "all", {"UCX_IB_ROCE_REACHABILITY_MODE": "all"}),
        ("case-h100-roce", "some", {"NCCL_CROSS_NIC": "0"}),
        ("case-h100-roce", "subnet", {"NCCL_CROSS_NIC": "0", "UCX_IB_ROCE_REACHABILITY_MODE": "local_subnet"}),
        ("h100-01", "all", {}),
        ("h100-01", "subnet", {"NCCL_CROSS_NIC": "0"}),
    ],
)
def test_rails_that_reach_each_other(pod: MakePod, node: str, rails: str, expected: Dict[str, str]) -> None:
    its = pod(node)
    plain = its.run().variables
    found = its.run(ZEROCOPY_RDMA_RAILS=rails)
    assert found.status == 0, found.said
    assert found.variables == {**plain, **expected}
    own = {"NCCL_CROSS_NIC": "1", "UCX_IB_ROCE_REACHABILITY_MODE": "route"}
    assert own.items() <= its.run(ZEROCOPY_RDMA_RAILS=rails, **own).variables.items()
    assert its.run("--check", ZEROCOPY_RDMA_RAILS=rails).variables == {}


def test_rails_in_a_word_that_there_is_not(pod: MakePod) -> None:
    found = pod("h100-01").run(ZEROCOPY_RDMA_RAILS="none")
    assert (found.status, found.said) == (80, "rdma-env: ZEROCOPY_RDMA_RAILS=none is not all, some or subnet\n")


def test_what_is_set_stays(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0")
    found = roce.run(UCX_NET_DEVICES="mlx5_0:1,eth0", NCCL_IB_GID_INDEX="9", NCCL_IB_HCA="")
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_0:1,eth0"
    assert found.variables["NCCL_IB_GID_INDEX"] == "9"
    assert found.variables["NCCL_IB_HCA"] == "=mlx5_0:1"
    index = roce.run().variables["NCCL_IB_GID_INDEX"]
    assert f"NCCL_IB_GID_INDEX=9 was set before, and stays; here it would be {index}" in found.said


def test_the_command_takes_the_place_of_the_script(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    done = roce.run("sh", "-c", 'printf "UCX_X=%s\\n" "$*"; exit 3', "x", "a b", "*", "$(id)")
    assert done.status == 3
    assert done.variables == {"UCX_X": "a b * $(id)"}


def test_no_other_variable_of_the_pod_changes(pod: MakePod) -> None:
    """Even one that the script has a use for itself, and that is exported because the pod has it."""
    roce = pod("case-h100-roce")
    roce.limits("65536", capabilities=IPC_LOCK)
    # Assigned anywhere in it, in lower and upper case. PATH is set in a hook of DRANET only, which may have none.
    names = sorted(set(re.findall(r"(?:^|[\s;])([A-Za-z_]+)=", SCRIPT.read_text(), re.M)) - {"IFS", "PATH"})
    assert {"mode", "port", "root", "MEMLOCK"} <= set(names)
    own = {name: "mine" for name in names if not name.startswith(("ZEROCOPY_", "zerocopy_"))}
    asked = " ".join(f"${name}" for name in own)
    done = roce.run("sh", "-c", f'printf "UCX_X=%s\n" "{asked}"', **own)
    assert done.status == 0, done.said
    assert done.variables == {"UCX_X": " ".join(own.values())}


@pytest.mark.parametrize("option", ["-e", "-u", "-eu"])
def test_with_a_shell_that_stops_at_errors(pod: MakePod, option: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0")
    plain = roce.run()
    roce.shell.append(option)
    assert roce.run() == plain
    assert roce.run("false").status == 1
    assert roce.run(ZEROCOPY_RDMA_DEVICES="2").status == 85


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
def test_gid_index(pod: MakePod, entries: Dict[int, Any], netdevs: List[str], family: str, index: str) -> None:
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


def test_an_index_that_is_right_for_all_ports(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    rail(roce, "mlx5_0", "rail0", 3, 5)
    rail(roce, "mlx5_1", "rail1", 5)
    assert roce.run().variables["NCCL_IB_GID_INDEX"] == "5"


@pytest.mark.parametrize(
    ("gid", "more"), [(f"{IPV4}0a00:0001", {}), ("2001:" + ":".join(["0db8"] * 7), {"NCCL_IB_ADDR_FAMILY": "AF_INET6"})]
)
def test_no_index_is_right_for_all_ports(pod: MakePod, gid: str, more: Dict[str, str]) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    rail(roce, "mlx5_0", "rail0", 3, gid=gid)
    rail(roce, "mlx5_1", "rail1", 5, gid=gid)
    found = roce.run()
    assert found.status == 0
    assert {name: value for name, value in found.variables.items() if "GID" in name or "FAMILY" in name} == more
    assert "no GID index is right for all ports" in found.said


def test_infiniband_beside_roce_gets_no_index(pod: MakePod) -> None:
    both = pod("case-h100-roce")
    both.keep("mlx5_0", "mlx5_1")
    (both.port("mlx5_1") / "link_layer").write_text("InfiniBand\n")
    found = both.run()
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_0:1,mlx5_1:1"
    assert "UCX_IB_GID_INDEX" not in found.variables


def test_ports_that_are_down_are_left_out(pod: MakePod) -> None:
    a100 = pod("a100-01")
    a100.keep("mlx5_0", "mlx5_1")
    found = a100.run()
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_1:1"
    assert "not up: mlx5_0:1" in found.said
    assert a100.run(ZEROCOPY_RDMA_DEVICES="2").status == 85


def test_roce_v1_only(pod: MakePod) -> None:
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


def test_vf(pod: MakePod) -> None:
    vf = pod("case-vf")
    vf.keep("mlx5_1")
    found = vf.run()
    assert found.status == 0, found.said
    assert found.variables["NCCL_IB_HCA"] == "=mlx5_1:1"
    # It has no address, so there is its link-local GID only.
    assert "(fe80:" in found.said
