# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``inject``: an NRI plugin on each node gives a container the NICs beside the GPUs that it has.

Pods share the NICs: any of them can use all of their bandwidth. Nothing is allocated, so the extended resource that
pods can request beside it only counts them.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import StrategyDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ManifestNames,
    NodeStatus,
    PodRequest,
    Strategy,
    StrategyImage,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject import daemon_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject import hcas as inject_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import annotations as wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.hcas import InjectPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import messages

NAME = "inject"
# What the plugin reads of a pod, and what it then does.
ANNOTATION, NEAREST = wish.ANNOTATION, "nearest"
# Of NRI's validator, which containerd has from 2.2 on: without the plugin, the pod does not start (others ignore it).
REQUIRED = "required-plugins.noderesource.dev"


def _resources(values: Mapping[str, Any]) -> Dict[str, int]:
    name, number = str(values[inject_plan.RESOURCE]), int(values[inject_plan.COUNT])
    return {name: number} if name and number else {}


def _ask(group: str, found: InjectPlan) -> PodRequest:
    values = found.values[group]
    return PodRequest(
        NEAREST,
        found.hcas[group],
        limits=dict.fromkeys(_resources(values), 1),
        annotations={ANNOTATION: NEAREST, REQUIRED: json.dumps([configuration.Configuration().name])},
        # The plugin raises the limit of locked memory of the container instead, unless it is told to leave it.
        capabilities=("IPC_LOCK",) if values[inject_plan.MEMLOCK] == "0" else (),
        host_network=group in found.ethernet,
        gpu_resource=str(values[inject_plan.GPU_RESOURCE]),
    )


class Inject(Strategy):
    name = NAME
    roles = ("rdma_inject",)
    label = inject_plan.LABEL
    # In mode exclusive a pod with a network of its own could open the device nodes and find no device.
    netns_modes = ("shared",)
    slices = False
    counts_only = True
    pods = False
    manifests = ManifestNames(labels="node-labels-inject.yml")
    daemon = StrategyDaemon(NAME, daemon_options.options, daemon_options.removal, daemon_options.program)

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        own = self.own(hosts)
        found = inject_plan.plan(own, known)
        names = {host.name for host in own}
        result = StrategyPlan(
            labels=self.labels(hosts, found.labels),
            warnings=found.warnings,
            problems=messages(found.found),
            nodes=manifests.nodes(found.labels),
        )
        if not result.problems:
            result.requests = {group: [_ask(group, found)] for group in found.hcas}
            for group, hcas in found.hcas.items():
                resources = _resources(found.values[group])
                result.status.update(dict.fromkeys(hcas, NodeStatus(resources=resources)))
                result.counters.update({host: dict(resources) for host in hcas})
            # A node without facts keeps what it has, and all others lose what they had.
            for host in hosts:
                if host.name not in names or host.facts is not None:
                    result.counters.setdefault(host.name, {})
        return result

    def doubt(self, word: str, found: Answers) -> str:
        roce = "pods on RoCE need hostNetwork (question 8)"
        return super().doubt(word, found) or (roce if found.ethernet else "")

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        return []

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        # Not what others would have: many a site's own device plugin has this name.
        default = str(known[inject_plan.RESOURCE].get("default"))
        counted = [host for host in self.own(hosts) if host.variables.get(inject_plan.COUNT) != 0]
        found = [str(host.variables.get(inject_plan.RESOURCE, default)) for host in counted]
        return [name for name in dict.fromkeys(found) if name]
