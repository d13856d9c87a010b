# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How lldpd is asked, with what its client prints (lldpd 1.0.16, src/client/lldpcli.c)."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import lldp

FIXTURE = Path(__file__).resolve().parents[4] / "fixtures/lldp/neighbours.json"
SOCKET = "[WARN/control] unable to connect to socket /run/lldpd.socket: "


class _Lldpcli:
    def __init__(self, done: Completed) -> None:
        self.done = done

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        assert list(argv) == ["lldpcli", "-f", "json0", "show", "neighbors", "details"]
        return self.done


@pytest.mark.parametrize(
    ("done", "code"),
    [
        (Completed(127, "", "lldpcli: No such file or directory"), "lldp_absent"),
        (Completed(1, "", f"{SOCKET}No such file or directory"), "lldp_stopped"),
        (Completed(1, "", f"{SOCKET}Connection refused"), "lldp_stopped"),
        (Completed(1, "", f"{SOCKET}Permission denied"), "lldp_rights"),
        (Completed(1, "", "[WARN/lldpctl] invalid"), "lldp_unreadable"),
        (Completed(0, "no JSON", ""), "lldp_unreadable"),
    ],
)
def test_no_answer_has_its_reason(done: Completed, code: str) -> None:
    found = lldp.ask(_Lldpcli(done))
    assert (found["code"], found["neighbours"]) == (code, [])


def test_an_answer() -> None:
    found = lldp.ask(_Lldpcli(Completed(0, FIXTURE.read_text(), "")))
    assert (found["code"], [each["port"] for each in found["neighbours"]]) == ("", ["Ethernet1/12"])


def test_one_that_hangs() -> None:
    def hangs(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        raise HostError(f"'{argv[0]}' did not end within {timeout:g} s")

    assert lldp.ask(hangs)["said"] == "'lldpcli' did not end within 60 s"
