# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the strategies of a fleet answer, from ``hostvars`` as the plan reads them, and from what a cluster has."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import RunPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import in_use, registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _fleet, _inventory, _plan_files, _strategy_inventory

Context = Mapping[str, Any]
Hostvars = Mapping[str, Mapping[str, Any]]


def strategy_plan(
    context: Context, hosts: Sequence[str], hostvars: Hostvars, name: str | None = None, **cluster: Any
) -> dict[str, Any]:
    """The answers of one strategy, or of all in one; ``cluster`` as ``_strategy_inventory.cluster`` takes it."""
    found = _strategy_inventory.hosts(context, hosts, hostvars)
    plan = partial(registry.plan_of, name) if name else registry.plan
    return asdict(_strategy_inventory.planned(context, found, plan, _strategy_inventory.cluster(**cluster)))


def written(plan: Mapping[str, Any]) -> str:
    """The directory of a plan in which strategies answer this."""
    return _plan_files.write(RunPlan(cluster={name: plan[name] for name in ("sets", "requests")}))


def strategies(
    context: Context,
    hosts: Sequence[str],
    hostvars: Hostvars,
    nodes: Mapping[str, Mapping[str, str]] | None = None,
    held: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    daemon_sets: Sequence[Mapping[str, Any]] = (),
    kinds: Any = None,
    objects: Any = None,
) -> dict[str, Any]:
    """What variables say of the strategies of a fleet, and what is in the way of them in a cluster."""
    fleet = _fleet.fleet({**context, "hostvars": hostvars}, hosts)
    state = _strategy_inventory.cluster(kinds=kinds, objects=objects, nodes=nodes, daemon_sets=daemon_sets)
    selectors = [item["spec"]["template"]["spec"].get("nodeSelector") or {} for item in daemon_sets]
    use = in_use.ClusterUse(nodes or {}, held or {}, selectors)
    return {
        **_fleet.strategies(fleet),
        "slices": fleet.resource_api,
        "driver_sets": registry.driver_sets(fleet.hosts, fleet.known),
        "ofed": [host for host in hosts if ofed.has(use.labels.get(host), registry.of_ofed().label)],
        "leaving": in_use.leaving(fleet.hosts, use, fleet.known),
        "offered": in_use.offered(fleet.hosts, use, fleet.known),
        "needed": in_use.needed(fleet.hosts, use, fleet.known),
        "problems": [
            *registry.lacking(fleet.hosts, state, fleet.known),
            *in_use.still_served(fleet.hosts, use.labels),
            *in_use.losing(fleet.hosts, use, fleet.known),
        ],
    }


def expected_devices(context: Context, hosts: Sequence[str], hostvars: Hostvars) -> dict[str, dict[str, Any]]:
    """What DRA drivers have to publish for these hosts."""
    return registry.expected(_strategy_inventory.hosts(context, hosts, hostvars))


def strategy(context: Context, hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """What the strategy of a host needs of its node."""
    known = _inventory.options(context)
    (host,) = _strategy_inventory.hosts(context, ["host"], {"host": hostvars})
    values = {**variables.defaults(known), **variables.converted(host.variables, known)[0]}
    found = registry.of_host(values)
    return {
        "name": found.name if found else variables.strategy_of(values),
        "netns_mode": registry.netns_mode(values) or "",
        "images": [asdict(image) for image in found.images(values)] if found else [],
    }
