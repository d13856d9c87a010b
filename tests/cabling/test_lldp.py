# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Neighbours that a real lldpd hears from other real ones, through veths between network namespaces."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import LldpNeighbour, Neighbour
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import (
    LLDP_RIGHTS,
    LLDP_SILENT,
    LLDP_STOPPED,
    Fabric,
    LldpAnswer,
    of_host,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Netdev, Port
from ansible_collections.zerocopy.rdma.tests.cabling import machine


def _hca(number: int) -> Hca:
    netdev = Netdev(f"rail{number}", "netlink", carrier=True)
    return Hca(f"mlx5_{number}", ports=[Port(1, "ACTIVE", "LinkUp", "Ethernet", netdev=netdev)])


def test_our_configuration_hears_switches_and_tells_them_nothing() -> None:
    found = machine.run("hear.py")
    assert found["sent"] == {"rail0": 0, "rail1": 0, "rail3": 0, "mgmt0": 0}
    assert found["before"]["code"] == LLDP_STOPPED
    assert found["nobody"]["code"] == LLDP_RIGHTS
    answer = LldpAnswer("", "", [read.typed(LldpNeighbour, each) for each in found["heard"]])
    facts = Facts(hcas=[_hca(number) for number in range(4)])
    views = of_host("h1", "h100", facts, {}, Fabric([], {}), answer)
    near = [view.neighbour for view in views]
    assert [each and (each.switch, each.port, each.alias) for each in near] == [
        ("leaf-1", "Ethernet1/12", "swp1"),
        ("\u001b[31m=leaf,2<b>", "Ethernet1/12", "swp1"),
        None,
        ("leaf-4", "Ethernet1/12", "swp1"),
    ]
    chassis = {each.id for each in near if isinstance(each, Neighbour)}
    assert len(chassis) == 3
    assert views[2].reason == LLDP_SILENT
