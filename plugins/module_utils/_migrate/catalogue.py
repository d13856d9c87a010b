# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Findings: their codes, their levels, and their words, which are made here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import ManifestOwner
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined, visible

FieldValue = Union[str, int, Tuple[str, ...], Tuple[int, ...]]
# Levels of findings, the worst first: the migration stops there or its pods would not start, the manifest has to be
# changed, and somebody has to look at it because the audit cannot know.
STOPS, CHANGE, LOOK = "stops", "change", "look"
LEVELS = (STOPS, CHANGE, LOOK)


@dataclass(frozen=True)
class Finding:
    """One thing that a migration has to deal with; ``places`` are pod templates, ``containers`` those in them."""

    code: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    places: Tuple[str, ...] = ()
    containers: Tuple[str, ...] = ()


# Codes of findings. Of a workload, in the order in which they are shown:
HOST_NETWORK = "host_network"
POOL_PORTS = "pool_ports"
VOLCANO_TEMPLATES = "volcano_templates"
PORTS_REMAPPED = "ports_remapped"
DNS_POLICY = "dns_policy"
RESOURCE = "resource"
INJECTED = "injected"
NETWORKS = "networks"
NODE_LABEL = "node_label"
PRIVILEGED = "privileged"
HOST_PATH = "host_path"
NO_IPC_LOCK = "no_ipc_lock"
NIC_BY_HAND = "nic_by_hand"
GID_BY_HAND = "gid_by_hand"
INTERFACE_BY_HAND = "interface_by_hand"
HOST_ADDRESS = "host_address"
TRANSPORT_BY_HAND = "transport_by_hand"
TCP_BY_HAND = "tcp_by_hand"

# Of the cluster:
NO_DRA = "no_dra"
OLD_KUBELET = "old_kubelet"
EXTENDED_KUBELET = "extended_kubelet"
OLD_RUNTIME = "old_runtime"
KUEUE_UNMAPPED = "kueue_unmapped"
KUEUE_UNREAD = "kueue_unread"
OPERATOR_POLICY = "operator_policy"
DEVICE_PLUGIN = "device_plugin"
ADVERTISED = "advertised"
STALE = "stale"
NO_PLUGIN = "no_plugin"
POOL = "pool"
HEALTH_CHECK = "health_check"
VOLCANO = "volcano"


_LONGEST = 100
_NAMED = 4


class FindingText(NamedTuple):
    """What is said of a code: its level, a title for counts, what is there, and why it matters and what to do."""

    level: str
    title: str
    text: Callable[..., str]
    advice: str


def printable(value: Any, longest: int = _LONGEST) -> str:
    """What somebody else wrote, on one line, cut where it is long, without characters that steer a terminal."""
    text = visible(str(value), kept="")
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def several(values: Iterable[Any], most: int = _NAMED) -> str:
    """Some of them, and how many more there are."""
    return joined([printable(value) for value in values], most)


def _nodes(names: Iterable[str]) -> str:
    return printable(fold(names))


def _ports(ports: Sequence[int]) -> str:
    return f"port{'' if len(ports) == 1 else 's'} {several(ports)}"


def _host_network(ports: Sequence[int]) -> str:
    return f"hostNetwork: true, {_ports(ports)} of the node" if ports else "hostNetwork: true"


def _plugin(daemon_set: str, name: str, image: str, nodes: int) -> str:
    return f"{printable(daemon_set)} is {name} on {counted(nodes, 'node')} ({printable(image)})"


def _by_hand(variable: str, value: str) -> str:
    return f"{variable}={printable(value)}"


def _health(what: str, known: str, sign: str) -> str:
    return f"{printable(what)}: {known}" + (f", has {printable(sign)}" if sign else "")


_WORKLOAD: Dict[str, FindingText] = {
    HOST_NETWORK: FindingText(
        STOPS,
        "hostNetwork",
        _host_network,
        "DRANET refuses pods with hostNetwork. Two such pods on one node have one address and collide on their ports. "
        "Remove hostNetwork: with a claim, the pod has an address of its own and the NIC beside it.",
    ),
    POOL_PORTS: FindingText(
        STOPS,
        "several ports of an InferencePool",
        lambda pool, ports: f"InferencePool {printable(pool)} has the target ports {several(ports)}",
        "The endpoint picker looks for each pod on each of these ports. Bring workload and pool back to one port "
        "together. Several ports are right only for pods that serve on all of them (data parallel ranks).",
    ),
    VOLCANO_TEMPLATES: FindingText(
        STOPS,
        "scheduled by Volcano",
        lambda: "schedulerName is volcano",
        "Volcano fails on pods with ResourceClaimTemplates (volcano#5119). Use ResourceClaims, one for each pod, or "
        "the default scheduler.",
    ),
    PORTS_REMAPPED: FindingText(
        CHANGE,
        "port differs from that of a similar workload",
        lambda ports, others: f"{_ports(ports)}, while {several(others)}",
        "Probably remapped, so that both fit on one node with hostNetwork. With addresses of their own, both can use "
        "the same port; change probes, Services and pools with it.",
    ),
    DNS_POLICY: FindingText(
        CHANGE,
        "dnsPolicy",
        lambda policy: f"dnsPolicy: {printable(policy)}",
        "Only needed with hostNetwork: remove both.",
    ),
    RESOURCE: FindingText(
        CHANGE,
        "resource of a device plugin",
        lambda resource, number: f"{printable(resource)}: {printable(number)}",
        "Remove limit and request, and request a claim instead. Both at once would give one NIC to two owners.",
    ),
    INJECTED: FindingText(
        CHANGE,
        "devices by an annotation",
        lambda annotation, value: f"{printable(annotation)}: {printable(value)}",
        "An NRI plugin adds the device nodes to the container. Remove the annotation, and request a claim instead.",
    ),
    NETWORKS: FindingText(
        CHANGE,
        "network of Multus",
        lambda networks: f"k8s.v1.cni.cncf.io/networks: {printable(networks)}",
        "Remove the network that moves the NIC into the pod: the claim does. Other networks stay.",
    ),
    NODE_LABEL: FindingText(
        CHANGE,
        "label of a strategy's nodes",
        lambda label: f"selects nodes by {printable(label)}",
        "A node has this label only as long as it has the strategy, so the pods stay pending when all nodes have "
        "moved. Select nodes by a label of your own.",
    ),
    PRIVILEGED: FindingText(
        CHANGE,
        "privileged",
        lambda: "privileged: true",
        "A privileged container has the device nodes of all HCAs, whatever it claims. Remove privileged and add the "
        "capability IPC_LOCK, unless the container needs to be privileged for something else.",
    ),
    HOST_PATH: FindingText(
        CHANGE,
        "hostPath of device nodes",
        lambda path: f"hostPath {printable(path)}",
        "Remove volume and mount: a claim brings the device nodes of its NICs.",
    ),
    NO_IPC_LOCK: FindingText(
        CHANGE,
        "without IPC_LOCK",
        lambda: "no capability IPC_LOCK",
        "Add IPC_LOCK to securityContext.capabilities: without it, NCCL and UCX crash or fail when they register "
        "memory.",
    ),
    NIC_BY_HAND: FindingText(
        CHANGE,
        "NIC chosen by hand",
        _by_hand,
        "The scheduler chooses the NIC of a claim, so its name differs from pod to pod. Remove the setting, or derive "
        "it in the pod from what the pod got.",
    ),
    GID_BY_HAND: FindingText(
        CHANGE,
        "GID index by hand",
        _by_hand,
        "The index depends on the addresses that the NIC has in the pod. Remove the setting: NCCL and UCX choose one.",
    ),
    INTERFACE_BY_HAND: FindingText(
        CHANGE,
        "interface chosen by hand",
        _by_hand,
        "An interface of the host does not exist in the pod. Its pod network is eth0.",
    ),
    HOST_ADDRESS: FindingText(
        CHANGE,
        "address of the node",
        lambda variable, field: f"{printable(variable)} is {printable(field)}",
        "Without hostNetwork the pod does not listen there: use status.podIP.",
    ),
    TCP_BY_HAND: FindingText(
        CHANGE,
        "RDMA switched off by hand",
        _by_hand,
        "With the setting, NCCL or UCX uses TCP, or no network, although the pod has RDMA. Remove it; rdma-env.sh "
        "refuses to start with it.",
    ),
    TRANSPORT_BY_HAND: FindingText(
        LOOK,
        "transport chosen by hand",
        _by_hand,
        "Keep the setting if it is intended. With tcp in the list, UCX may send part of the data over the pod network.",
    ),
}

_CLUSTER: Dict[str, FindingText] = {
    NO_DRA: FindingText(
        STOPS,
        "Dynamic Resource Allocation",
        lambda: "the API server does not serve resource.k8s.io",
        "It is on by default from Kubernetes 1.34. In 1.32 and 1.33, enable the feature gate "
        "DynamicResourceAllocation and the API group.",
    ),
    OLD_KUBELET: FindingText(
        STOPS,
        "kubelets that lose DRA drivers",
        lambda version, nodes: f"Kubernetes {printable(version)} on {_nodes(nodes)}",
        "DRA drivers do not stay registered (kubernetes#133920): update to 1.34.2 or newer first.",
    ),
    KUEUE_UNMAPPED: FindingText(
        STOPS,
        "Kueue",
        lambda device_class: f"no deviceClassMappings entry for the DeviceClass {printable(device_class)}",
        "Kueue 0.18 and newer reject claims of classes without such an entry. Add one to Kueue's configuration, and "
        "the name of the mapping to the quotas.",
    ),
    OPERATOR_POLICY: FindingText(
        CHANGE,
        "policy of an operator",
        lambda policy, sections: f"{printable(policy)}" + (f" deploys {several(sections, 9)}" if sections else ""),
        "The operator puts its device plugins back. Change the policy, not their DaemonSets.",
    ),
    DEVICE_PLUGIN: FindingText(
        CHANGE,
        "device plugin",
        _plugin,
        "The plugin has to leave a node before DRANET hands out that node's NICs.",
    ),
    ADVERTISED: FindingText(
        CHANGE,
        "advertised resource",
        lambda resource, nodes: f"{printable(resource)} on {_nodes(nodes)}",
        "Pods that request it stay pending when the plugin is gone.",
    ),
    STALE: FindingText(
        CHANGE,
        "stale capacity",
        lambda resource, nodes: f"{printable(resource)} has capacity, but nothing allocatable, on {_nodes(nodes)}",
        "A device plugin that is gone or broken left it. If it is gone, remove the resource from the status of the "
        "nodes (zerocopy.rdma.node_extended_resources).",
    ),
    NO_PLUGIN: FindingText(
        LOOK,
        "resource without a known plugin",
        lambda resource, nodes: f"{printable(resource)} on {_nodes(nodes)}, where no known device plugin runs",
        "Either a plugin with an image of another name advertises it, or a plugin that is gone has left it.",
    ),
    POOL: FindingText(
        LOOK,
        "InferencePool with several ports",
        lambda pool, ports: f"InferencePool {printable(pool)} has the target ports {several(ports)}",
        "If they are there for pods with hostNetwork, one port is enough after the migration.",
    ),
    HEALTH_CHECK: FindingText(
        LOOK,
        "health checks of hosts",
        _health,
        "A claimed NIC leaves the host. A check that expects all NICs there may drain or reboot the node: make it "
        "accept their absence before the first node migrates. For NVSentinel, node-problem-detector and gpud, "
        "docs/health-checks.md has the settings.",
    ),
    KUEUE_UNREAD: FindingText(
        LOOK,
        "Kueue",
        lambda: "Kueue is installed, but its configuration was not found",
        "Kueue 0.18 and newer reject claims of DeviceClasses without an entry in deviceClassMappings: look for one.",
    ),
    VOLCANO: FindingText(
        LOOK,
        "Volcano",
        lambda: "Volcano is installed",
        "Volcano fails on pods with ResourceClaimTemplates (volcano#5119).",
    ),
    EXTENDED_KUBELET: FindingText(
        LOOK,
        "kubelets and extended resources",
        lambda version, nodes: f"Kubernetes {printable(version)} on {_nodes(nodes)}",
        "The kubelet rejects pods whose extended resources DRA serves (kubernetes PR #135725, fixed after 1.35.0). "
        "Claims work.",
    ),
    OLD_RUNTIME: FindingText(
        LOOK,
        "container runtimes without NRI by default",
        lambda version, nodes: f"{printable(version)} on {_nodes(nodes)}",
        "DRANET needs NRI, which containerd has on by default from 2.0. zerocopy.rdma.prepare enables it.",
    ),
}
TEXTS: Dict[str, FindingText] = {**_WORKLOAD, **_CLUSTER}
ORDER: Dict[str, int] = {code: index for index, code in enumerate(TEXTS)}

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
    return TEXTS[finding.code].text(**finding.fields)


def level(finding: Finding) -> str:
    """One of :data:`LEVELS`."""
    return TEXTS[finding.code].level


def worst(findings: Iterable[Finding]) -> str:
    """The worst of their levels."""
    return min((level(finding) for finding in findings), key=LEVELS.index)


def owner_text(owner: ManifestOwner) -> str:
    """Where a manifest is to be changed."""
    name = printable(owner.name) or (f"({printable(owner.manager)})" if owner.tool != "kubectl" else "")
    return " ".join(part for part in (_TOOLS[owner.tool], name) if part)
