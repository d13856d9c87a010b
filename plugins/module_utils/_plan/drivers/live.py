# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The deployed drivers, which continue to protect nodes without facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.drivers.objects import FILTER, GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.inventory_host import InventoryHost

# As in the driver's filter.
_ADDRESS = re.compile(r'"([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"')


@dataclass(frozen=True)
class LiveDrivers:
    """``left_out``: by group, the PCI addresses that its driver leaves out. Groups are DNS labels.

    ``groups``: by node, the group whose driver the node has; ``None`` without a cluster.
    """

    left_out: Mapping[str, Sequence[str]]
    groups: Optional[Mapping[str, str]] = None

    def unseen(self, group: str, hosts: Iterable[InventoryHost], seen: Collection[str]) -> List[str]:
        """The nodes that have the driver of a group and are not among the ``seen``.

        ``hosts`` are those that shall have this driver. Without a cluster, any of them may have it already.
        """
        if self.groups is None:
            there = [host.name for host in hosts]
        else:
            there = [node for node, label in self.groups.items() if label == group]
        return [name for name in there if name not in seen]

    def joining(self, wanted: Mapping[str, Optional[str]]) -> List[str]:
        """The nodes that do not have the driver of their ``wanted`` group, though that is deployed already."""
        there = self.groups
        if there is None:
            return []
        return [node for node, group in wanted.items() if group in self.left_out and there.get(node) != group]

    def leaving(self, wanted: Mapping[str, Optional[str]]) -> List[str]:
        """The nodes that have the driver of another group than is ``wanted``."""
        return [node for node, group in (self.groups or {}).items() if wanted.get(node, group) != group]


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
    if nodes is None:
        return LiveDrivers(left_out)
    return LiveDrivers(left_out, {node: own[GROUP_LABEL] for node, own in nodes.items() if GROUP_LABEL in own})
