# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``dra``: DRANET hands out NICs, and pods claim them with their GPUs (DeviceClasses, claim templates)."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images as image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import StrategyDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import UNMOVABLE, Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClaimsStage,
    ClusterState,
    ManifestNames,
    NodeStatus,
    PodRequest,
    Strategy,
    StrategyImage,
    StrategyPlan,
    object_set,
    of_fleet,
    served,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import expected_devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import daemon_options, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts as claims_hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import intent, planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.objects import unmapped
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import (
    deployment,
    gpu_owners,
    nvsentinel,
    others,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects as drivers_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem

NAME = "dra"
_ENABLED = "rdma_driver_enabled"
_GPU_VALUES = "rdma_driver_gpu_values"
_TEMPLATES, _CLAIMS = "rdma_claims_templates", "rdma_claims_claims"


def driver(hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> deployment.DriverPlan:
    """DRANET for the hosts of this strategy; the others lose its label."""
    own = {host.name for host in served(NAME, hosts)}
    every = [
        host if host.name in own else replace(host, variables={**host.variables, _ENABLED: False}) for host in hosts
    ]
    return deployment.plan(every, known, drivers_objects.read(cluster.daemon_sets, cluster.labels or None))


def bonded(hosts: Sequence[InventoryHost]) -> List[str]:
    """Hosts of this strategy whose NICs are all bonds: DRANET moves netdevs, and would take the slaves out of them."""
    found: Dict[str, List[str]] = {}
    for host in served(NAME, hosts):
        if host.facts and host.facts.lags:
            names = ", ".join(name for name, _port in host.facts.lags)
            found.setdefault(names, []).append(host.name)
    return [
        f"{fold(several)}: {variables.STRATEGY} is {NAME}, but its NICs ({names}) are RoCE LAGs over bonds, which "
        "cannot be moved into pods: set it to shared_device or inject, or none for pods with hostNetwork"
        for names, several in found.items()
    ]


def untested(hosts: Sequence[InventoryHost]) -> List[str]:
    """A warning for each version of DRANET that was only read about, or not even that."""
    found: Dict[str, List[str]] = {}
    for host in served(NAME, hosts):
        value = host.variables.get(versions.DRANET_VERSION)
        # The plan of the driver reports what is no version.
        with contextlib.suppress(PlanError):
            # Hosts without it have the role's default, which was tested.
            why = versions.doubt(versions.dranet(value)) if value is not None else ""
            if why:
                found.setdefault(why, []).append(host.name)
    return [f"{fold(names)}: {why}" for why, names in found.items()]


def claims(
    hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options, tolerant: bool = False
) -> ClaimPlan:
    """What pods can claim on the hosts of this strategy, as :func:`claims.planner.plan` says. Raises the same."""
    own = served(NAME, hosts)
    return planner.plan(own, cluster.slices, cluster.kubernetes, cluster.device_classes, known, tolerant)


def _requests(hosts: Sequence[InventoryHost], plan: ClaimPlan) -> Dict[str, List[PodRequest]]:
    """What each group can claim: its templates, one alias after another, the single claims of its hosts, and what pods
    that are not changed can request. What is kept as it is, because pods have NICs, has no object in the plan.
    """
    made = {item["metadata"]["name"] for item in plan.objects if item["kind"] == "ResourceClaimTemplate"}
    found: Dict[str, Dict[Tuple[str, str, int, str], Dict[str, Sequence[str]]]] = {}
    single: Dict[str, List[PodRequest]] = {}
    for host in hosts:
        for entry in host.variables.get(_TEMPLATES) or []:
            name = str(entry["name"])
            for alias in (alias for alias in plan.names.get(name, ()) if alias in made):
                key = (name, alias, int(entry.get("gpus") or 0), str(entry.get("align") or ""))
                found.setdefault(host.group, {}).setdefault(key, {})[host.name] = ()
        for name in plan.claims.get(host.name, ()):
            request = PodRequest(name, {host.name: ()}, claim=name, entry=name, moves=True)
            single.setdefault(host.group, []).append(request)
    return {
        group: [
            PodRequest(alias, having, template=alias, entry=entry, moves=True, gpus=gpus, align=align)
            for (entry, alias, gpus, align), having in found.get(group, {}).items()
        ]
        + single.get(group, [])
        + [
            PodRequest(name, having, limits={name: 1}, number=1, moves=True)
            for name, having in plan.resources.get(group, {}).items()
        ]
        for group in dict.fromkeys([*found, *single, *plan.resources])
    }


def _status(hosts: Sequence[InventoryHost]) -> Dict[str, NodeStatus]:
    every = expected_devices.expected(served(NAME, hosts))
    return {host: NodeStatus(tuple(node["drivers"])) for host, node in every.items()}


class Dra(Strategy):
    name = NAME
    manifests = ManifestNames("10-driver.yml", "node-labels.yml", "20-claims.yml")
    roles = ("rdma_driver", "rdma_claims")
    label = GROUP_LABEL
    # DRANET works in both; in mode shared a pod sees the HCAs of others in sysfs.
    netns_modes: Tuple[str, ...] = ()
    slices = True
    driver, switch = model.DRANET, _ENABLED
    driver_set, claims_set = "driver", "claims"
    asked_by = _TEMPLATES
    publish_timeout = "rdma_claims_wait_timeout"
    kept = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
    driver_pods = (deployment.NAMESPACE, drivers_objects.SELECTOR)
    beside = MappingProxyType({deployment.GPU_DEPLOY: model.GPU_DRIVER})
    daemon = StrategyDaemon(
        names.DAEMON,
        daemon_options.options,
        daemon_options.removal,
        daemon_options.program,
        daemon_options.wanted,
        by_leaf=True,
    )

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        found, of_claims = self.driver_plan(hosts, cluster, known), claims(hosts, cluster, known)
        found.unknown = list(dict.fromkeys(found.unknown + of_claims.unknown))
        found.warnings = found.warnings + of_claims.warnings
        found.problems = bonded(hosts) or found.problems + of_claims.problems
        if found.problems:
            found.sets = []
            return found
        found.sets.append(object_set(self.claims_set, of_fleet(hosts, known), of_claims.objects))
        found.requests, found.status = _requests(served(NAME, hosts), of_claims), _status(hosts)
        return found

    def driver_plan(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> StrategyPlan:
        plan = driver(hosts, cluster, known)
        problems = bonded(hosts) or plan.problems
        return StrategyPlan(
            sets=[] if problems else [object_set(self.driver_set, of_fleet(hosts, known), plan.objects)],
            wait=plan.wait,
            nodes=plan.nodes,
            labels=plan.labels,
            joining=plan.joining,
            leaving=plan.leaving,
            unknown=plan.unknown,
            warnings=plan.warnings + untested(hosts) + nvsentinel.warnings(served(NAME, hosts), cluster),
            problems=problems,
            unprepared=plan.unprepared,
        )

    def cluster_queries(self, hosts: Sequence[InventoryHost]) -> Sequence[Tuple[str, str]]:
        gpus = any(host.variables.get(deployment.GPU_DEPLOY) for host in hosts)
        return [others.LOOK] * bool(self.own(hosts)) + [gpu_owners.LOOK] * gpus

    def lacking(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> Iterator[Tuple[str, Problem]]:
        yield from others.against(self.own(hosts), cluster, known)
        yield from gpu_owners.by_gpu_cluster(hosts, cluster, known)

    def expected(self, hosts: Sequence[InventoryHost]) -> Dict[str, Dict[str, Any]]:
        return expected_devices.expected(served(NAME, hosts))

    def claims(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options, tolerant: bool
    ) -> Optional[ClaimsStage]:
        plan = claims(hosts, cluster, known, tolerant)
        problems = bonded(hosts) or plan.problems
        return ClaimsStage(
            objects=object_set(self.claims_set, of_fleet(hosts, known), plan.objects),
            text=plan.text,
            warnings=[*plan.warnings, *unmapped(plan.objects, cluster.kueue_classes)],
            problems=problems,
            unmet=plan.unmet,
            unknown=plan.unknown,
            requests={} if problems else _requests(served(NAME, hosts), plan),
            status={} if problems else _status(hosts),
        )

    def doubt(self, word: str, found: Answers) -> str:
        return super().doubt(word, found) or (UNMOVABLE if found.bonds else "")

    def charts(self, values: Mapping[str, Any]) -> Sequence[str]:
        return self.roles[:1] if any(values.get(variable) for variable in self.beside) else ()

    def device_plugin_gpus(
        self,
        allocatable: Mapping[str, Sequence[str]],
        labels: Mapping[str, Mapping[str, str]],
        hosts: Collection[str],
        values: Mapping[str, Any],
        more: Names,
    ) -> Dict[str, List[str]]:
        if not self.charts(values):
            return {}
        return gpu_owners.by_device_plugin(allocatable, labels, hosts, values[_GPU_VALUES] or {}, more)

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        if not values[_ENABLED]:
            return []
        return [StrategyImage(image_reference.tagged(deployment.IMAGES, values), str(values[deployment.ARCHIVE]))]

    def asked(self, values: Mapping[str, Any]) -> bool:
        return any(values.get(name) for name in (_TEMPLATES, _CLAIMS, intent.RESOURCES))

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        return []

    def driver_labels(self, hosts: Sequence[InventoryHost], known: variables.Options) -> Dict[str, str]:
        return driver(hosts, ClusterState(), known).groups

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return (*deployment.one_value(hosts), *claims_hosts.FLEET_WIDE)
