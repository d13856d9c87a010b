# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Against what a real kernel said: sysfs and RDMA netlink of one lab guest (fixtures/README.md)."""

from __future__ import annotations

import socket
import struct
import tarfile
from pathlib import Path
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather, interfaces, netdev, nldev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink as discover_netlink
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def messages(name: str) -> List[bytes]:
    """Messages of a recorded answer, without the end marks."""
    return [raw for kind, raw in discover_netlink.split((FIXTURES / "nldev" / name).read_bytes()) if kind > 3]


@pytest.fixture(scope="module")
def netlink() -> nldev.Nldev:
    ports: List[bytes] = []
    for path in sorted((FIXTURES / "nldev").glob("port_get-*.bin")):
        ports += messages(path.name)
    return nldev.interpret(ports, messages("sys_get.bin"))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Any]:
    root = tmp_path_factory.mktemp("guest")
    with tarfile.open(FIXTURES / "guest-sysfs.tar.gz") as archive:
        archive.extraction_filter = lambda member, path: member
        archive.extractall(root)
    return gather.gather(str(root), gather.GatherOptions(allow_software=True, gpu_vendors=["1234"]))


def reasons(facts: Dict[str, Any], hca: str) -> List[str]:
    return [reason["code"] for entry in facts["excluded"] if entry["hca"] == hca for reason in entry["reasons"]]


def test_devices_are_those_of_sysfs(facts: Dict[str, Any]) -> None:
    # RDMA_NLDEV_ATTR_DEV_INDEX, _DEV_NAME and _NODE_GUID
    devices = [discover_netlink.attributes(raw) for raw in messages("dev_get.bin")]
    assert [discover_netlink.number(device[1]) for device in devices] == list(range(len(devices)))
    guids = {hca["name"]: int(hca["node_guid"].replace(":", ""), 16) for hca in facts["hcas"]}
    assert {discover_netlink.text(device[2]): discover_netlink.number(device[6]) for device in devices} == guids


def test_sysfs_alone_finds_the_netdevs_that_netlink_tells(facts: Dict[str, Any], netlink: nldev.Nldev) -> None:
    by_sysfs = {(hca["name"], port["number"]): port["netdev"]["name"] for hca in facts["hcas"] for port in hca["ports"]}
    assert by_sysfs == netlink.netdevs


def test_netns_mode_is_the_same_from_both(facts: Dict[str, Any], netlink: nldev.Nldev) -> None:
    assert facts["system"]["netns_mode"] == netlink.netns_mode == "shared"


def test_addresses_that_cannot_be_used_are_left_out(tmp_path: Path) -> None:
    def entry(flags: int) -> bytes:
        return struct.pack("=IHHIIBBBBI", 44, 20, 0, 1, 0, socket.AF_INET6, 64, flags, 0, 2) + struct.pack(
            "=HH16s", 20, 1, socket.inet_pton(socket.AF_INET6, "fd00::1")
        )

    # IFA_F_PERMANENT; with IFA_F_DADFAILED; with IFA_F_TENTATIVE
    found = [interfaces.interpret_address(entry(flags)) for flags in (0x80, 0x88, 0xC0)]
    assert found == [(2, "fd00::1/64"), None, None]
    # An address of another family than IP, as of MPLS
    assert interfaces.interpret_address(struct.pack("=IHHIIBBBBI", 24, 20, 0, 1, 0, 28, 0, 0, 0, 2)) is None
    (tmp_path / "proc/net").mkdir(parents=True)
    lines = [f"fd00000000000000000000000000000{flags % 7} 02 40 00 {flags:02x} eth0\n" for flags in (0x80, 0x88, 0xC0)]
    (tmp_path / "proc/net/if_inet6").write_text("".join(lines))
    assert netdev.addresses(Tree(str(tmp_path)), {}) == {"eth0": ["fd00::2/64"]}


def test_request_bytes_are_those_of_the_kernel_header() -> None:
    assert nldev.request(nldev.CMD_GET, dump=True).hex() == "10000000011401030100000000000000"
    by_index = nldev.request(nldev.CMD_PORT_GET, device=3, dump=True).hex()
    assert by_index == "180000000514010301000000000000000800010003000000"


def test_a_cut_off_buffer_ends_the_messages() -> None:
    whole = (FIXTURES / "nldev" / "dev_get.bin").read_bytes()
    assert len(list(discover_netlink.split(whole[:8]))) == 0
    assert list(discover_netlink.split(b"\0" * 64)) == []


def test_software_devices_are_placed_at_the_nic_below_them(facts: Dict[str, Any]) -> None:
    hcas = {hca["name"]: hca for hca in facts["hcas"]}
    assert hcas["rxe0"]["pci"]["pcie_path"] == ["0000:20:00.0", "0000:21:00.0", "0000:22:01.0", "0000:24:00.0"]
    assert hcas["rxe_bond"]["pci"] is None
    assert [hcas[name]["sriov"]["role"] for name in ("rxe0", "rxe_vf0")] == ["pf", "vf"]


def test_path_classes_of_the_guest(facts: Dict[str, Any]) -> None:
    assert facts["affinity"][0]["paths"] == {
        "rxe_mgmt": "SYS",
        "rxe0": "PIX",
        "rxe_vf0": "PIX",
        "rxe_down": "PIX",
        "rxe1": "PXB",
        "rxe_slave": "PHB",
        "rxe4": "SYS",
    }


def test_bond_vf_and_default_route_are_excluded(facts: Dict[str, Any]) -> None:
    assert [entry["hca"] for entry in facts["usable"]] == ["rxe0", "rxe1", "rxe4"]
    assert reasons(facts, "rxe_bond") == ["bond"]
    assert reasons(facts, "rxe_slave") == ["bond_slave"]
    assert reasons(facts, "rxe_vf0") == ["vf"]
    assert reasons(facts, "rxe_mgmt") == ["default_route"]


def test_a_vlan_on_the_port_is_not_taken_for_the_port(facts: Dict[str, Any]) -> None:
    port = next(hca for hca in facts["hcas"] if hca["name"] == "rxe1")["ports"][0]
    assert "vlan102" in [gid["netdev"] for gid in port["gids"]]
    assert port["netdev"]["name"] == "enp39s0"
    assert port["gids"][port["roce_v2_gid_index"]]["gid"].endswith("ffff:0a4e:0201")
