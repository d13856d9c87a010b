# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""NICs with which DRANET 1.4.0 publishes nothing of a node, and what is left out because of them.

It publishes the name that the PCI ID database has for a device uncut, and the API server refuses the whole
ResourceSlice of the node if one attribute has more than 64 bytes (mended after 1.4.0: dranet's pull requests 300, 313).
"""

from __future__ import annotations

from typing import Dict, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci

# Those that may have an RDMA device, of the database in DRANET 1.4.0 (third_party/pciids). The driver's filter leaves
# out what has none.
_IDS = {
    "14e4:16df": "BCM57314",
    "15b3:1004": "VF of a ConnectX-3",
    "15b3:6340": "ConnectX",
    "15b3:634a": "ConnectX",
    "15b3:6732": "ConnectX",
    "15b3:673c": "ConnectX",
    "15b3:6746": "ConnectX",
    "15b3:6778": "ConnectX",
    "15b3:a2df": "BlueField-4",
    "8086:0cf8": "PAC N3000",
    "8086:0d58": "PAC N3000",
}


def why(facts: Facts) -> Dict[str, str]:
    """By PCI address what is against publishing a NIC."""
    found: Dict[str, str] = {}
    for hca, place in facts.placed:
        model = _IDS.get(f"{place.vendor_id}:{place.device_id}")
        if model and not hca.software:
            text = f"{hca.name} ({model}) has a PCI name of more than 64 bytes, so DRANET 1.4.0 would"
            found[place.address] = f"{text} publish no device of the node"
    return found


def of_group(nodes: Sequence[Facts], version: versions.Numbers) -> List[str]:
    """PCI addresses that the driver of a group leaves out on all of its nodes, by their facts."""
    names = [] if versions.can(version, versions.CUT_NAMES) else [address for facts in nodes for address in why(facts)]
    return sorted({*exclusions.of_group(nodes), *names}, key=pci.order)
