# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The deployed drivers, which continue to protect nodes without facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import FILTER, GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci

# As in the driver's filter.
_ADDRESS = re.compile(f'"({pci.PATTERN})"')


@dataclass(frozen=True)
class LiveDrivers:
    """``left_out``: by group, the PCI addresses that its driver leaves out. Groups are DNS labels.

    ``nodes``: the labels of all nodes; ``None`` without a cluster.
    """

    left_out: Mapping[str, Sequence[str]]
    nodes: Optional[Mapping[str, Mapping[str, str]]] = None

    def unseen(self, group: str, hosts: Iterable[InventoryHost], seen: Collection[str]) -> List[str]:
        """The nodes that have the driver of a group and are not among the ``seen``.

        ``hosts`` are those that shall have this driver. Without a cluster, any of them may have it already.
        """
        if self.nodes is None:
            there = [host.name for host in hosts]
        else:
            there = [node for node, labels in self.nodes.items() if labels.get(GROUP_LABEL) == group]
        return [name for name in there if name not in seen]


def read(
    daemon_sets: Iterable[Mapping[str, Any]], nodes: Optional[Mapping[str, Mapping[str, str]]] = None
) -> LiveDrivers:
    """``daemon_sets`` are those of the driver, perhaps among other objects, ``nodes`` the labels of all nodes."""
    left_out: Dict[str, List[str]] = {}
    for item in daemon_sets:
        if item["kind"] != "DaemonSet":
            continue
        pod = item["spec"]["template"]["spec"]
        group = (pod.get("nodeSelector") or {}).get(GROUP_LABEL)
        arguments = [text for container in pod.get("containers") or () for text in container.get("args") or ()]
        if group is not None:
            filters = [text for text in arguments if text.startswith(FILTER)]
            left_out[group] = [address for text in filters for address in _ADDRESS.findall(text)]
    return LiveDrivers(left_out, nodes)
