# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What tools print: the links of a fabric of ibsim (fixtures/iblinkinfo), neighbours of lldpd (fixtures/lldp)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import iblinkinfo, lldp
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import LldpNeighbour, switch_name

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
LINKS = FIXTURES / "iblinkinfo"


@pytest.mark.parametrize(("name", "state"), [("unmanaged", "Initialize"), ("managed", "Active")])
def test_every_cable_is_seen_from_both_ends(name: str, state: str) -> None:
    links = iblinkinfo.parse((LINKS / f"{name}.txt").read_text())
    assert len(links) == 10
    assert {link.state for link in links} == {state}
    ends = {(link.name, link.port, link.peer, link.peer_port) for link in links}
    assert ends == {(peer, peer_port, own, port) for own, port, peer, peer_port in ends}
    assert [(link.name, link.port, link.peer) for link in links if link.width == "1X"] == [
        ("leaf2", 7, "spine"),
        ("spine", 2, "leaf2"),
    ]
    assert {(link.speed, *link.could) for link in links} == {("2.5", "12X", "10.0 Gbps")}


@pytest.mark.parametrize(
    ("notes", "could"),
    [("", []), (" ", []), (" Could be FDR10", ["FDR10"]), ("Could be 4X Could be 53.125 Gbps", ["4X", "53.125 Gbps"])],
)
def test_notes(notes: str, could: List[str]) -> None:
    """Lines in the form of iblinkinfo.c, with a name that has its marks in it."""
    line = '0x0c42a10300aabbcc "    h100-01 mlx5_0"     12    1[  ] ==( 2X        26.5625 Gbps Active/  LinkUp)==>  '
    line += f'0xb8cef60300112233     40   17[  ] "MF0;sw1:MQM9700/U1 (rack "7")" ({notes})'
    (link,) = iblinkinfo.parse(f"garbage\n{line}\n")
    assert (link.name, link.peer, link.peer_port) == ("h100-01 mlx5_0", 'MF0;sw1:MQM9700/U1 (rack "7")', 17)
    assert (link.width, link.speed, link.could) == ("2X", "26.5625", could)


def test_names_that_switches_choose_are_cut() -> None:
    line = f'0x1 "{"a" * 9000}" 1 1[  ] ==( 4X 10.0 Gbps Active/  LinkUp)==> 0x2 2 1[  ] "{"b" * 9000}" ( )'
    (link,) = iblinkinfo.parse(line)
    assert (len(link.name), len(link.peer)) == (256, 256)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("MF0;leaf-3:MQM9700/U1", "leaf-3"),
        ("MF0;core-1:IS5200/L07/U1", "MF0;core-1:IS5200/L07/U1"),
        ("SwitchIB Mellanox Technologies", "SwitchIB Mellanox Technologies"),
    ],
)
def test_what_people_call_a_switch(description: str, name: str) -> None:
    assert switch_name(description) == name


def test_a_neighbour_of_a_real_lldpd() -> None:
    (found,) = lldp.parse((FIXTURES / "lldp" / "neighbours.json").read_text())
    speed = "10GbaseT - Four-pair Category 6A or better, full duplex mode only"
    assert found == LldpNeighbour("rail0", "b6:1a:8a:0b:00:33", "leaf-1", "Ethernet1/12", "swp1", speed)


def test_nobody_is_heard() -> None:
    assert lldp.parse((FIXTURES / "lldp" / "nobody.json").read_text()) == []


def _answer(**port: Any) -> str:
    chassis = [{"id": [{"type": "mac", "value": "02:00:00:00:00:01"}]}]
    own: Dict[str, Any] = {"name": "rail0", "chassis": chassis, "port": [port]}
    return json.dumps({"lldp": [{"interface": [own]}]})


def test_a_port_with_a_mac_address_has_the_name_of_its_description() -> None:
    identity = [{"type": "mac", "value": "02:00:00:00:00:0c"}]
    (found,) = lldp.parse(_answer(id=identity, descr=[{"value": "swp12"}]))
    assert (found.port, found.description, found.name) == ("swp12", "02:00:00:00:00:0c", "02:00:00:00:00:01")


@pytest.mark.parametrize("port", [{}, {"id": "x"}, {"id": [7]}, {"id": [{"value": {}}]}, {"descr": [[]]}])
def test_a_malformed_port_has_no_name(port: Dict[str, Any]) -> None:
    (found,) = lldp.parse(_answer(**port))
    assert (found.port, found.description) == ("", "")


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"lldp"', "[" * 100000])
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(lldp.LldpError):
        lldp.parse(text)


def test_more_neighbours_than_netdevs_can_have_are_refused() -> None:
    whole = json.loads(_answer())
    whole["lldp"][0]["interface"] *= lldp.MOST_NEIGHBOURS + 1
    with pytest.raises(lldp.LldpError, match="1025 neighbours"):
        lldp.parse(json.dumps(whole))
