# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether nodes show what their strategy says: pods of DaemonSets, extended resources, and none of another group."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.strategies.strategy import NodeStatus
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import quantity

Plain = Mapping[str, Any]

_PLUGIN, _RESOURCES = "cluster.plugin", "cluster.resources"


def _daemon_sets(shows: Mapping[str, NodeStatus], there: Mapping[str, Plain]) -> Iterator[Check]:
    for name in dict.fromkeys(shown.daemon_set for shown in shows.values() if shown.daemon_set):
        status = (there.get(name) or {}).get("status") or {}
        desired, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        nodes = sum(shown.daemon_set == name for shown in shows.values())
        evidence = {"nodes": nodes, "desired": desired, "ready": ready}
        remedy, mend = "", ""
        if name not in there:
            text, mend = f"there is no DaemonSet {name}", "provision"
        elif desired != nodes:
            text = f"DaemonSet {name} is meant for {desired} nodes, the inventory has {nodes}"
            remedy, mend = "Label the nodes as planned.", "provision"
        elif ready != desired:
            text, remedy = f"of the {desired} pods of DaemonSet {name} {ready} are ready", "See their events and logs."
        else:
            text = f"the {ready} pods of DaemonSet {name} are ready"
        verdict = "pass" if ready == desired == nodes and name in there else "fail"
        yield Check("cluster", _PLUGIN, None, None, name, verdict, text, evidence, remedy, mend)


def _number(node: Plain, kind: str, resource: str) -> int:
    text = str(((node.get("status") or {}).get(kind) or {}).get(resource, "0"))
    return int(quantity.quantity(text) or 0)


def _of_node(host: str, group: str, shown: NodeStatus, every: List[str], node: Plain) -> Iterator[Check]:
    def check(resource: str, verdict: str, text: str, remedy: str = "") -> Check:
        evidence = {kind: _number(node, kind, resource) for kind in ("capacity", "allocatable")}
        return Check("cluster", _RESOURCES, host, group, resource, verdict, text, evidence, remedy)

    for resource, wanted in shown.resources.items():
        found = {kind: _number(node, kind, resource) for kind in ("capacity", "allocatable")}
        if set(found.values()) == {wanted}:
            yield check(resource, "pass", f"the node has {wanted} {resource}")
        else:
            said = ", ".join(f"{kind} {number}" for kind, number in found.items())
            remedy = "See the log of the plugin's pod: which devices it found, and /dev/infiniband of the node."
            yield check(resource, "fail", f"of {resource} there should be {wanted}: {said}", remedy)
    for resource in every:
        if resource in shown.resources:
            continue
        if _number(node, "allocatable", resource):
            text = f"pods that ask for {resource} are sent here, which is no resource of this group"
            yield check(resource, "fail", text, "Find out who offers it on this node, and remove that plugin.")
        elif _number(node, "capacity", resource):
            text = f"the capacity still has {resource}, which nobody offers here any more"
            yield check(
                resource, "warn", text, "It goes when the kubelet is restarted and the node's status is patched."
            )


def checks(
    groups: Mapping[str, str],
    shows: Mapping[str, NodeStatus],
    nodes: Mapping[str, Plain],
    daemon_sets: Mapping[str, Plain],
) -> List[Check]:
    """By host its group and what it should show; live nodes by name, and DaemonSets by namespace/name."""
    found = list(_daemon_sets(shows, daemon_sets))
    every: Dict[str, None] = {name: None for shown in shows.values() for name in shown.resources}
    for host, group in groups.items():
        if host in nodes:
            found += _of_node(host, group, shows.get(host, NodeStatus()), list(every), nodes[host])
    return found
