# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A DRANET that somebody else runs in the cluster, whatever installed it: two on a node take each other's NICs."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

# Mirrors change the registry and the path of an image, seldom its last part. With a slash before it.
IMAGE = re.compile(r".*/dranet(?![a-z]).*")
LOOK = ("DaemonSet.apps", "")
_NAME, _ENABLED = "dranet", "rdma_driver_enabled"


def pod(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The specification of its pods."""
    found: Mapping[str, Any] = (item["spec"].get("template") or {}).get("spec") or {}
    return found


def _is_dranet(item: Mapping[str, Any]) -> bool:
    """By its name or labels, or by the image or command of a container.

    Anybody can make a DaemonSet that looks like one. Pods that may not do what DRANET does are refused where Pod
    Security admission, or a policy, limits the namespace.
    """
    if item["kind"] != "DaemonSet" or item.get("refused"):
        return False
    labels = ((item["spec"].get("selector") or {}).get("matchLabels") or {}).values()
    if _NAME in (item["metadata"]["name"], *labels):
        return True
    containers = pod(item).get("containers") or []
    images = (str(each.get("image", "")).partition("@")[0].lower() for each in containers)
    commands = (str(word) for each in containers for word in (each.get("command") or [])[:1])
    return any(IMAGE.fullmatch(f"/{image}") for image in images) or any(
        word.rpartition("/")[2] == _NAME for word in commands
    )


def for_node(item: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether its node selector is that of a node with these labels."""
    return all(labels.get(name) == value for name, value in (pod(item).get("nodeSelector") or {}).items())


def against(
    hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
) -> Iterator[Tuple[str, Problem]]:
    """Hosts that are to get a DRANET of this collection beside it; variables may have any type."""
    ours = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in cluster.daemon_sets}
    found: List[Mapping[str, Any]] = [
        item
        for item in cluster.objects or ()
        if _is_dranet(item) and (item["metadata"]["namespace"], item["metadata"]["name"]) not in ours
    ]
    for host in hosts if found else ():
        own = {name: value for name, value in host.variables.items() if name == _ENABLED}
        enabled = {**variables.defaults(known), **variables.converted(own, known)[0]}[_ENABLED]
        there = [item for item in found if for_node(item, cluster.labels.get(host.name, {}))]
        if enabled and there:
            meta = there[0]["metadata"]
            right = (
                f"but DaemonSet {meta['namespace']}/{meta['name']}, which is not of this inventory, runs DRANET on "
                f"this node: remove it, or set {_ENABLED} to false and use that one"
            )
            yield host.name, wrong(_ENABLED, enabled, right)
