# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Making the kernel have as many VFs as planned (Documentation/PCI/pci-iov-howto.rst)."""

from __future__ import annotations

import os
import time
from typing import Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import live, vfs

_NETDEVS_SECONDS = 20
_PAUSE = 0.2


def _write(tree: Tree, pf: str, number: int) -> bool:
    """Whether something had to be written."""
    path = f"{pci.DEVICES}/{pf}/sriov_numvfs"
    before = tree.number(path)
    if before in (None, number):
        return False
    try:
        # The kernel goes from one number to another by way of none only.
        for value in (0, number) if before and number else (number,):
            with open(os.path.join(tree.root, path), "w", encoding="ascii") as handle:
                handle.write(str(value))
    except OSError as error:
        raise HostError(f"vfs: {number} VFs of {pf}: {error.strerror}; the kernel's log tells more") from error
    return True


def make(run: Runner, tree: Tree, numbers: Sequence[Tuple[str, int]], mtus: Mapping[str, int]) -> None:
    """Give PFs, by PCI address, their numbers of VFs. ``mtus`` of the VFs, by PF.

    :raises HostError: the kernel refuses; a PF that is gone is no error.
    """
    if not numbers:
        return
    # The rules for the new VFs have to be known before these appear.
    must(run(["udevadm", "control", "--reload"]), "udevadm control --reload")
    made = {pf: number for pf, number in numbers if _write(tree, pf, number)}
    if not any(made.values()):
        return
    # The driver of VFs may be a module of its own, which udev loads.
    run(["udevadm", "settle", "--timeout=60"], timeout=90)
    for pf, number in made.items():
        deadline = time.monotonic() + _NETDEVS_SECONDS
        probed = tree.number(f"{pci.DEVICES}/{pf}/sriov_drivers_autoprobe") != 0
        while probed and len(vfs.netdevs(tree, pf)) < number and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        for name in vfs.netdevs(tree, pf) if pf in mtus else []:
            live.write_mtu(name, mtus[pf])
