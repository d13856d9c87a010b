# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The page of cabling: every port of a synthesised fabric is in it once, and a fault is where it was found."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check as fabric_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import cabling
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site, Walked, rail_optimised

_CELL = re.compile(r'<td class="(\w+)" title="([^"]*)">([^<]*)</td>')


def page(found: fabric_check.Cabling) -> str:
    return cabling.html(found, [], "1.2.3")


def cells(text: str, host: str) -> list[tuple[str, str, str]]:
    """Look, title and text of a host's cells in the maps."""
    rows = re.findall(rf'<tr data-host="{host}"><th scope="row">{host}</th>(.*)</tr>', text)
    assert len(rows) == 1
    return [(look, unescape(title), unescape(own)) for look, title, own in _CELL.findall(rows[0])]


def test_ports_are_where_they_were_found() -> None:
    site = rail_optimised(2, 4)
    site.swap("h100-006", 0, 1)
    site.unplug("h100-003", 3)
    text = page(site.check())
    assert "2 cabling faults, 39 of 40 ports seen" in text
    assert cells(text, "h100-001") == [
        *(("pass", f"mlx5_{rail}: leaf-{rail + 1}/1", "1") for rail in range(4)),
        ("pass", "mlx5_4: stor-1/1", "1"),
    ]
    swapped = "h100-006 mlx5_0, mlx5_1: swapped: mlx5_0 is on leaf-6/2, mlx5_1 on leaf-5/2"
    assert cells(text, "h100-006")[:2] == [("fail", swapped, "leaf-6/2"), ("fail", swapped, "leaf-5/2")]
    assert cells(text, "h100-003")[3][::2] == ("fail", "no link")


def walks(units: int) -> int:
    """How often the page of a group with so many units walks through all of its ports."""
    found = rail_optimised(units, 3).check()
    (group,) = found.groups
    assert len(group.units) == units
    group.views = ports = Walked(group.views)
    page(found)
    return ports.walks


def test_ports_are_not_walked_through_for_each_unit() -> None:
    assert walks(2) == walks(6)


def test_nodes_of_which_nothing_is_known_are_in_it_too() -> None:
    site = rail_optimised(1, 4)
    views = [*site.views(["h100-001", "h100-002", "h100-003"]), *site.views(["h100-004"], Fabric([], {}))]
    found = fabric_check.check(views, Fabric(site.links(), {}), None)
    text = page(found)
    assert "h100: h100-004, of which no neighbour is known" in text
    assert {(look, own) for look, _title, own in cells(text, "h100-004")} == {("impossible", "?")}


def test_what_switches_are_called_is_only_text() -> None:
    site = Site(1, {(f"h100-{node}", 0): ("<script>alert(1)</script>", node) for node in range(1, 4)})
    text = page(site.check())
    assert "<script>alert" not in text
    assert cells(text, "h100-1") == [("pass", "mlx5_0: <script>alert(1)</script>/1", "1")]


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_each_port_has_one_cell_and_each_fault_marks_its_ports(data: st.DataObject) -> None:
    site = rail_optimised(data.draw(st.integers(1, 3)), data.draw(st.integers(3, 5)))
    ends = st.sampled_from(sorted(site.cables))
    for host, port in data.draw(st.lists(ends, max_size=4, unique=True)):
        if data.draw(st.booleans()):
            site.unplug(host, port)
        else:
            site.move(host, port, data.draw(st.sampled_from(["leaf-1", "stor-1"])))
    found = site.check()
    text = page(found)
    looks = Counter((host, look) for host in site.hosts for look, _title, _own in cells(text, host))
    assert sum(count for (_host, look), count in looks.items() if look != "none") == len(found.views)
    marked = Counter(fault.host for fault in found.faults for _port in fault.ports)
    assert Counter({host: count for (host, look), count in looks.items() if look == "fail"}) == marked
