# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Findings in words. Codes and fields decide; their texts are made here and nowhere else."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, NamedTuple, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    CHANGE,
    LOOK,
    STOPS,
    Finding,
    ManifestOwner,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

_LONGEST = 100
_NAMED = 4


class Said(NamedTuple):
    """What is said of a code: its level, a title for counts, what is there, and why it matters and what to do."""

    level: str
    title: str
    text: Callable[..., str]
    advice: str


def shown(value: Any, longest: int = _LONGEST) -> str:
    """What somebody else wrote, on one line, cut where it is long, without characters that steer a terminal."""
    text = "".join(char if char.isprintable() else "?" for char in str(value))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def several(values: Iterable[Any], most: int = _NAMED) -> str:
    """Some of them, and how many more there are."""
    return joined([shown(value) for value in values], most)


def _nodes(names: Iterable[str]) -> str:
    return shown(fold(names))


def _ports(ports: Sequence[int]) -> str:
    return f"port{'' if len(ports) == 1 else 's'} {several(ports)}"


def _host_network(ports: Sequence[int]) -> str:
    return f"hostNetwork: true, {_ports(ports)} of the node" if ports else "hostNetwork: true"


def _plugin(daemon_set: str, name: str, image: str, nodes: int) -> str:
    return f"{shown(daemon_set)} is {name} on {counted(nodes, 'node')} ({shown(image)})"


def _by_hand(variable: str, value: str) -> str:
    return f"{variable}={shown(value)}"


def _health(what: str, known: str, sign: str) -> str:
    return f"{shown(what)}: {known}" + (f", has {shown(sign)}" if sign else "")


_WORKLOAD: Dict[str, Said] = {
    codes.HOST_NETWORK: Said(
        STOPS,
        "hostNetwork",
        _host_network,
        "DRANET refuses pods with hostNetwork. Two such pods on one node have one address and collide on their ports. "
        "Remove hostNetwork: with a claim, the pod has an address of its own and the NIC beside it.",
    ),
    codes.POOL_PORTS: Said(
        STOPS,
        "several ports of an InferencePool",
        lambda pool, ports: f"InferencePool {shown(pool)} has the target ports {several(ports)}",
        "The endpoint picker looks for each pod on each of these ports. Bring workload and pool back to one port "
        "together. Several ports are right only for pods that serve on all of them (data parallel ranks).",
    ),
    codes.VOLCANO_TEMPLATES: Said(
        STOPS,
        "scheduled by Volcano",
        lambda: "schedulerName is volcano",
        "Volcano fails on pods with ResourceClaimTemplates (volcano#5119). Use ResourceClaims, one for each pod, or "
        "the default scheduler.",
    ),
    codes.PORTS_REMAPPED: Said(
        CHANGE,
        "port differs from that of a similar workload",
        lambda ports, others: f"{_ports(ports)}, while {several(others)}",
        "Probably remapped, so that both fit on one node with hostNetwork. With addresses of their own, both can use "
        "the same port; change probes, Services and pools with it.",
    ),
    codes.DNS_POLICY: Said(
        CHANGE,
        "dnsPolicy",
        lambda policy: f"dnsPolicy: {shown(policy)}",
        "Only needed with hostNetwork: remove both.",
    ),
    codes.RESOURCE: Said(
        CHANGE,
        "resource of a device plugin",
        lambda resource, number: f"{shown(resource)}: {shown(number)}",
        "Remove limit and request, and request a claim instead. Both at once would give one NIC to two owners.",
    ),
    codes.INJECTED: Said(
        CHANGE,
        "devices by an annotation",
        lambda annotation, value: f"{shown(annotation)}: {shown(value)}",
        "An NRI plugin adds the device nodes to the container. Remove the annotation, and request a claim instead.",
    ),
    codes.NETWORKS: Said(
        CHANGE,
        "network of Multus",
        lambda networks: f"k8s.v1.cni.cncf.io/networks: {shown(networks)}",
        "Remove the network that moves the NIC into the pod: the claim does. Other networks stay.",
    ),
    codes.NODE_LABEL: Said(
        CHANGE,
        "label of a strategy's nodes",
        lambda label: f"selects nodes by {shown(label)}",
        "A node has this label only as long as it has the strategy, so the pods stay pending when all nodes have "
        "moved. Select nodes by a label of your own.",
    ),
    codes.PRIVILEGED: Said(
        CHANGE,
        "privileged",
        lambda: "privileged: true",
        "A privileged container has the device nodes of all HCAs, whatever it claims. Remove privileged and add the "
        "capability IPC_LOCK, unless the container needs to be privileged for something else.",
    ),
    codes.HOST_PATH: Said(
        CHANGE,
        "hostPath of device nodes",
        lambda path: f"hostPath {shown(path)}",
        "Remove volume and mount: a claim brings the device nodes of its NICs.",
    ),
    codes.NO_IPC_LOCK: Said(
        CHANGE,
        "without IPC_LOCK",
        lambda: "no capability IPC_LOCK",
        "Add IPC_LOCK to securityContext.capabilities: without it, NCCL and UCX crash or fail when they register "
        "memory.",
    ),
    codes.NIC_BY_HAND: Said(
        CHANGE,
        "NIC chosen by hand",
        _by_hand,
        "The scheduler chooses the NIC of a claim, so its name differs from pod to pod. Remove the setting, or derive "
        "it in the pod from what the pod got.",
    ),
    codes.GID_BY_HAND: Said(
        CHANGE,
        "GID index by hand",
        _by_hand,
        "The index depends on the addresses that the NIC has in the pod. Remove the setting: NCCL and UCX choose one.",
    ),
    codes.INTERFACE_BY_HAND: Said(
        CHANGE,
        "interface chosen by hand",
        _by_hand,
        "An interface of the host does not exist in the pod. Its pod network is eth0.",
    ),
    codes.HOST_ADDRESS: Said(
        CHANGE,
        "address of the node",
        lambda variable, field: f"{shown(variable)} is {shown(field)}",
        "Without hostNetwork the pod does not listen there: use status.podIP.",
    ),
    codes.TRANSPORT_BY_HAND: Said(
        LOOK,
        "transport chosen by hand",
        _by_hand,
        "Keep the setting if it is intended. With tcp in the list, UCX may send part of the data over the pod network.",
    ),
}

_CLUSTER: Dict[str, Said] = {
    codes.NO_DRA: Said(
        STOPS,
        "Dynamic Resource Allocation",
        lambda: "the API server does not serve resource.k8s.io",
        "It is on by default from Kubernetes 1.34. In 1.32 and 1.33, enable the feature gate "
        "DynamicResourceAllocation and the API group.",
    ),
    codes.OLD_KUBELET: Said(
        STOPS,
        "kubelets that lose DRA drivers",
        lambda version, nodes: f"Kubernetes {shown(version)} on {_nodes(nodes)}",
        "DRA drivers do not stay registered (kubernetes#133920): update to 1.34.2 or newer first.",
    ),
    codes.KUEUE_UNMAPPED: Said(
        STOPS,
        "Kueue",
        lambda device_class: f"no deviceClassMappings entry for the DeviceClass {shown(device_class)}",
        "Kueue 0.18 and newer reject claims of classes without such an entry. Add one to Kueue's configuration, and "
        "the name of the mapping to the quotas.",
    ),
    codes.OPERATOR_POLICY: Said(
        CHANGE,
        "policy of an operator",
        lambda policy, sections: f"{shown(policy)}" + (f" deploys {several(sections, 9)}" if sections else ""),
        "The operator puts its device plugins back. Change the policy, not their DaemonSets.",
    ),
    codes.DEVICE_PLUGIN: Said(
        CHANGE,
        "device plugin",
        _plugin,
        "The plugin has to leave a node before DRANET hands out that node's NICs.",
    ),
    codes.ADVERTISED: Said(
        CHANGE,
        "advertised resource",
        lambda resource, nodes: f"{shown(resource)} on {_nodes(nodes)}",
        "Pods that request it stay pending when the plugin is gone.",
    ),
    codes.STALE: Said(
        CHANGE,
        "stale capacity",
        lambda resource, nodes: f"{shown(resource)} has capacity, but nothing allocatable, on {_nodes(nodes)}",
        "A device plugin that is gone or broken left it. If it is gone, remove the resource from the status of the "
        "nodes (zerocopy.rdma.node_extended_resources).",
    ),
    codes.NO_PLUGIN: Said(
        LOOK,
        "resource without a known plugin",
        lambda resource, nodes: f"{shown(resource)} on {_nodes(nodes)}, where no known device plugin runs",
        "Either a plugin with an image of another name advertises it, or a plugin that is gone has left it.",
    ),
    codes.POOL: Said(
        LOOK,
        "InferencePool with several ports",
        lambda pool, ports: f"InferencePool {shown(pool)} has the target ports {several(ports)}",
        "If they are there for pods with hostNetwork, one port is enough after the migration.",
    ),
    codes.HEALTH_CHECK: Said(
        LOOK,
        "health checks of hosts",
        _health,
        "A claimed NIC leaves the host. A check that expects all NICs there may drain or reboot the node: make it "
        "accept their absence before the first node migrates.",
    ),
    codes.KUEUE_UNREAD: Said(
        LOOK,
        "Kueue",
        lambda: "Kueue is installed, but its configuration was not found",
        "Kueue 0.18 and newer reject claims of DeviceClasses without an entry in deviceClassMappings: look for one.",
    ),
    codes.VOLCANO: Said(
        LOOK,
        "Volcano",
        lambda: "Volcano is installed",
        "Volcano fails on pods with ResourceClaimTemplates (volcano#5119).",
    ),
    codes.EXTENDED_KUBELET: Said(
        LOOK,
        "kubelets and extended resources",
        lambda version, nodes: f"Kubernetes {shown(version)} on {_nodes(nodes)}",
        "The kubelet rejects pods whose extended resources DRA serves (kubernetes PR #135725, fixed after 1.35.0). "
        "Claims work.",
    ),
    codes.OLD_RUNTIME: Said(
        LOOK,
        "container runtimes without NRI by default",
        lambda version, nodes: f"{shown(version)} on {_nodes(nodes)}",
        "DRANET needs NRI, which containerd has on by default from 2.0. zerocopy.rdma.prepare enables it.",
    ),
}
SAID: Dict[str, Said] = {**_WORKLOAD, **_CLUSTER}
ORDER: Dict[str, int] = {code: index for index, code in enumerate(SAID)}

_TOOLS = {
    "operator": "",
    "argocd": "Argo CD application",
    "flux": "Flux",
    "helm": "Helm release",
    "kubectl": "its manifest (kubectl)",
    "other": "",
}


def text(finding: Finding) -> str:
    """What is there."""
    return SAID[finding.code].text(**finding.fields)


def level(finding: Finding) -> str:
    """One of :data:`model.LEVELS`."""
    return SAID[finding.code].level


def owner_text(owner: ManifestOwner) -> str:
    """Where a manifest is to be changed."""
    name = shown(owner.name) or (f"({shown(owner.manager)})" if owner.tool != "kubectl" else "")
    return " ".join(part for part in (_TOOLS[owner.tool], name) if part)
