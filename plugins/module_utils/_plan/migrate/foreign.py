# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Device plugins that somebody else has deployed, and how each of them is removed when no node needs it any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Collection, Iterator, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, integer, table
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import components, pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind, Seen

_DAEMON_SET = Kind("apps", "DaemonSet")


@dataclass(frozen=True)
class ForeignPlugin:
    """A DaemonSet (``namespace/name``), the program, the number of nodes it is meant for, and how to remove it."""

    daemon_set: str
    program: str
    nodes: int
    remove: str


def _remove(seen: Seen) -> str:
    """The command, or where it has to be taken out: deleted, it would come back there."""
    ref, owner = seen.ref, seen.owner
    if owner is not None:
        return f"take it out of {owner.kind.kind} {owner.name} (kubectl edit {owner.kind.kind.lower()} {owner.name})"
    first = seen.owners[0] if seen.owners else None
    namespace, slash, release = first.name.partition("/") if first else ("", "", "")
    if first and first.tool == "helm" and slash:
        return f"helm uninstall {release} --namespace {namespace}"
    if first and first.tool in ("argocd", "flux") and first.name:
        return f"take it out of {'Argo CD application' if first.tool == 'argocd' else 'Flux'} {first.name}"
    return f"kubectl delete daemonset {ref.name} --namespace {ref.namespace}"


def plugins(items: Sequence[Any], ours: Collection[str]) -> Iterator[ForeignPlugin]:
    """Those among these DaemonSets; ``ours`` are the labels by which our own find their nodes."""
    for item in items:
        seen = pods.seen(_DAEMON_SET, item)
        component = components.of(seen)
        spec: Mapping[str, Any] = table(at(item, "spec", "template", "spec"))
        if component is None or component.role != components.PLUGIN or set(ours) & pods.node_labels(spec):
            continue
        number = integer(at(item, "status", "desiredNumberScheduled")) or 0
        place = f"{seen.ref.namespace}/{seen.ref.name}"
        yield ForeignPlugin(place, component.name, number, _remove(seen))
