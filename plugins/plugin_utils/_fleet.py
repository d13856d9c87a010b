# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of a play as the cluster's part of the plan takes them, and what their nodes need before it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cabling_file,
    _inventory,
    _strategy_inventory,
    _waves,
)

# What the tasks of this run have left on hosts.
_DRIFT, _KERNEL = "rdma_drift_result", "rdma_kernel_result"
# Which node a host is, recorded or real, and its runtime.
_OF_NODE = _ROOT, _FLAVOUR = "rdma_discover_root", "rdma_runtime_flavour"
# Changes of files alone concern no driver that runs.
_FILES = ("file", "initramfs")


@dataclass
class Fleet:
    """The hosts of a play with their variables and facts, and what is true for all of them."""

    context: Mapping[str, Any]
    hosts: List[InventoryHost]
    known: plan_variables.Options
    values: Dict[str, Any] = field(default_factory=dict)

    @property
    def with_cluster(self) -> bool:
        """Whether there is a cluster, and not only manifests of its objects."""
        return str(self.context.get("rdma_cluster") or "kubernetes") != "none"

    @property
    def resource_api(self) -> bool:
        """Whether a strategy needs what DRA drivers publish."""
        return any(strategy.slices for strategy in registry.used(self.hosts))

    @property
    def check(self) -> bool:
        return bool(self.context.get("ansible_check_mode"))

    @cached_property
    def failed(self) -> List[str]:
        """Hosts of the play that have failed in this run."""
        every = self.context["ansible_play_hosts_all"]
        left = set(self.context.get("ansible_play_hosts", every))
        return [str(name) for name in every if name not in left]

    @cached_property
    def limits(self) -> Dict[str, int]:
        """How many hosts of each group may be changed at a time."""
        return _waves.limits({host.name: host.group for host in self.hosts}, self.context["hostvars"])

    @cached_property
    def expected(self) -> Dict[str, Dict[str, Any]]:
        """By host what DRA drivers have to publish."""
        return registry.expected(self.hosts)


def fleet(context: Mapping[str, Any], names: Sequence[str] = ()) -> Fleet:
    """The fleet of the play, or of these hosts. Raises AnsibleError."""
    hosts = _strategy_inventory.hosts(context, names or context["ansible_play_hosts_all"], context["hostvars"])
    known = _inventory.options(context)
    values = _strategy_inventory.of_fleet(hosts, known)
    # What prepare tells of a file that cannot be used.
    with contextlib.suppress(OSError, ValueError):
        groups = _cabling_file.groups(values, context)
        hosts = [replace(host, leaf=_cabling_file.of_host(groups, host.name)) for host in hosts]
    return Fleet(context, hosts, known, values)


def strategies(fleet: Fleet) -> Dict[str, Any]:
    """What variables alone say of the strategies of this fleet, and what it takes to ask a cluster about them."""
    hosts, every = fleet.hosts, registry.STRATEGIES.values()
    return {
        "groups": {host.group: plan_variables.strategy_of(host.variables) for host in hosts},
        "requesting": registry.asked(hosts),
        "requested_by": registry.asked_by(),
        "resources": registry.resources(hosts, fleet.known),
        "labels": [strategy.label for strategy in every if strategy.label],
        "drivers": [strategy.driver for strategy in every if strategy.driver],
        "driver_pods": registry.driver_pods(hosts, fleet.known),
        "objects": registry.cluster_queries(hosts),
    }


def of_task(fleet: Fleet, *names: str) -> Dict[str, Any]:
    """These variables as the task has them, in their types."""
    own = {name: fleet.context[name] for name in names if name in fleet.context}
    defaults = {name: fleet.known[name].get("default") for name in names}
    return {**defaults, **plan_variables.converted(own, fleet.known)[0]}


def names(fleet: Fleet, more: Sequence[str] = ()) -> Dict[str, List[str]]:
    """By what the cluster tells NICs, GPUs and our DaemonSets, as ``node_move_info`` takes it; ``more`` are NICs."""
    found = strategies(fleet)
    return {
        "ours": found["labels"],
        "drivers": found["drivers"],
        "resources": [*more, *(name for own in found["resources"].values() for name in own)],
        "gpu_resources": list(of_task(fleet, "rdma_gpu_resources")["rdma_gpu_resources"] or ()),
    }


def _of_host(fleet: Fleet, host: InventoryHost) -> Dict[str, Any]:
    """Its variables in their types, with those that say what its node is."""
    of_node = _inventory.of_host(fleet.context["hostvars"][host.name], {}, _OF_NODE.__contains__)[0]
    own = plan_variables.converted({**host.variables, **of_node}, fleet.known)[0]
    return {**plan_variables.defaults(fleet.known), **own}


def node_checks(fleet: Fleet) -> Dict[str, str]:
    """By host the role whose check its node has to pass; recorded nodes run no pods."""
    found = {}
    for host in fleet.hosts:
        values = _of_host(fleet, host)
        strategy = registry.of_host(values)
        role = strategy.node_check(values) if strategy and values[_ROOT] == "/" else ""
        if role:
            found[host.name] = role
    return found


def with_images(fleet: Fleet) -> List[str]:
    """Hosts on which images are imported: where one is missing, if this run has compared them."""
    found = []
    for host in fleet.hosts:
        variables = fleet.context["hostvars"][host.name]
        compared = ((_inventory.raw(variables, _DRIFT) or {}).get("concerns") or {}).get("images")
        if compared and not compared.get("changed") and compared.get("error") is None:
            continue
        values = _of_host(fleet, host)
        strategy = registry.of_host(values)
        imported = [image for image in strategy.images(values) if image.archive] if strategy else []
        if imported and values[_FLAVOUR] != "none" and values[_ROOT] == "/":
            found.append(host.name)
    return found


def has_changed(fleet: Fleet) -> bool:
    """Whether this run may have changed a node since it planned them all."""
    if fleet.check:
        return False
    compared = (_inventory.raw(fleet.context["hostvars"][host.name], _DRIFT) or {} for host in fleet.hosts)
    return any(concern.get("changed") for each in compared for concern in (each.get("concerns") or {}).values())


def restarted(hostvars: Mapping[str, Mapping[str, Any]], hosts: Sequence[InventoryHost]) -> List[str]:
    """Hosts whose running kernel was changed in this run: modules, or the RDMA netns mode."""
    return [host.name for host in hosts if _changed(hostvars[host.name])]


def _changed(variables: Mapping[str, Any]) -> bool:
    # A result of an earlier run in the same process says nothing of a node that did not differ in this one.
    drift = _inventory.raw(variables, _DRIFT)
    if drift is not None and not drift.get("differs"):
        return False
    changes = (_inventory.raw(variables, _KERNEL) or {}).get("changes") or []
    return any(change["kind"] not in _FILES for change in changes)
