# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the kernel's command line would need: exact words, and nothing that is there already."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.boot_proposal import proposal

A, B, C = "0000:3c:00.0", "0000:3c:01.0", "10000:01:00.0"


@pytest.mark.parametrize(
    ("present", "remove", "add"),
    [
        (None, [], ["iommu=pt"]),
        ([], [], ["iommu=pt"]),
        (["intel_iommu=on"], [], ["iommu=pt"]),
        (["amd_iommu=on", "iommu=pt"], [], []),
        (["iommu.passthrough=1"], [], []),
        (["iommu=force,pt"], [], []),
        (["iommu.passthrough=0"], ["iommu.passthrough=0"], ["iommu=pt"]),
        (["iommu=nopt"], ["iommu=nopt"], ["iommu=pt"]),
        (["iommu=force,nopt"], ["iommu=force,nopt"], ["iommu=force", "iommu=pt"]),
        # The last one counts.
        (["iommu=pt", "iommu.passthrough=off"], ["iommu.passthrough=off"], ["iommu=pt"]),
        (["iommu=nopt", "iommu=pt"], [], []),
    ],
)
def test_passthrough(present: list[str] | None, remove: list[str], add: list[str]) -> None:
    found = proposal(present, True, [])
    assert (found.present, found.remove, found.add) == (present, remove, add)


@pytest.mark.parametrize(
    ("present", "bridges", "remove", "add"),
    [
        (None, [A], [], [f"pci=disable_acs_redir={A}"]),
        (["pci=noaer"], [A, B], [], [f"pci=disable_acs_redir={A};{B}"]),
        ([f"pci=disable_acs_redir={A};{B}"], [B], [], []),
        (
            [f"pci=noaer,disable_acs_redir={A},realloc"],
            [B],
            [f"pci=noaer,disable_acs_redir={A},realloc"],
            [f"pci=noaer,realloc,disable_acs_redir={A};{B}"],
        ),
        # The kernel heeds the last of several, so the first had no effect, and gets none.
        (
            [f"pci=disable_acs_redir={A}", f"pci=disable_acs_redir={C}"],
            [B],
            [f"pci=disable_acs_redir={A}", f"pci=disable_acs_redir={C}"],
            [f"pci=disable_acs_redir={C};{B}"],
        ),
        (
            ["pci=disable_acs_redir=reboot;pci:8086:347a"],
            [B],
            ["pci=disable_acs_redir=reboot;pci:8086:347a"],
            [f"pci=disable_acs_redir=pci:8086:347a;{B}"],
        ),
        # Facts are input: nothing but an address of PCI is to be copied into a boot loader's configuration.
        ([], [A, "x; reboot", B + "\n"], [], [f"pci=disable_acs_redir={A}"]),
    ],
)
def test_acs(present: list[str] | None, bridges: list[str], remove: list[str], add: list[str]) -> None:
    found = proposal(present, False, bridges)
    assert (found.remove, found.add) == (remove, add)


WORDS = st.sampled_from(
    [
        *("intel_iommu=on", "iommu=pt", "iommu=nopt", "iommu=force,nopt", "iommu.passthrough=0", "iommu.passthrough=1"),
        *("pci=noaer", f"pci=disable_acs_redir={A}", f"pci=realloc,disable_acs_redir={C},noaer"),
    ]
)


@given(st.lists(WORDS), st.booleans(), st.lists(st.sampled_from([A, B, C]), unique=True))
@settings(deadline=None)
def test_nothing_is_left_to_do_once_it_is_done(present: list[str], translated: bool, bridges: list[str]) -> None:
    found = proposal(present, translated, bridges)
    assert set(found.remove) <= set(present)
    after = [word for word in present if word not in found.remove] + found.add
    again = proposal(after, translated, bridges)
    assert (again.remove, again.add) == ([], [])
    for word in present:
        # Options of others stay.
        assert ("noaer" in word) <= any("noaer" in left for left in after)
