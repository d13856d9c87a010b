# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The links of a fabric that ibsim simulated, as the real iblinkinfo printed them (fixtures/iblinkinfo)."""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import iblinkinfo

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures/iblinkinfo"
NODE1 = iblinkinfo.FabricPort("ibsim0", 1, "0x0000000000100001")
NODE2 = iblinkinfo.FabricPort("ibsim1", 1, "0x100003")
ELSEWHERE = iblinkinfo.FabricPort("ibsim2", 1, "0x0000000000900001")


@pytest.mark.parametrize(("name", "state"), [("unmanaged", "Initialize"), ("managed", "Active")])
def test_every_cable_is_seen_from_both_ends(name: str, state: str) -> None:
    links = iblinkinfo.parse((FIXTURES / f"{name}.txt").read_text())
    assert len(links) == 10
    assert {link.state for link in links} == {state}
    ends = {(link.name, link.port, link.peer, link.peer_port) for link in links}
    assert ends == {(peer, peer_port, own, port) for own, port, peer, peer_port in ends}
    assert [(link.name, link.port, link.peer) for link in links if link.width == "1X"] == [
        ("leaf2", 7, "spine"),
        ("spine", 2, "leaf2"),
    ]
    assert {(link.speed, link.could) for link in links} == {("2.5", ("12X", "10.0 Gbps"))}


@pytest.mark.parametrize(
    ("notes", "could"),
    [("", ()), (" ", ()), (" Could be FDR10", ("FDR10",)), ("Could be 4X Could be 53.125 Gbps", ("4X", "53.125 Gbps"))],
)
def test_notes(notes: str, could: Tuple[str, ...]) -> None:
    """Lines in the form of iblinkinfo.c, with a name that has its marks in it."""
    line = '0x0c42a10300aabbcc "    h100-01 mlx5_0"     12    1[  ] ==( 2X        26.5625 Gbps Active/  LinkUp)==>  '
    line += f'0xb8cef60300112233     40   17[  ] "MF0;sw1:MQM9700/U1 (rack "7")" ({notes})'
    (link,) = iblinkinfo.parse(f"garbage\n{line}\n")
    assert (link.name, link.peer, link.peer_port) == ("h100-01 mlx5_0", 'MF0;sw1:MQM9700/U1 (rack "7")', 17)
    assert (link.width, link.speed, link.could) == ("2X", "26.5625", could)


def test_a_fabric_is_read_once() -> None:
    asked: List[str] = []

    def answer(port: iblinkinfo.FabricPort) -> iblinkinfo.Answer:
        asked.append(port.hca)
        return ("", "no such HCA") if port == ELSEWHERE else ((FIXTURES / "managed.txt").read_text(), "")

    found = iblinkinfo.fabrics([NODE1, NODE2, ELSEWHERE], answer)
    assert asked == ["ibsim0", "ibsim2"]
    assert [(fabric["hca"], fabric["error"], len(fabric["links"])) for fabric in found] == [
        ("ibsim0", "", 10),
        ("ibsim2", "no such HCA", 0),
    ]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (None, "iblinkinfo is not installed (package infiniband-diags)"),
        ("echo 'Failed to open mlx5_9 port 1' >&2; exit 1", "iblinkinfo: Failed to open mlx5_9 port 1"),
        ('[ "$*" = "--line --Ca ibsim0 --Port 1" ] || exit 3', ""),
    ],
)
def test_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Optional[str], error: str) -> None:
    monkeypatch.setattr(command, "environment", lambda: {"PATH": str(tmp_path)})
    if script is not None:
        (tmp_path / "iblinkinfo").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "iblinkinfo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert iblinkinfo.ask(NODE1) == ("", error)
