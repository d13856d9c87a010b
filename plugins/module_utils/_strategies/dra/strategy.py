# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``dra``: DRANET hands out NICs, and pods claim them with their GPUs (DeviceClasses, claim templates)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images as image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClaimsStage,
    ClusterState,
    ManifestNames,
    NodeStatus,
    ObjectSet,
    PodRequest,
    Strategy,
    StrategyImage,
    StrategyPlan,
    of_fleet,
    served,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra import expected_devices
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts as claims_hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import intent, planner
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.objects import unmapped
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects as drivers_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

NAME = "dra"
_ENABLED = "rdma_driver_enabled"
_TEMPLATES, _CLAIMS = "rdma_claims_templates", "rdma_claims_claims"


def driver(hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> deployment.DriverPlan:
    """DRANET for the hosts of this strategy; the others lose its label."""
    own = {host.name for host in served(NAME, hosts)}
    every = [
        host if host.name in own else replace(host, variables={**host.variables, _ENABLED: False}) for host in hosts
    ]
    return deployment.plan(every, known, drivers_objects.read(cluster.daemon_sets, cluster.labels or None))


def claims(
    hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options, tolerant: bool = False
) -> ClaimPlan:
    """What pods can claim on the hosts of this strategy, as :func:`planner.plan` says. Raises the same."""
    own = served(NAME, hosts)
    return planner.plan(own, cluster.slices, cluster.kubernetes, cluster.device_classes, known, tolerant)


def _asks(hosts: Sequence[InventoryHost], plan: ClaimPlan) -> Dict[str, List[PodRequest]]:
    """What each group can claim: its templates, one alias after another, the single claims of its hosts, and what pods
    that are not changed can request.
    """
    found: Dict[str, Dict[Tuple[str, str, int], Dict[str, Sequence[str]]]] = {}
    single: Dict[str, List[PodRequest]] = {}
    for host in hosts:
        for entry in host.variables.get(_TEMPLATES) or []:
            name = str(entry["name"])
            for alias in plan.names.get(name, ()):
                key = (name, alias, int(entry.get("gpus") or 0))
                found.setdefault(host.group, {}).setdefault(key, {})[host.name] = ()
        for entry in host.variables.get(_CLAIMS) or []:
            if (entry.get("host") or host.name) == host.name:
                name = str(entry["name"])
                request = PodRequest(name, {host.name: ()}, claim=name, entry=name, moves=True)
                single.setdefault(host.group, []).append(request)
    return {
        group: [
            PodRequest(alias, having, template=alias, entry=entry, moves=True, gpus=gpus)
            for (entry, alias, gpus), having in found.get(group, {}).items()
        ]
        + single.get(group, [])
        + [
            PodRequest(name, having, limits={name: 1}, number=1, moves=True)
            for name, having in plan.resources.get(group, {}).items()
        ]
        for group in dict.fromkeys([*found, *single, *plan.resources])
    }


def _shows(hosts: Sequence[InventoryHost]) -> Dict[str, NodeStatus]:
    every = expected_devices.expected(served(NAME, hosts))
    return {host: NodeStatus(tuple(node["drivers"])) for host, node in every.items()}


def _set(
    part: str, objects: List[Dict[str, Any]], hosts: Sequence[InventoryHost], known: variables.Options
) -> ObjectSet:
    values = of_fleet(hosts, known)
    return ObjectSet(str(values[f"rdma_{part}_set"]), str(values[f"rdma_{part}_parent_namespace"]), objects)


class Dra(Strategy):
    name = NAME
    manifests = ManifestNames("10-driver.yml", "node-labels.yml", "20-claims.yml")
    roles = ("rdma_driver", "rdma_claims")
    label = GROUP_LABEL
    # DRANET works in both; in mode shared a pod sees the HCAs of others in sysfs.
    netns_modes: Tuple[str, ...] = ()
    slices = True
    driver, switch = model.DRANET, _ENABLED
    driver_set = ("rdma_driver_set", deployment.PARENT_NAMESPACE)
    claims_set = ("rdma_claims_set", "rdma_claims_parent_namespace")
    publish_timeout = "rdma_claims_wait_timeout"
    kept = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
    driver_pods = (deployment.NAMESPACE, drivers_objects.SELECTOR)
    beside = MappingProxyType({deployment.GPU_DEPLOY: model.GPU_DRIVER})

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        of_driver, of_claims = driver(hosts, cluster, known), claims(hosts, cluster, known)
        found = self._driver_plan(of_driver, hosts, known)
        found.unknown = list(dict.fromkeys(of_driver.unknown + of_claims.unknown))
        found.warnings = of_driver.warnings + of_claims.warnings
        found.problems = of_driver.problems + of_claims.problems
        if found.problems:
            found.sets = []
            return found
        found.sets.append(_set("claims", of_claims.objects, hosts, known))
        found.asks, found.shows = _asks(served(NAME, hosts), of_claims), _shows(hosts)
        return found

    @staticmethod
    def _driver_plan(
        plan: deployment.DriverPlan, hosts: Sequence[InventoryHost], known: variables.Options
    ) -> StrategyPlan:
        return StrategyPlan(
            sets=[] if plan.problems else [_set("driver", plan.objects, hosts, known)],
            wait=plan.wait,
            nodes=plan.nodes,
            labels=plan.labels,
            joining=plan.joining,
            leaving=plan.leaving,
            unknown=plan.unknown,
            warnings=plan.warnings,
            problems=plan.problems,
            unprepared=plan.unprepared,
        )

    def driver_plan(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options
    ) -> StrategyPlan:
        return self._driver_plan(driver(hosts, cluster, known), hosts, known)

    def expected(self, hosts: Sequence[InventoryHost]) -> Dict[str, Dict[str, Any]]:
        return expected_devices.expected(served(NAME, hosts))

    def claims(
        self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options, tolerant: bool
    ) -> Optional[ClaimsStage]:
        plan = claims(hosts, cluster, known, tolerant)
        return ClaimsStage(
            objects=_set("claims", plan.objects, hosts, known),
            text=plan.text,
            warnings=[*plan.warnings, *unmapped(plan.objects, cluster.kueue_classes)],
            problems=plan.problems,
            unmet=plan.unmet,
            unknown=plan.unknown,
            asks={} if plan.problems else _asks(served(NAME, hosts), plan),
            shows={} if plan.problems else _shows(hosts),
        )

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        if not values[_ENABLED]:
            return []
        return [StrategyImage(image_reference.tagged(deployment.IMAGES, values), str(values[deployment.ARCHIVE]))]

    def asked(self, values: Mapping[str, Any]) -> bool:
        return any(values.get(name) for name in (_TEMPLATES, _CLAIMS, intent.RESOURCES))

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        return []

    def driven(self, hosts: Sequence[InventoryHost], known: variables.Options) -> Dict[str, str]:
        return driver(hosts, ClusterState(), known).groups

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return (*deployment.one_value(hosts), *claims_hosts.FLEET_WIDE)
