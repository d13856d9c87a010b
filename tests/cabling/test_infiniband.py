# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Wrong cables in a fat tree of ibsim, which opensm set up and the real iblinkinfo and ibnetdiscover read.

The facts of the nodes are synthesised, with the GUIDs that ibsim gave them.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check, expected, ibnetdiscover
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import partitions
from ansible_collections.zerocopy.rdma.tests.cabling import machine
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site, rail_optimised
from ansible_collections.zerocopy.rdma.tests.unit._fabric.test_check import ALL_OF_WRONG, wrong


def read(site: Site) -> tuple[list[FabricLink], list[FabricLink]]:
    found: dict[str, Any] = machine.run("simulate.py", site.ibsim())
    (fabric,) = found["fabrics"]
    assert fabric["error"] == ""
    links = [FabricLink(**link) for link in fabric["links"]]
    return links, ibnetdiscover.parse(found["topology"])


def guids(site: Site, links: list[FabricLink]) -> dict[tuple[str, int], str]:
    """Those of ibsim; ports without a cable get the number that their HCA's other ports leave for them."""
    own = {(link.name, link.port - 1): int(link.guid, 16) for link in links if re.match("h100-", link.name)}
    first = {host: guid - port for (host, port), guid in own.items()}
    return {(host, port): f"0x{first[host] + port:016x}" for host, ports in site.ports.items() for port in ports}


def judged(site: Site, links: list[FabricLink], known: dict[tuple[str, int], str], csv: str = "") -> list[str]:
    fabric = Fabric(links, {guid: (host, f"mlx5_{port}") for (host, port), guid in known.items()})
    views = site.views(fabric=fabric, guids=known)
    wanted = expected.read(csv, site.hosts, views, "cabling.csv") if csv else None
    cabling = check.check(views, fabric, wanted)
    assert cabling.unclear == []
    return [fault.line for fault in cabling.faults]


@pytest.fixture(scope="module")
def wrong_links() -> tuple[list[FabricLink], list[FabricLink]]:
    return read(wrong())


@pytest.mark.parametrize("source", [0, 1], ids=["iblinkinfo", "ibnetdiscover"])
def test_twelve_wrong_cables_are_named_and_nothing_else(
    wrong_links: tuple[list[FabricLink], list[FabricLink]], source: int
) -> None:
    site, links = wrong(), wrong_links[source]
    assert judged(site, links, guids(site, wrong_links[0])) == ALL_OF_WRONG


def test_the_expected_cabling_names_them_too(wrong_links: tuple[list[FabricLink], list[FabricLink]]) -> None:
    site, right = wrong(), rail_optimised(4, 10)
    found = judged(site, wrong_links[0], guids(site, wrong_links[0]), expected.written(right.views()))
    assert [re.split("[:,]", line)[0] for line in found] == [re.split("[:,]", line)[0] for line in ALL_OF_WRONG]


def test_a_right_fabric_has_no_fault() -> None:
    site = rail_optimised(2, 4)
    links, topology = read(site)
    known = guids(site, links)
    assert judged(site, links, known) == judged(site, topology, known) == []


# The GUIDs are those that ibsim gives: of each HCA one, then one for each port.
TENANTS = """\
Switch 4 "leaf"
[1] "manager"
[2] "full"
[3] "limited"

Hca 1 "manager"
[1] "leaf"[1]

Hca 1 "full"
[1] "leaf"[2]

Hca 1 "limited"
[1] "leaf"[3]

partitions
Default=0x7fff : ALL=full;
tenant=0x0001 : 0x100003=full, 0x100005=limited;
"""


@pytest.mark.parametrize(
    ("hca", "table", "verdict"),
    [
        ("manager", ["0xffff"], "fail"),
        ("full", ["0xffff", "0x8001"], "pass"),
        ("limited", ["0xffff", "0x0001"], "warn"),
    ],
)
def test_partitions_of_opensm(tenants: dict[str, list[str]], hca: str, table: list[str], verdict: str) -> None:
    assert [key for key in tenants[hca] if key != "0x0000"] == table
    assert partitions.verdict(hca, table, "0x8001")[0] == verdict


@pytest.fixture(scope="module")
def tenants() -> dict[str, list[str]]:
    found: dict[str, list[str]] = machine.run("simulate.py", TENANTS)["pkeys"]
    return found
