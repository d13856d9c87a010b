# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Neighbours of a host's ports, or why they are unknown; files of ibnetdiscover. Facts are synthesised."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import iblinkinfo, ibnetdiscover, neighbours
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import LldpNeighbour
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric, LldpAnswer, PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gid, Hca, Netdev, Port, Slave

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/iblinkinfo"
FABRIC = Fabric(iblinkinfo.parse((FIXTURES / "managed.txt").read_text()), {})
HEARD = LldpNeighbour("eth1", "02:00:00:00:00:01", "leaf-1", "Ethernet1/12", "to h1")


def test_a_file_of_ibnetdiscover_says_what_iblinkinfo_does() -> None:
    text = (FIXTURES / "topology.txt").read_text()
    known = iblinkinfo.parse((FIXTURES / "managed.txt").read_text())
    ends = {(link.guid, link.port, link.peer_guid, link.peer_port, link.peer, link.gbps) for link in known}
    found = ibnetdiscover.parse(text)
    assert {(link.guid, link.port, link.peer_guid, link.peer_port, link.peer, link.gbps) for link in found} == ends
    assert ibnetdiscover.is_topology(text)
    assert not ibnetdiscover.is_topology((FIXTURES / "managed.txt").read_text())


@pytest.mark.parametrize(
    ("line", "gbps"),
    [
        ('[1]\t"H-0000000000100000"[1](100001) \t\t# "h1 mlx5_0" lid 1 4xNDR', 425.0),
        ('[1][ext 2]\t"H-0000000000100000"[1](100001) \t\t# "h1 mlx5_0" lid 1 2xHDR s=1', 106.25),
    ],
)
def test_lines_of_newer_switches(line: str, gbps: float) -> None:
    """In the form of ibnetdiscover.c."""
    head = 'Switch\t65 "S-0000000000200000"\t\t# "MF0;leaf-1:MQM9700/U1" enhanced port 0 lid 2 lmc 0'
    (link,) = ibnetdiscover.parse(f"{head}\n{line}\n")
    assert (link.guid, link.peer_guid, link.name, link.gbps) == (
        "0x0000000000200000",
        "0x0000000000100001",
        "MF0;leaf-1:MQM9700/U1",
        gbps,
    )


def view(port: Port, lldp: LldpAnswer | None = None, in_pod: bool = False, fabric: Fabric = FABRIC) -> PortView:
    excluded = [Excluded("mlx5_0", 1, [reasons.reason(reasons.IN_POD, netdev="eth1")])] if in_pod else []
    facts = Facts(hcas=[Hca("mlx5_0", ports=[port])], excluded=excluded)
    (found,) = neighbours.of_host("h1", "h100", facts, {}, fabric, lldp or LldpAnswer(""))
    return found


def infiniband(guid: int = 0x100001, state: str = "ACTIVE", physical: str = "LinkUp") -> Port:
    return Port(1, state, physical, "InfiniBand", gids=[Gid(0, f"fe80::{guid >> 16:x}:{guid & 0xFFFF:x}")])


def ethernet(carrier: bool | None = True, name: str = "eth1", present: bool = True) -> Port:
    return Port(1, "ACTIVE", "LinkUp", "Ethernet", netdev=Netdev(name, "netlink", present=present, carrier=carrier))


def test_a_port_of_the_fabric() -> None:
    found = view(infiniband()).neighbour
    assert found
    assert (found.where, found.id, found.link) == ("leaf1/1", "0x0000000000200000", "4X at 2.5 Gb/s")


def test_the_fabric_knows_a_port_that_a_pod_has() -> None:
    assert view(infiniband(), in_pod=True).state == neighbours.SEEN


@pytest.mark.parametrize(
    ("port", "fabric", "in_pod", "state", "reason"),
    [
        (infiniband(0x99, "DOWN", "Polling"), FABRIC, False, "dark", ""),
        # The fabric is from a file, and the cable was there then.
        (infiniband(state="DOWN", physical="Polling"), FABRIC, False, "dark", ""),
        (infiniband(0x99, "DOWN", "Disabled"), FABRIC, False, "unknown", neighbours.NOT_UP),
        (infiniband(0x99), FABRIC, False, "unknown", neighbours.NOT_IN_FABRIC),
        (infiniband(0x99), Fabric([], {}), False, "unknown", neighbours.FABRIC_UNREAD),
        (infiniband(0x99), FABRIC, True, "unknown", neighbours.IN_POD),
        (Port(1, "ACTIVE", "LinkUp", "InfiniBand"), FABRIC, False, "unknown", neighbours.NO_GUID),
        (ethernet(False), FABRIC, False, "dark", ""),
        (ethernet(None), FABRIC, False, "unknown", neighbours.NOT_UP),
        (ethernet(), FABRIC, False, "unknown", neighbours.LLDP_SILENT),
        (ethernet(present=False), FABRIC, False, "unknown", neighbours.IN_POD),
        (Port(1, link_layer="Ethernet"), FABRIC, False, "unknown", neighbours.NO_NETDEV),
        (Port(1, link_layer="Ethernet"), FABRIC, True, "unknown", neighbours.IN_POD),
    ],
)
def test_what_cannot_be_seen_is_never_missing(
    port: Port, fabric: Fabric, in_pod: bool, state: str, reason: str
) -> None:
    found = view(port, in_pod=in_pod, fabric=fabric)
    assert (found.state, found.reason) == (state, reason)
    assert not reason or neighbours.REASONS[reason]


@pytest.mark.parametrize("code", [neighbours.LLDP_ABSENT, neighbours.LLDP_STOPPED, neighbours.LLDP_RIGHTS])
def test_without_lldpd(code: str) -> None:
    assert view(ethernet(), LldpAnswer(code)).reason == code
    assert view(ethernet(False), LldpAnswer(code)).state == neighbours.DARK


def test_who_is_heard_on_a_netdev() -> None:
    other = LldpNeighbour("eth2", "02:00:00:00:00:02", "leaf-2", "Ethernet1/1")
    found = view(ethernet(), LldpAnswer("", "", [other, HEARD])).neighbour
    assert found
    assert (found.where, found.alias) == ("leaf-1/Ethernet1/12", "to h1")


def test_several_on_one_netdev() -> None:
    other = LldpNeighbour("eth1", "02:00:00:00:00:02", "leaf-2", "Ethernet1/1")
    assert view(ethernet(), LldpAnswer("", "", [other, HEARD])).reason == neighbours.LLDP_SEVERAL


def bond(name: str, slave: str, *cables: Slave) -> Hca:
    netdev = Netdev("bond0", "netlink", carrier=True, bond=True, slave=slave, slaves=list(cables))
    return Hca(name, ports=[Port(1, "ACTIVE", "LinkUp", "Ethernet", netdev=netdev)])


def test_each_cable_of_a_bond_is_looked_at() -> None:
    """RoCE LAG: one HCA with two cables, to two leaves; one of them is pulled out."""
    facts = Facts(hcas=[bond("mlx5_bond_0", "eth1", Slave("eth1", True), Slave("eth2", False))])
    assert neighbours.lldp_netdevs(facts) == ["eth1", "eth2"]
    rails = {"mlx5_bond_0/1": 0}
    found = neighbours.of_host("h1", "h100", facts, rails, FABRIC, LldpAnswer("", "", [HEARD]))
    assert [(one.name, one.slot, one.rail, one.netdev, one.state) for one in found] == [
        ("mlx5_bond_0 eth1", "mlx5_bond_0 eth1", 0, "eth1", neighbours.SEEN),
        ("mlx5_bond_0 eth2", "mlx5_bond_0 eth2", 0, "eth2", neighbours.DARK),
    ]
    # The port is both, so only these names say which cable is meant.
    assert [one.names for one in found] == [["mlx5_bond_0 eth1", "eth1"], ["mlx5_bond_0 eth2", "eth2"]]


def test_hcas_that_share_a_bond_have_a_cable_each() -> None:
    slaves = (Slave("eth1", True), Slave("eth2", True))
    facts = Facts(hcas=[bond("mlx5_0", "eth1", *slaves), bond("mlx5_1", "eth2", *slaves)])
    found = neighbours.of_host("h1", "h100", facts, {}, FABRIC, LldpAnswer("", "", [HEARD]))
    assert [(one.name, one.state) for one in found] == [("mlx5_0", neighbours.SEEN), ("mlx5_1", neighbours.UNKNOWN)]
    assert neighbours.lldp_netdevs(facts) == ["eth1", "eth2"]
