# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Making the kernel have as many VFs as planned (Documentation/PCI/pci-iov-howto.rst)."""

from __future__ import annotations

import os
import time
from typing import Container, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import live, vf_guids, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

_NETDEVS_SECONDS = 20
_PAUSE = 0.2
# The driver may need seconds for each VF.
_SCRIPT_SECONDS = 300


def _unset(pf: str, number: int) -> str:
    return f"vfs: the number of VFs of {pf} cannot be set to {number}"


def _write(tree: Tree, pf: str, number: int) -> None:
    path = f"{pci.DEVICES}/{pf}/sriov_numvfs"
    try:
        with open(os.path.join(tree.root, path), "w", encoding="ascii") as handle:
            handle.write(str(number))
    except OSError as error:
        raise HostError(f"{_unset(pf, number)}: {error.strerror}; see the kernel log") from error


def _made(run: Runner, tree: Tree, pf: str, number: int, anew: bool) -> bool:
    """Whether something had to be done."""
    before = tree.number(f"{pci.DEVICES}/{pf}/sriov_numvfs")
    if before is None or (before == number and not anew):
        return False
    # The kernel goes from one number to another by way of none only.
    if before and number:
        _write(tree, pf, 0)
    script = os.path.join(tree.root, vf_guids.SCRIPT_PATH.lstrip("/"))
    if number and os.path.exists(script):
        # It does nothing for ports of which it has no GUIDs.
        must(run(["/bin/sh", script, pf], timeout=_SCRIPT_SECONDS), _unset(pf, number))
    if tree.number(f"{pci.DEVICES}/{pf}/sriov_numvfs") != number:
        _write(tree, pf, number)
    return True


def make(
    run: Runner, tree: Tree, numbers: Sequence[Tuple[str, int]], mtus: Mapping[str, int], anew: Container[str] = ()
) -> Dict[str, List[str]]:
    """Give PFs, by PCI address, their numbers of VFs. ``mtus`` of the VFs, by PF; ``anew`` are those with other GUIDs.

    Returns the netdevs of VFs that were made, by PF. A PF that is gone is no error.

    :raises HostError: the kernel refuses.
    """
    if not numbers:
        return {}
    # The rules for the new VFs have to be known before these appear.
    must(run(["udevadm", "control", "--reload"]), "udevadm control --reload")
    made = {pf: number for pf, number in dict(numbers).items() if _made(run, tree, pf, number, pf in anew)}
    if not any(made.values()):
        return {}
    # The driver of VFs may be a module of its own, which udev loads.
    run(["udevadm", "settle", "--timeout=60"], timeout=90)
    netdevs: Dict[str, List[str]] = {}
    for pf, number in made.items():
        deadline = time.monotonic() + _NETDEVS_SECONDS
        probed = tree.number(f"{pci.DEVICES}/{pf}/sriov_drivers_autoprobe") != 0
        while probed and len(vfs.netdevs(tree, pf)) < number and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        netdevs[pf] = vfs.netdevs(tree, pf)
        for name in netdevs[pf] if pf in mtus else []:
            live.write_mtu(name, mtus[pf])
    return netdevs
