# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a run of ``site`` did, in few lines: nodes of each group, objects of the cluster, and what comes next."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VerifyRun
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import commands, drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_VERIFY = "zerocopy.rdma.verify"
# The names of the files with the labels of nodes begin with this.
NODE_LABELS = "node-labels"
# As applyset calls what it did, in the order of the lines.
_ACTIONS = ("created", "configured", "pruned", "rejected", "kept", "unchanged")


@dataclass
class SiteRun:
    """``failed`` are hosts that dropped out of the run; ``sets`` has by role the objects that applyset returned.

    ``manifests`` are the paths of the files that a run without a cluster has changed, or would have.
    """

    nodes: List[drift.HostDrift]
    failed: Sequence[str] = ()
    sets: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    check: bool = False
    run: VerifyRun = field(default_factory=VerifyRun)
    manifests: Sequence[str] = ()


def _nodes(site: SiteRun) -> List[str]:
    groups: Dict[str, Dict[str, List[str]]] = {}
    for node in site.nodes:
        if node.host in site.failed:
            state = "failed"
        elif node.result is None:
            # Of a run that was not about nodes (--tags claims).
            continue
        elif drift.to_prepare(node.result):
            state = "would be changed" if site.check else "changed"
        else:
            state = "unchanged"
        groups.setdefault(node.group, {}).setdefault(state, []).append(node.host)
    lines = []
    for group, states in groups.items():
        parts = [
            f"{len(hosts)} {state}" + (f" ({fold(hosts)})" if state != "unchanged" else "")
            for state, hosts in sorted(states.items(), key=lambda each: each[0] == "unchanged")
        ]
        lines.append(f"{group}: {', '.join(parts)}")
    return lines


def _objects(site: SiteRun) -> List[str]:
    found = Counter(str(each["action"]) for objects in site.sets.values() for each in objects)
    if not found:
        return []
    parts = [f"{found[action]} {action}" for action in _ACTIONS if found[action]]
    return [f"objects of the cluster{', if applied' if site.check else ''}: {', '.join(parts)}"]


def manifests(paths: Sequence[str], check: bool = False) -> List[str]:
    """That nothing has reached a cluster, where its objects are, and what is to be done with them."""
    if not paths:
        return []
    would = "would be" if check else "was" if len(paths) == 1 else "were"
    told = [
        f"cluster: rdma_cluster is none, so nothing {'is' if check else 'was'} applied. {counted(len(paths), 'file')}"
        f" {would} written to {os.path.dirname(paths[0])}, for you to apply"
    ]
    labels = [path for path in paths if os.path.basename(path).startswith(NODE_LABELS)]
    apply = "; apply them with kubectl apply --server-side, not with a tool that prunes"
    return [*told, *([f"labels of nodes: {', '.join(map(os.path.basename, labels))}{apply}"] if labels else [])]


def lines(site: SiteRun) -> List[str]:
    """Nothing for a run that was about neither nodes nor the cluster."""
    said = _nodes(site) + _objects(site) + manifests(site.manifests, site.check)
    if not said or site.check:
        return said
    limit = ["--limit", site.run.limit] if site.run.limit else []
    return [*said, f"next: {commands.line(_VERIFY, site.run, limit)}"]
