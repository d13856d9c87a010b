# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The configurations of a device plugin in the cluster, which nodes go on using as long as nothing is known of them.

They are in our own DaemonSets, or in the policies of an operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterable, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import groups_of_value
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import (
    DIGEST,
    PluginConfiguration,
)


@dataclass(frozen=True)
class LivePlugins:
    """By the value of the nodes' label: ``digests`` of the configurations, and the nodes of which nothing is known."""

    digests: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def keeps(self, own: PluginConfiguration) -> bool:
        """Whether such nodes have a configuration with the name of this one and another content."""
        there = self.digests.get(own.label_value)
        return own.label_value in self.unseen and there not in (None, own.digest)

    def left_out(self, groups: Collection[str], planned: Collection[str]) -> List[str]:
        """Such nodes of these groups (DNS labels) whose value is not among the ``planned`` ones."""
        return [
            node
            for value, nodes in self.unseen.items()
            if value not in planned and not set(groups).isdisjoint(groups_of_value(value))
            for node in nodes
        ]


NO_PLUGINS = LivePlugins()


def read(
    label: str,
    daemon_sets: Iterable[Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, str]],
    hosts: Iterable[InventoryHost],
    operated: Mapping[str, str],
) -> LivePlugins:
    """``daemon_sets`` are those of the plugin, perhaps among others, ``nodes`` the labels of all nodes.

    ``operated`` are the digests of configurations that operators have.
    """
    digests: Dict[str, str] = dict(operated)
    for item in daemon_sets:
        template = item["spec"]["template"]
        value = (template["spec"].get("nodeSelector") or {}).get(label)
        digest = ((template.get("metadata") or {}).get("annotations") or {}).get(DIGEST)
        if value is not None and digest is not None:
            digests[value] = digest
    seen = {host.name for host in hosts if host.facts is not None}
    unseen: Dict[str, List[str]] = {}
    for node, labels in nodes.items():
        if node not in seen and label in labels:
            unseen.setdefault(labels[label], []).append(node)
    return LivePlugins(digests, unseen)
