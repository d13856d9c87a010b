# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The custom resources by which NVIDIA's Network Operator runs device plugins and Multus, instead of our own objects.

What it makes of them is read from ``api``, ``controllers``, ``manifests`` and ``pkg/policyoverlap`` of
Mellanox/network-operator v26.7.0-rc.2: a NicClusterPolicy counts under one name only and is for all nodes with NVIDIA
NICs, a NicNodePolicy (since v26.4.0) for those that it selects. A component is in one or in the other.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PolicyFields
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import (
    DevicePlugin,
    PluginConfiguration,
    digest_of,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import shortened
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

# Values of the variable that says who runs the plugins.
PLUGIN, NETWORK_OPERATOR = "plugin", "network_operator"
POLICY, NODE_POLICY = "NicClusterPolicy.mellanox.com", "NicNodePolicy.mellanox.com"
NETWORK = "HostDeviceNetwork.mellanox.com"
KINDS = (POLICY, NODE_POLICY, NETWORK)
# Of the DaemonSets that the operator makes.
OWNERS = tuple(kind.partition(".")[0] for kind in (POLICY, NODE_POLICY))

_API = "mellanox.com/v1alpha1"
# Of a NicNodePolicy: DaemonSets and labels are called after it.
_LONGEST_NAME = 30

Configured = Tuple[PluginConfiguration, Collection[str]]
# Says which devices of a node a configuration would hand out.
Taken = Callable[[Any, InventoryHost], Sequence[str]]


def policy_fields(without: Sequence[str] = ()) -> PolicyFields:
    """Nothing yet of the NicClusterPolicy, of which there is one; ``without`` are fields that must go from it."""
    policy = {"apiVersion": _API, "kind": "NicClusterPolicy", "metadata": {"name": "nic-cluster-policy"}}
    return PolicyFields(policy, without)


def served(kinds: Optional[Collection[str]], needed: Sequence[str], variable: str) -> Optional[Problem]:
    """What is wrong where the API server lacks a kind; ``kinds`` are those it serves, ``None`` if nobody knows."""
    lacking = [kind for kind in needed if kinds is not None and kind not in kinds]
    if not lacking:
        return None
    text = (
        f"but the API server does not serve {', '.join(lacking)}: install the Network Operator, or set it to {PLUGIN}"
    )
    return wrong(variable, NETWORK_OPERATOR, text)


def with_node_policies(kinds: Optional[Collection[str]]) -> bool:
    """Whether there are NicNodePolicies, which every supported release of the operator has."""
    return kinds is None or NODE_POLICY in kinds


def check_image(variable: str, image: str) -> None:
    """:raises PlanError: a policy cannot name this image, given without tag and digest."""
    if "/" not in image:
        right = f"but the policies of {NETWORK_OPERATOR} need a repository: it must be like ghcr.io/mellanox/{image}"
        raise PlanError(wrong(variable, image, right))


def component(image: str, pull_secrets: Sequence[str]) -> Manifest:
    """A component of a policy without its configuration, by an image as pods name it."""
    name, _at, digest = image.partition("@")
    name, _colon, tag = name.rpartition(":")
    repository, _slash, last = name.rpartition("/")
    found: Manifest = {"image": last, "repository": repository, "version": digest or tag}
    if pull_secrets:
        found["imagePullSecrets"] = list(pull_secrets)
    return found


def _configured(own: PluginConfiguration, documents: Sequence[Mapping[str, Any]]) -> Manifest:
    merged: Dict[str, Any] = {}
    for document in documents:
        for name, value in document.items():
            merged[name] = [*merged.get(name, []), *value] if isinstance(value, list) else value
    # On one line and without a single quote: the operator's templates put it between such quotes.
    return {**component(own.image, own.pull_secrets), "config": json.dumps(merged)}


def node_policies(plugin: DevicePlugin, every: Sequence[PluginConfiguration]) -> List[Manifest]:
    """A NicNodePolicy for the nodes of each configuration."""
    return [node_policy(plugin, own, own.name, own.label_value) for own in every]


def node_policy(
    plugin: DevicePlugin, own: PluginConfiguration, name: str, value: str, beside: Optional[Manifest] = None
) -> Manifest:
    """The NicNodePolicy of a configuration for nodes whose label has this value; ``beside`` are other components."""
    return {
        "apiVersion": _API,
        "kind": "NicNodePolicy",
        "metadata": {"name": shortened(name, _LONGEST_NAME)},
        "spec": {
            "nodeSelector": {plugin.label: value},
            # As our own DaemonSets have it: a tainted node still has to take devices back.
            "tolerations": [{"operator": "Exists"}],
            plugin.component: _configured(own, [own.document]),
            **(beside or {}),
        },
    }


def digests(plugin: DevicePlugin, every: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
    """Of the configurations in NicNodePolicies, by the value of the nodes' label; ``every`` may have other objects."""
    found: Dict[str, str] = {}
    for item in every:
        spec = item.get("spec") or {}
        value = (spec.get("nodeSelector") or {}).get(plugin.label)
        config = (spec.get(plugin.component) or {}).get("config")
        if item["kind"] == NODE_POLICY.partition(".")[0] and value and config:
            # What somebody has broken by hand is no configuration.
            with contextlib.suppress(ValueError):
                found[value] = digest_of(json.loads(config))
    return found


def cluster_policy(plugin: DevicePlugin, every: Sequence[PluginConfiguration]) -> Manifest:
    """The part of the NicClusterPolicy that has all configurations; see :func:`clashes`."""
    if not every:
        return {}
    return {plugin.component: _configured(every[0], [own.document for own in every])}


def clashes(
    every: Sequence[Configured], hosts: Sequence[InventoryHost], taken: Taken, variable: str
) -> Iterator[Tuple[str, Problem]]:
    """What is wrong with one NicClusterPolicy for these configurations, by host.

    Its plugin runs on all nodes with NVIDIA NICs, so it must find nothing on those that a configuration is not for.
    """
    way = f"NicNodePolicies can (Network Operator 26.4 or newer), and so can {PLUGIN}"
    for place, (own, part) in enumerate(every):
        found = ""
        for other, _hosts in every[:place]:
            names = sorted(set(own.resources) & set(other.resources))
            if names:
                found = f"one NicClusterPolicy cannot have two configurations of {names[0]}"
            elif _alone(own) != _alone(other):
                found = "one NicClusterPolicy has one image for all groups"
        for host in hosts:
            devices = taken(own, host) if host.facts is not None and host.name not in part else ()
            if devices:
                what = f"{', '.join(devices)} of {host.name} as {own.prefix}/{own.resources[0]}"
                found = f"one NicClusterPolicy is for all nodes and would hand out {what}, too"
                break
        if found:
            for name in part:
                yield name, wrong(variable, NETWORK_OPERATOR, f"but {found}: {way}")


def _alone(own: PluginConfiguration) -> Any:
    """What there is once in a policy."""
    scalars = {name: value for name, value in own.document.items() if not isinstance(value, list)}
    return own.image, list(own.pull_secrets), scalars
