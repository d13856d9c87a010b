# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The links of a fabric that ibsim simulated, as the real iblinkinfo printed them (fixtures/iblinkinfo)."""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import iblinkinfo

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures/iblinkinfo"
NODE1 = iblinkinfo.FabricPort("ibsim0", 1, "0x0000000000100001")
NODE2 = iblinkinfo.FabricPort("ibsim1", 1, "0x100003")
ELSEWHERE = iblinkinfo.FabricPort("ibsim2", 1, "0x0000000000900001")


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
