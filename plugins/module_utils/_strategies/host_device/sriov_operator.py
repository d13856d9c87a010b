# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The custom resources by which the SR-IOV network operator hands out VFs, instead of our own objects.

What it makes of them is read from ``api/v1``, ``controllers``, ``pkg/webhook``, ``pkg/plugins/generic`` and
``pkg/host/internal/sriov`` of k8snetworkplumbingwg/sriov-network-operator v1.6.0. It reads policies, networks and pools
in its own namespace only. With ``externallyManaged`` it makes no VFs, but drains a node all the same before it looks
at them, and gives GUIDs to those of InfiniBand.
"""

from __future__ import annotations

import json
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, PciFunction
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.vfs import VFS
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import networks, objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import (
    HostDevices,
    PodNetwork,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PREFIX, PROVIDER
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

SRIOV_OPERATOR = "sriov_operator"
NAMESPACE, NAMESPACES = "rdma_operator_sriov_namespace", PREFIX + "namespaces"
INFINIBAND = "InfiniBand"
TRUST, SPOOF, LINK_STATE = (PREFIX + name for name in ("vf_trust", "vf_spoof_check", "vf_link_state"))
_GROUP = "sriovnetwork.openshift.io"
POLICY, POOL = f"SriovNetworkNodePolicy.{_GROUP}", f"SriovNetworkPoolConfig.{_GROUP}"
NETWORKS = (f"SriovNetwork.{_GROUP}", f"SriovIBNetwork.{_GROUP}")
KINDS = (POLICY, POOL, *NETWORKS, f"SriovNetworkNodeState.{_GROUP}")
# Its DaemonSets: the device plugin, and what looks after the VFs of a node.
PLUGIN, DAEMON = "sriov-device-plugin", "sriov-network-config-daemon"
# Objects to read from the cluster, with a name if only one of the kind matters.
LOOKS = ((POLICY, ""), (POOL, ""), ("DaemonSet.apps", PLUGIN))
_PREFIX_ARGUMENT = "--resource-prefix="
# The operator itself leaves a policy of this name alone.
_IGNORED = "default"


def chosen(values: Mapping[str, Any]) -> bool:
    """Whether this operator hands out the VFs; variables have any type."""
    return bool(values.get(PROVIDER) == SRIOV_OPERATOR)


def daemon_sets(namespace: str) -> Tuple[str, ...]:
    return f"{namespace}/{PLUGIN}", f"{namespace}/{DAEMON}"


def check(values: Mapping[str, Any], layer: str) -> None:
    """:raises PlanError: a group with these variables, whose ports have this link layer, wants something else."""
    but = f"but {PROVIDER} is {SRIOV_OPERATOR}"
    if strategy_of(values) != networks.SRIOV:
        right = f"but {STRATEGY} is {strategy_of(values)}, and this operator hands out VFs only: set it to"
        right += f" {network_operator.PLUGIN} or {network_operator.NETWORK_OPERATOR}"
        raise PlanError(wrong(PROVIDER, SRIOV_OPERATOR, right))
    if not names.is_label(values[NAMESPACE]):
        raise PlanError(wrong(NAMESPACE, values[NAMESPACE], "it must be the namespace of the SR-IOV operator"))
    if len(values[NAMESPACES]) > 1:
        right = (
            f"{but}, whose networks are in one namespace: name one; pods of others can request <namespace>/<network>"
        )
        raise PlanError(wrong(NAMESPACES, values[NAMESPACES], right))
    if layer == INFINIBAND and values.get(VFS):
        right = f"{but}, which would replace the GUIDs of the VFs that the links create: leave it out if something"
        raise PlanError(
            wrong(VFS, values[VFS], f"{right} else creates the VFs, or set {PROVIDER} to {network_operator.PLUGIN}")
        )


def check_vfs(values: Mapping[str, Any], layer: str) -> None:
    """:raises PlanError: nothing would set what these variables want of the VFs."""
    for name in (TRUST, SPOOF, LINK_STATE):
        if values.get(name) is None:
            continue
        if not chosen(values):
            right = f"but only the SR-IOV operator sets this ({PROVIDER}: {SRIOV_OPERATOR}): leave it out, and set it"
            raise PlanError(wrong(name, values[name], f"{right} on the host"))
        if layer == INFINIBAND and name != LINK_STATE:
            raise PlanError(wrong(name, values[name], f"but VFs of {INFINIBAND} ports have none: leave it out"))


def _of_vfs(values: Mapping[str, Any]) -> Dict[str, str]:
    """Fields of a network by which the operator's CNI plugin sets up each VF."""
    switches = {"trust": values.get(TRUST), "spoofChk": values.get(SPOOF)}
    found = {name: "on" if value else "off" for name, value in switches.items() if value is not None}
    return {**found, **({"linkState": str(values[LINK_STATE])} if values.get(LINK_STATE) else {})}


def served(kinds: Optional[Collection[str]]) -> Optional[Problem]:
    """What is wrong where the API server lacks a kind; ``kinds`` are those it serves, ``None`` if nobody knows."""
    lacking = [kind for kind in KINDS if kinds is not None and kind not in kinds]
    if not lacking:
        return None
    right = f"install the SR-IOV network operator, or set it to {network_operator.PLUGIN}"
    return wrong(PROVIDER, SRIOV_OPERATOR, f"but the API server does not serve {', '.join(lacking)}: {right}")


def _object(namespace: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": meta, "spec": dict(spec)}


def _functions(addresses: Collection[str], hosts: Sequence[InventoryHost]) -> Iterator[Tuple[Hca, PciFunction]]:
    placed = [placed for host in hosts if host.facts is not None for placed in host.facts.placed]
    return ((hca, pci) for hca, pci in placed if pci.address in addresses)


def policies(
    namespace: str, label: str, own: HostDevices, of_rail: Sequence[PodNetwork], hosts: Sequence[InventoryHost]
) -> List[Manifest]:
    """A SriovNetworkNodePolicy for each resource of a configuration and number of VFs; ``hosts`` are its nodes.

    NICs are named by their addresses. ``linkType`` stays open: by it a device plugin that restarts would lose the VFs
    whose netdevs are in pods.
    """
    found = []
    shape = own.value[len(label) :]
    for network in of_rail:
        resource = network.resource.partition("/")[2]
        by_number: Dict[int, List[str]] = {}
        for address in own.pools.get(resource, ()):
            by_number.setdefault(own.vfs[address], []).append(address)
        for number, addresses in by_number.items():
            several = f"-{number}vfs" if len(by_number) > 1 else ""
            spec = {
                "resourceName": resource,
                "nodeSelector": {objects.LABEL: own.label_value},
                "numVfs": number,
                "nicSelector": {**_identity(addresses, hosts), "rootDevices": addresses},
                "deviceType": "netdevice",
                "isRdma": True,
                "externallyManaged": True,
            }
            found.append(_object(namespace, "SriovNetworkNodePolicy", f"{network.name}{shape}{several}", spec))
    return found


def digests(every: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
    """Of the VFs in policies, by the value of their nodes' label; ``every`` may have other objects."""
    found: Dict[str, List[Tuple[str, str, int]]] = {}
    for item in every:
        spec = item.get("spec") or {}
        value = (spec.get("nodeSelector") or {}).get(objects.LABEL)
        if item["kind"] == POLICY.partition(".")[0] and value:
            roots = (spec.get("nicSelector") or {}).get("rootDevices") or ()
            nics = [(str(spec["resourceName"]), str(address), int(spec["numVfs"])) for address in roots]
            found.setdefault(value, []).extend(nics)
    return {value: objects.digest_of_vfs(nics) for value, nics in found.items()}


def _identity(addresses: Collection[str], hosts: Sequence[InventoryHost]) -> Dict[str, str]:
    """Vendor and device of NICs as far as all have the same."""
    every = [pci for _hca, pci in _functions(addresses, hosts)]
    fields = {"vendor": {pci.vendor_id for pci in every}, "deviceID": {pci.device_id for pci in every}}
    return {name: next(iter(values)) for name, values in fields.items() if len(values) == 1}


def network_of(
    namespace: str, pods: str, network: PodNetwork, layer: str, cni: str, values: Mapping[str, Any]
) -> Manifest:
    """What the operator makes the NetworkAttachmentDefinition of namespace ``pods`` from, which has the same name."""
    spec = {
        "networkNamespace": pods,
        # The operator puts its prefix before it.
        "resourceName": network.resource.partition("/")[2],
        "ipam": json.dumps(objects.ipam(network, cni)),
        **_of_vfs(values),
    }
    return _object(namespace, "SriovIBNetwork" if layer == INFINIBAND else "SriovNetwork", network.name, spec)


def pool(namespace: str, label: str, every: Sequence[HostDevices], most: str) -> Manifest:
    """How many nodes of a group the operator may drain at a time: ``most`` is a number or a percentage."""
    nodes = {"key": objects.LABEL, "operator": "In", "values": sorted(own.label_value for own in every)}
    # The operator takes no number in quotes.
    limit: Union[int, str] = most if most.endswith("%") else int(most)
    spec = {"maxUnavailable": limit, "nodeSelector": {"matchExpressions": [nodes]}}
    return _object(namespace, "SriovNetworkPoolConfig", f"rdma-{label}", spec)


def warnings(group: str, layer: str, most: str) -> List[str]:
    """What the operator does to nodes and VFs of a group beside what it is asked for."""
    text = f"{group}: the SR-IOV operator cordons and drains nodes of the group when its policies for them change or"
    found = [f"{text} its daemon starts there, at most {most} at a time, although it does not create the VFs"]
    if layer == INFINIBAND:
        text = (
            f"{group}: the SR-IOV operator gives the VFs GUIDs from /etc/sriov-operator/infiniband/guids of the node,"
        )
        found.append(f"{text} otherwise random ones")
    return found


def _in_namespace(every: Sequence[Mapping[str, Any]], kind: str, namespace: str) -> Iterator[Tuple[str, Any]]:
    """Name and specification of objects that are not ours."""
    for item in every:
        meta, spec = item["metadata"], item.get("spec") or {}
        # Others may select nodes by our label as well.
        ours = meta.get("set") and objects.LABEL in json.dumps(spec.get("nodeSelector"))
        if not ours and item["kind"] == kind.partition(".")[0] and meta.get("namespace") == namespace:
            yield str(meta["name"]), spec


def against(
    values: Mapping[str, Any],
    hosts: Sequence[InventoryHost],
    addresses: Mapping[str, Collection[str]],
    every: Sequence[Mapping[str, Any]],
    labels: Mapping[str, Mapping[str, str]],
) -> Iterator[Tuple[str, Problem]]:
    """What of the cluster is in the way of a group, by host.

    ``addresses`` are those of the NICs by host, ``every`` the objects of LOOKS, ``labels`` those of the nodes.
    """
    namespace = str(values[NAMESPACE])
    problem = _running(values, namespace, every)
    for host in hosts:
        if problem is not None:
            yield host.name, problem
            continue
        of_node = labels.get(host.name, {})
        for name, spec in _in_namespace(every, POLICY, namespace):
            selected = name != _IGNORED and _matches({"matchLabels": spec.get("nodeSelector")}, of_node)
            for hca, pci in _functions(addresses.get(host.name, ()), [host]) if selected else ():
                if _selects(spec.get("nicSelector") or {}, hca, pci):
                    right = f"but somebody else's SriovNetworkNodePolicy {name} selects {hca.name} of this node"
                    yield host.name, wrong(PROVIDER, SRIOV_OPERATOR, f"{right}: delete it or change its selectors")
        for name, spec in _in_namespace(every, POOL, namespace):
            hardware = (spec.get("ovsHardwareOffloadConfig") or {}).get("name")
            if not hardware and _matches(spec.get("nodeSelector") or {}, of_node):
                right = f"but somebody else's SriovNetworkPoolConfig {name} contains this node, and the operator"
                right += " ignores nodes that are in two pools: delete it or change its selector"
                yield host.name, wrong(PROVIDER, SRIOV_OPERATOR, right)


def _running(values: Mapping[str, Any], namespace: str, every: Sequence[Mapping[str, Any]]) -> Optional[Problem]:
    """What is wrong with the operator itself."""
    there = {item["metadata"].get("namespace"): item for item in every if item["kind"] == "DaemonSet"}
    if namespace not in there:
        right = f"but there is no DaemonSet {PLUGIN} in it: name the namespace of the SR-IOV operator, which must have"
        return wrong(NAMESPACE, namespace, f"{right} its SriovOperatorConfig named default")
    containers = there[namespace]["spec"]["template"]["spec"]["containers"]
    given = [
        text for container in containers for text in container.get("args") or () if text.startswith(_PREFIX_ARGUMENT)
    ]
    prefix = str(values[networks.RESOURCE.prefix_variable])
    for told in (text[len(_PREFIX_ARGUMENT) :] for text in given):
        if told != prefix:
            right = f"but the resources of the SR-IOV operator are {told}/... (its RESOURCE_PREFIX): set it to {told}"
            return wrong(networks.RESOURCE.prefix_variable, prefix, right)
    return None


def _selects(selector: Mapping[str, Any], hca: Hca, pci: PciFunction) -> bool:
    """Whether the operator counts a NIC to a policy; a selector of clouds (``netFilter``) has none of these."""
    netdevs = {port.netdev.name for port in hca.ports if port.netdev}
    roots = [str(text).partition("#")[0] for text in selector.get("rootDevices") or ()]
    pfs = {str(text).partition("#")[0] for text in selector.get("pfNames") or ()}
    return (
        any(selector.values())
        and not selector.get("netFilter")
        and selector.get("vendor") in (None, "", pci.vendor_id)
        and selector.get("deviceID") in (None, "", pci.device_id)
        and (not roots or pci.address in roots)
        and (not pfs or bool(pfs & netdevs))
    )


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector has a node (LabelSelector of meta/v1; an empty one has all)."""
    for name, value in (selector.get("matchLabels") or {}).items():
        if labels.get(name) != value:
            return False
    for expression in selector.get("matchExpressions") or ():
        there, values = labels.get(expression.get("key", "")), expression.get("values") or ()
        right = {
            "In": there in values,
            "NotIn": there not in values,
            "Exists": there is not None,
            "DoesNotExist": there is None,
        }
        # Its definition allows any text, and with another one the operator takes no node.
        if not right.get(expression.get("operator", "")):
            return False
    return True
