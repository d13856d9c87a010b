# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether nodes show what their strategy says: pods of DaemonSets, extended resources, and none of another group.

Where the SR-IOV operator hands out VFs, its SriovNetworkNodeState says whether it is done with a node (``api/v1`` and
``pkg/daemon`` of k8snetworkplumbingwg/sriov-network-operator v1.6.0).

GPUs may have two owners, a DRA driver that publishes them and a device plugin. Neither knows what the other has
allocated. The role rdma_driver refuses to deploy NVIDIA's driver beside a device plugin, but a site may run the driver
itself, or deploy the device plugin later.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Iterable, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import AMD, NVIDIA, Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import NodeStatus, StrategyPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import gpu_owners
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    AMD_DRIVER,
    GPU_DRIVER,
    SliceDevice,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import quantity
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import NO_NODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_VENDORS = {GPU_DRIVER: NVIDIA, AMD_DRIVER: AMD}


def gpu_owner_checks(
    groups: Mapping[str, str],
    nodes: Mapping[str, Mapping[str, Any]],
    devices: Iterable[SliceDevice],
    more: Names,
    gpu_clusters: Sequence[str] = (),
) -> Iterator[Check]:
    """Who hands out the GPUs of each host: one for each driver that publishes some, or one for a device plugin alone.

    ``groups`` has the group of each host, ``nodes`` are live ones. ``gpu_clusters`` are the names of the GPUClusters: a
    driver that is still to publish is an owner as well.
    """
    published = Counter((device.node, device.driver) for device in devices)
    for host, group in groups.items():
        if host not in nodes:
            continue
        by_driver = {driver: gpu_owners.offered(nodes[host], vendor, more) for driver, vendor in _VENDORS.items()}
        # Names that only the site knows may be those of other GPUs.
        coming = bool(gpu_clusters) and not set(by_driver[GPU_DRIVER]) <= set(by_driver[AMD_DRIVER])
        if not coming and not any(published[host, driver] for driver in by_driver):
            yield from _by_plugin_alone(host, group, sorted({name for names in by_driver.values() for name in names}))
        for driver, resources in by_driver.items():
            number = published[host, driver]
            publishes = f"{driver} publishes {counted(number, 'device')}"
            if not number:
                if driver != GPU_DRIVER or not coming:
                    continue
                publishes = f"GPUCluster {', '.join(gpu_clusters)} deploys {driver}, which publishes nothing here yet"
            remedy, verdict = "", "pass"
            text = f"no device plugin allocates the GPUs that {driver} publishes"
            if resources:
                verdict = "fail"
                text = (
                    f"{publishes}, and a device plugin offers {', '.join(resources)}: a GPU can be given to two pods at"
                    " once"
                )
                remedy = "Keep either the device plugin or the DRA driver of the GPUs off this node."
            evidence = {"devices": number, "resources": resources}
            yield Check("cluster", "cluster.gpus", host, group, driver, verdict, text, evidence, remedy)


def _by_plugin_alone(host: str, group: str, resources: Sequence[str]) -> Iterator[Check]:
    if resources:
        names = ", ".join(resources)
        text = f"a device plugin allocates the GPUs as {names}, and no DRA driver publishes them"
        evidence = {"devices": 0, "resources": list(resources)}
        yield Check("cluster", "cluster.gpus", host, group, names, "pass", text, evidence, "")


Plain = Mapping[str, Any]

_PLUGIN, _RESOURCES, _STATE = "cluster.plugin", "cluster.resources", "cluster.state"
_COUNTS = {"desired": "desiredNumberScheduled", "updated": "updatedNumberScheduled", "ready": "numberReady"}


def no_node(check: str, host: str, group: Optional[str]) -> Check:
    """The check of this name on a host whose node the cluster does not have."""
    remedy = "Use the same names for hosts and nodes."
    return Check("cluster", check, host, group, "", "fail", NO_NODE, {}, remedy)


def _daemon_sets(status: Mapping[str, NodeStatus], there: Mapping[str, Plain]) -> Iterator[Check]:
    for name in dict.fromkeys(name for shown in status.values() for name in (*shown.daemon_sets, *shown.foreign)):
        nodes = sum(name in shown.daemon_sets or name in shown.foreign for shown in status.values())
        foreign = any(name in shown.foreign for shown in status.values())
        yield _daemon_set(name, nodes, there.get(name), foreign)


def _operated(status: Mapping[str, NodeStatus], there: Mapping[str, Plain]) -> Iterator[Check]:
    """The DaemonSets that an operator makes of its policies, by their owners."""
    owners = {kind for shown in status.values() for kind in shown.owners}
    if not owners:
        return
    found = [name for name, item in there.items() if not owners.isdisjoint(_owners(item))]
    for name in found:
        # Which nodes it is for is the operator's affair.
        yield _daemon_set(name, 0, there[name], True)
    if not found:
        text = f"no DaemonSet belongs to a {' or '.join(sorted(owners))}"
        remedy = "Check the pod of the operator, and the status of its policies."
        yield Check("cluster", _PLUGIN, None, None, "operator", "fail", text, {"owners": sorted(owners)}, remedy, "")


def _owners(item: Plain) -> List[str]:
    return [str(owner.get("kind")) for owner in (item.get("metadata") or {}).get("ownerReferences") or ()]


def _daemon_set(name: str, nodes: int, found: Optional[Plain], foreign: bool) -> Check:
    status = (found or {}).get("status") or {}
    # Left out by the API server where they are 0.
    counts = {key: int(status.get(field) or 0) for key, field in _COUNTS.items()}
    desired, updated, ready = counts.values()
    seen, generation = status.get("observedGeneration"), ((found or {}).get("metadata") or {}).get("generation")
    remedy, mend, verdict = "", "", "fail"
    if found is None:
        text, mend = f"there is no DaemonSet {name}", "" if foreign else "provision"
    elif seen != generation:
        text = f"DaemonSet {name} was changed, and its controller has not seen the change yet"
        remedy = "Check kube-controller-manager."
    elif foreign and desired < nodes:
        need = "needs" if nodes == 1 else "need"
        text = f"DaemonSet {name} selects {counted(desired, 'node')}, but {nodes} of the inventory {need} it"
        remedy = "Give the nodes the labels that the operator asks for."
    elif desired != nodes and not foreign:
        text = f"DaemonSet {name} selects {counted(desired, 'node')}, but the inventory has {nodes}"
        remedy, mend = "Label the nodes as planned.", "provision"
    elif updated != desired:
        text, verdict = (
            f"DaemonSet {name} has {updated} of {counted(desired, 'pod')} with its current configuration",
            "warn",
        )
        remedy = "Wait for the rollout, or find the pod that does not become ready."
    elif ready != desired:
        text = f"DaemonSet {name} has {ready} of {counted(desired, 'pod')} ready"
        remedy = "See the events and logs of the other pods."
    else:
        text, verdict = f"DaemonSet {name} has {ready} of {counted(desired, 'pod')} ready", "pass"
    evidence = {"nodes": nodes, **counts}
    return Check("cluster", _PLUGIN, None, None, name, verdict, text, evidence, remedy, mend)


def _number(node: Plain, kind: str, resource: str) -> int:
    text = str(((node.get("status") or {}).get(kind) or {}).get(resource, "0"))
    return int(quantity.quantity(text) or 0)


def _of_node(
    host: str, group: str, shown: NodeStatus, leftovers: Sequence[str], counters: Collection[str], node: Plain
) -> Iterator[Check]:
    def check(resource: str, verdict: str, text: str, remedy: str = "", mend: str = "") -> Check:
        evidence = {kind: _number(node, kind, resource) for kind in ("capacity", "allocatable")}
        return Check("cluster", _RESOURCES, host, group, resource, verdict, text, evidence, remedy, mend)

    for resource, wanted in shown.resources.items():
        found = {kind: _number(node, kind, resource) for kind in ("capacity", "allocatable")}
        if set(found.values()) == {wanted}:
            yield check(resource, "pass", f"the node has {wanted} {resource}")
        else:
            said = ", ".join(f"{kind} {number}" for kind, number in found.items())
            text = f"the node should have {wanted} {resource}, but has {said}"
            remedy = "Check the log of the plugin's pod for the devices it found, and /dev/infiniband of the node."
            ours = resource in counters
            yield check(resource, "fail", text, "" if ours else remedy, "provision" if ours else "")
    for resource in leftovers:
        if _number(node, "allocatable", resource):
            text = f"pods that request {resource} are scheduled here, but it is not a resource of this group"
            yield check(resource, "fail", text, "Find the plugin that offers it on this node, and remove it.")
        elif _number(node, "capacity", resource):
            text = f"{resource} is still in the capacity of the node, but no device plugin offers it here any more"
            yield check(resource, "warn", text, mend="provision")


def _state(host: str, group: str, namespace: str, found: Optional[Plain]) -> Check:
    """Whether the SR-IOV operator is done with a node."""
    status = (found or {}).get("status") or {}
    said, error = status.get("syncStatus") or "nothing", status.get("lastSyncError") or ""
    remedy, verdict = f"See the log of sriov-network-config-daemon of the node in namespace {namespace}.", "fail"
    if found is None:
        text = f"there is no SriovNetworkNodeState {namespace}/{host}"
        remedy = "Label the node for the daemon of the SR-IOV operator, which is for node-role.kubernetes.io/worker."
    elif said == "Succeeded":
        text, verdict, remedy = "the SR-IOV operator has configured the node", "pass", ""
    elif said == "InProgress":
        text, verdict, remedy = "the SR-IOV operator is still configuring the node", "warn", "Wait until it is done."
    else:
        text = f"the SR-IOV operator reports {said} for the node" + (f": {error}" if error else "")
    evidence = {"sync_status": status.get("syncStatus"), "error": error}
    return Check("cluster", _STATE, host, group, namespace, verdict, text, evidence, remedy)


def checks(
    groups: Mapping[str, str],
    plan: StrategyPlan,
    nodes: Mapping[str, Plain],
    daemon_sets: Mapping[str, Plain],
    states: Mapping[str, Plain],
) -> List[Check]:
    """By host its group, and the plan of all strategies; live nodes by name, and DaemonSets by namespace/name.

    ``states`` are the SriovNetworkNodeStates by namespace/name.
    """
    found = [*_daemon_sets(plan.status, daemon_sets), *_operated(plan.status, daemon_sets)]
    for host, group in groups.items():
        shown = plan.status.get(host, NodeStatus())
        if host in nodes:
            found += _of_node(
                host, group, shown, plan.leftovers.get(host, ()), plan.counters.get(host, ()), nodes[host]
            )
            if shown.owners:
                found += ofed.checks(host, group, nodes[host], daemon_sets)
            if shown.synced:
                found.append(_state(host, group, shown.synced, states.get(f"{shown.synced}/{host}")))
        elif shown.resources:
            found.append(no_node(_RESOURCES, host, group))
    return found
