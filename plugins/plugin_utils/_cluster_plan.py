# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The cluster's part of the plan, as an action makes it: from the inventory, facts and one look at the cluster."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Dict, List, Mapping, Sequence

import yaml
from ansible import constants
from ansible.errors import AnsibleError

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import cluster_plan, steps
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import ClusterPlan, Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight import networks as prepare_networks
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.preflight.hosts import PrepareHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.unserved import Provisioned, reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import in_use, registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _manifest_files, _strategy_inventory

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
    def check(self) -> bool:
        return bool(self.context.get("ansible_check_mode"))

    @cached_property
    def expected(self) -> Dict[str, Dict[str, Any]]:
        """By host what DRA drivers have to publish."""
        return registry.expected(self.hosts)


def fleet(context: Mapping[str, Any]) -> Fleet:
    """The fleet of the play. Raises AnsibleError."""
    hostvars = context["hostvars"]
    hosts = _strategy_inventory.hosts(context, context["ansible_play_hosts_all"], hostvars)
    known = _inventory.options(context)
    first = hosts[0].variables if hosts else {}
    values = {**plan_variables.defaults(known), **plan_variables.converted(first, known)[0]}
    return Fleet(context, hosts, known, values)


def question(fleet: Fleet, with_slices: bool, wait: bool, unready: Sequence[str]) -> Dict[str, Any]:
    """The options of ``cluster_info`` for one look at the cluster that is enough for the plan."""
    dra = any(strategy.slices for strategy in registry.used(fleet.hosts))
    published = {
        "expected": {host: {**each, "wait": []} if host in unready else each for host, each in fleet.expected.items()},
        "wait": wait,
        "wait_timeout": registry.publish_timeout(fleet.values),
    }
    return {
        "dra": dra,
        "kinds": registry.kinds(),
        "objects": registry.looks(fleet.hosts),
        "sets": registry.sets(fleet.hosts, fleet.known),
        **({"published": published} if dra and with_slices else {}),
    }


def state(fleet: Fleet, answer: Mapping[str, Any], with_classes: bool) -> ClusterState:
    """What the plan takes of an answer to :func:`question`; ``with_classes``: no further DeviceClasses will come."""
    published = answer.get("published") or {}
    found = _strategy_inventory.cluster(
        published.get("slices"),
        published.get("kubernetes"),
        published.get("device_classes") if with_classes else None,
        answer["kinds"],
        answer["objects"],
        answer["nodes"],
        answer["daemon_sets"],
    )
    return ClusterState(
        **{
            **{name: getattr(found, name) for name in ClusterState.__dataclass_fields__},
            "kueue_classes": published.get("kueue_classes"),
            "held": answer["held"],
            "parents": [(each["namespace"], each["name"]) for each in answer["parents"]],
            "extended_resources": answer["extended_resources"],
            "counted": answer["counted"],
        }
    )


def late(fleet: Fleet, answer: Mapping[str, Any]) -> bool:
    """Whether drivers are still to publish what claims are planned for."""
    published = answer.get("published") or {}
    if "slices" not in published:
        return False
    serving = model.serving(model.devices(published["slices"]))
    awaited = {
        (driver, name)
        for name, each in fleet.expected.items()
        for driver in each["wait"]
        if published["nodes"].get(name, {}).get("exists")
    }
    return not awaited <= serving


def _of_host(fleet: Fleet, host: InventoryHost) -> Dict[str, Any]:
    """Its variables in their types, with those that say what its node is."""
    of_node = _inventory.of_host(fleet.context["hostvars"][host.name], {}, _OF_NODE.__contains__)[0]
    own = plan_variables.converted({**host.variables, **of_node}, fleet.known)[0]
    return {**plan_variables.defaults(fleet.known), **own}


def with_cni(fleet: Fleet) -> List[str]:
    """Hosts that need the CNI plugin ``host-device``; recorded nodes run no pods."""
    found = []
    for host in fleet.hosts:
        values = _of_host(fleet, host)
        strategy = registry.of_host(values)
        if strategy and strategy.needs_cni(values) and values[_ROOT] == "/":
            found.append(host.name)
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


def network_problems(fleet: Fleet, networks: Mapping[str, Sequence[str]]) -> List[str]:
    """Links and pods that would get addresses of the cluster's networks."""
    planned = [PrepareHost(host.name, variables=host.variables) for host in fleet.hosts]
    return prepare_networks.of_cluster(planned, networks, fleet.known)


def obstacles(fleet: Fleet, found: ClusterState, networks: Mapping[str, Sequence[str]]) -> List[str]:
    """Why the cluster cannot get what the inventory wants, as far as this is known without facts."""
    return [*network_problems(fleet, networks), *cluster_plan.obstacles(fleet.hosts, found, fleet.known)]


def leaving(fleet: Fleet, found: ClusterState) -> Dict[str, List[str]]:
    """By node the extended resources that it would lose, and that no pod may hold."""
    return in_use.leaving(fleet.hosts, cluster_plan.use_of(found), fleet.known)


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


def unserved(fleet_hosts: Sequence[str], plan: Mapping[str, Any], result: Mapping[str, Any]) -> Dict[str, List[str]]:
    """By host why its pods do not get RDMA, of those that are not served. ``result`` is that of the steps."""
    with_claims = not result.get("late")
    nodes = plan["nodes"] if with_claims else {}
    unready = {host: list(lines) for host, lines in (result.get("unready") or {}).items()}
    for host, node in nodes.items():
        if node.get("without_gpus"):
            unready.setdefault(host, []).append(f"no pod can claim its GPUs: {node['without_gpus']}")
    left = Provisioned(
        missing=result.get("missing") or (),
        nodes=nodes,
        unready=unready,
        broken=result.get("broken") or {},
        unmet=plan["unmet"] if with_claims else {},
    )
    found = {host: reasons(host, [left]) for host in fleet_hosts}
    return {host: lines for host, lines in found.items() if lines}


def document(fleet: Fleet, plan: ClusterPlan, answer: Mapping[str, Any], is_late: bool) -> Dict[str, Any]:
    """What is written for the steps that follow."""
    published = answer.get("published") or {}
    return {
        "cluster": fleet.with_cluster,
        "hosts": [host.name for host in fleet.hosts],
        "steps": [step for step in steps.written(plan.steps) if not (is_late and step["part"] == steps.CLAIMS)],
        "late": is_late,
        "manifests": [{"name": each.name, "content": content(each)} for each in plan.manifests],
        "directory": str(fleet.context.get("rdma_manifests") or "manifests"),
        "nodes": published.get("nodes") or {},
        "unmet": plan.unmet,
    }


def content(manifest: Manifest) -> str:
    """A file of manifests, empty without objects."""
    if not manifest.objects:
        return ""
    return manifest.comment + _manifest_files.content(manifest.objects)


def write(content: Mapping[str, Any]) -> str:
    """Write the plan to a file of this run, which nobody else reads, and return its path."""
    handle, path = tempfile.mkstemp(prefix="rdma-plan-", suffix=".json", dir=constants.DEFAULT_LOCAL_TMP)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(plain(content), file)
    return path


def read(path: str) -> Dict[str, Any]:
    """The plan that :func:`write` wrote. Raises AnsibleError."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise AnsibleError(f"plan is {path!r}, which is not a plan of this run: {error}") from error
    return found


def state_of_manifests(fleet: Fleet) -> ClusterState:
    """What the manifests of an earlier run say of the cluster: which NICs a driver leaves out."""
    found: List[Dict[str, Any]] = []
    directory = os.path.realpath(os.path.expanduser(str(fleet.context.get("rdma_manifests") or "manifests")))
    for strategy in registry.STRATEGIES.values():
        path = os.path.join(directory, strategy.manifests.objects)
        if strategy.driver and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found += [item for item in yaml.safe_load_all(file) if item and item.get("kind") == "DaemonSet"]
    return ClusterState(daemon_sets=found)
