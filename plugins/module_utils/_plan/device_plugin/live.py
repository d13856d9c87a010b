# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The configurations of a device plugin in the cluster, which nodes go on using as long as nothing is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterable, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.device_plugin.objects import (
    DIGEST,
    PluginConfiguration,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.inventory_host import InventoryHost


@dataclass(frozen=True)
class LivePlugins:
    """By the value of the nodes' label: ``digests`` of the configurations, and the nodes of which nothing is known."""

    digests: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def keeps(self, own: PluginConfiguration) -> bool:
        """Whether such nodes have a configuration with the name of this one and another content."""
        there = self.digests.get(own.label_value)
        return own.label_value in self.unseen and there not in (None, own.digest)

    def left_out(self, values: Collection[str], planned: Iterable[PluginConfiguration]) -> List[str]:
        """Such nodes with one of these values, for which there is no configuration in a plan."""
        there = {own.label_value for own in planned}
        return [node for value in values if value not in there for node in self.unseen.get(value, ())]


NO_PLUGINS = LivePlugins()


def read(
    label: str,
    daemon_sets: Iterable[Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, str]],
    hosts: Iterable[InventoryHost],
) -> LivePlugins:
    """``daemon_sets`` are those of the plugin, perhaps among others, ``nodes`` the labels of all nodes."""
    digests: Dict[str, str] = {}
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
