# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Cabling as CSV: read, refused, and written so that no switch's name is a formula."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import expected
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import Neighbour
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import SEEN, PortView
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Walked

VIEW = PortView(
    "h1",
    "h100",
    "mlx5_0",
    "mlx5_0",
    0,
    SEEN,
    "ib0",
    "0000:18:00.0",
    full="mlx5_0/1",
    neighbour=Neighbour("leaf-1", "0x1", "12"),
)


def read(text: str) -> expected.Expected:
    return expected.read(text, ["h1", "h2"], [VIEW], "cabling.csv")


@pytest.mark.parametrize("port", ["mlx5_0", "mlx5_0/1", "ib0", "0000:18:00.0", "rail 0"])
def test_a_port_by_each_of_its_names(port: str) -> None:
    place = read(f"\ufeffhost,port,switch,switch_port\nh1,{port}, Leaf-1 ,12\n").of(VIEW)
    assert place
    assert VIEW.neighbour
    assert place.is_switch(VIEW.neighbour)
    assert place.is_port(VIEW.neighbour)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h1,mlx5_0,leaf-1\n", "line 1 has 3 values: it must have host, port, switch, switch_port"),
        ("h1,mlx5_0,,12\n", "line 1 has 3 values"),
        ("h1,mlx5_7,leaf-1,12\n", "line 1: h1 has no port mlx5_7: it has mlx5_0"),
        ("h1,mlx5_0,leaf-1,12\nh1,mlx5_0,leaf-1,13\n", "line 2: h1 mlx5_0 is in line 1 as well"),
        ("h1,mlx5_0,leaf-1,12\nh2,mlx5_0,LEAF-1,12\n", "line 2: port 12 of LEAF-1 is in line 1 as well"),
        (f"h1,mlx5_0,{'x' * 257},12\n", "line 1 has a value of more than 256 characters"),
        ('h1,"mlx5_0,leaf-1,12\n', "is no CSV file"),
    ],
)
def test_mistakes_are_told_by_line(text: str, message: str) -> None:
    with pytest.raises(expected.ExpectedError, match=message):
        read(text)


def walks(rows: int) -> int:
    """How often all ports are walked through to refuse a file with so many wrong rows."""
    views = Walked([VIEW])
    text = "".join(f"h1,eth{row},leaf-1,{row}\n" for row in range(rows))
    with pytest.raises(expected.ExpectedError, match="has no port eth0: it has mlx5_0"):
        expected.read(text, ["h1"], views, "cabling.csv")
    return views.walks


def test_ports_are_not_walked_through_for_each_wrong_row() -> None:
    assert walks(1) == walks(40)


def test_hosts_that_the_inventory_lacks_are_counted() -> None:
    found = read("h1,mlx5_0,leaf-1,12\nrouter-1,eth0,leaf-1,1\n\n# a comment\n")
    assert (list(found.places), found.elsewhere) == ([("h1", "mlx5_0")], ["router-1"])


@settings(deadline=None)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=10))
def test_no_cell_is_a_formula_and_no_row_is_broken(switch: str, port: str) -> None:
    view = PortView("h1", "h100", "mlx5_0", "mlx5_0", 0, SEEN, neighbour=Neighbour(switch, "0x1", port))
    text = expected.written([view])
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert [len(row) for row in rows] == [4, 4]
    assert all(not cell.lstrip().startswith(("=", "+", "-", "@")) for cell in rows[1])
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("switch", ["=cmd|' /C calc'!A0", "-leaf", "@x", " =1+1"])
def test_what_was_written_is_read_again(switch: str) -> None:
    neighbour = Neighbour(switch, "0x1", "12")
    view = PortView("h1", "h100", "mlx5_0", "mlx5_0", 0, SEEN, full="mlx5_0/1", neighbour=neighbour)
    place = read(expected.written([view])).of(view)
    assert place
    assert place.is_switch(neighbour)


def test_a_misspelt_switch_is_told() -> None:
    assert expected.unseen_switches(read("h1,mlx5_0,laef-1,12\n"), [Neighbour("leaf-1", "0x1", "12")]) == ["laef-1"]


def other(host: str, **more: Any) -> PortView:
    return dataclasses.replace(VIEW, host=host, **more)


def test_a_port_that_other_nodes_of_the_group_have_may_be_away() -> None:
    views = [VIEW, other("h2", name="mlx5_7", full="mlx5_7/1", slot="mlx5_7", netdev="ib7", pci="0000:df:00.0", rail=7)]
    found = expected.read("h1,mlx5_7,leaf-8,12\n", ["h1", "h2"], views, "cabling.csv")
    assert list(found.places) == [("h1", "mlx5_7")]


def test_switches_of_one_name_are_called_by_their_guid() -> None:
    name = "Quantum Mellanox Technologies"
    views = [other(f"h{number}", neighbour=Neighbour(name, f"0x{number}", "12")) for number in (1, 2)]
    rows = expected.written(views)
    assert rows.splitlines()[1:] == ["h1,mlx5_0,0x1,12", "h2,mlx5_0,0x2,12"]
    found = expected.read(rows, ["h1", "h2"], views, "cabling.csv")
    assert [place.is_switch(view.neighbour) for place in found.places.values() for view in views if view.neighbour] == [
        True,
        False,
        False,
        True,
    ]
    message = f"line 1: 2 switches are called {name}: give the GUID or the chassis ID instead"
    with pytest.raises(expected.ExpectedError, match=message):
        expected.read(f"h1,mlx5_0,{name},12\n", ["h1", "h2"], views, "cabling.csv")
