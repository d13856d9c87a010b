# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The OFED driver that NVIDIA's Network Operator runs as a container, in place of the driver of the node's kernel.

Read from ``manifests/state-ofed-driver``, ``pkg/state`` and ``docs`` of Mellanox/network-operator v26.7.0-rc.2 and from
``entrypoint`` of Mellanox/doca-driver-build 445df1e. A node may be in one NicNodePolicy only, and its operator never
calls one ready that selects no node. So the nodes of a group that have the driver are in another policy than those
that do not have it yet, by the value of the label by which they find their device plugin.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.manifests import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import OPERATED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import image, integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong

PREFIX = "rdma_ofed_"
DEPLOY, IMAGE, VERSION, ENV = PREFIX + "deploy", PREFIX + "image", PREFIX + "version", PREFIX + "env"
MESSAGES, FREE, TIMEOUT, WATCH = PREFIX + "messages", PREFIX + "free", PREFIX + "timeout", PREFIX + "watch"
COMPONENT = "ofedDriver"
# The end of the label's value on nodes that have the driver.
ENDING = ".ofed"
# On a node from the moment that it is cordoned for the driver until it is uncordoned.
TRIAL = node_labels.of_nodes("ofed")
# By the operator ``false`` where its driver is ready, or where none is deployed (controllers/mofed_wait_labels.go).
WAITS = "network.nvidia.com/operator.mofed.wait"
# On the operator's DaemonSets of the driver and on their pods (manifests/state-ofed-driver).
PODS = "nvidia.com/ofed-driver"
# Set by Node Feature Discovery; each of these DaemonSets is for the nodes with one kernel.
KERNEL = "feature.node.kubernetes.io/kernel-version.full"
# Without the first, which is off in the container, a node keeps the driver when its pod has gone; without the second
# the container does not look for what it cannot unload before it begins.
_ENV = {"RESTORE_DRIVER_ON_POD_TERMINATION": "true", "SKIP_PREFLIGHT_CHECKS": "false"}
_TAG = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_RANGES = {MESSAGES: (1, 10**6), FREE: (0, 10**5), TIMEOUT: (0, 86400), WATCH: (0, 86400)}


def component(values: Mapping[str, Any]) -> Manifest:
    """The component of a policy by a group's variables, empty where it does not ask for one. Raises PlanError."""
    if not values[DEPLOY]:
        return {}
    if not values[VERSION]:
        right = "it must be the version of doca-driver that the documentation of your Network Operator names"
        raise PlanError(Problem(VERSION, f"is not set, but {DEPLOY} is true: {right}"))
    if not _TAG.fullmatch(values[VERSION]):
        raise PlanError(wrong(VERSION, values[VERSION], "it must be a version like doca3.5.0-26.07-0.7.0.0-0"))
    checked(IMAGE, values[IMAGE], image.repository)
    network_operator.check_image(IMAGE, values[IMAGE])
    for name, (least, most) in _RANGES.items():
        checked(name, values[name], integer.between(least, most))
    for name, value in values[ENV].items():
        if not isinstance(value, str):
            raise PlanError(wrong(f"{ENV}.{name}", value, "it must be a string: quote it"))
        if name in _ENV and value != _ENV[name]:
            right = f"it must be '{_ENV[name]}', so that the driver can be removed again"
            raise PlanError(wrong(f"{ENV}.{name}", value, right))
    found = network_operator.component(f"{values[IMAGE]}:{values[VERSION]}", values[PREFIX + "pull_secrets"])
    env = {**_ENV, **values[ENV]}
    return {**found, "env": [{"name": name, "value": env[name]} for name in sorted(env)]}


def with_driver(label_value: str) -> str:
    """The label's value of a node that has the driver; ``label_value`` is that of one whose plugin an operator runs."""
    return label_value.rpartition(".")[0] + ENDING


def without_driver(label_value: str) -> str:
    """The other way round; empty for a node without a plugin."""
    value = label_value.rpartition(".")[0]
    return value + OPERATED[network_operator.NETWORK_OPERATOR] if value else ""


def has(labels: Optional[Mapping[str, str]], label: str) -> bool:
    """Whether a node with these labels has the driver, or is to get it."""
    return str((labels or {}).get(label) or "").endswith(ENDING)


def typed(host: InventoryHost, known: variables.Options) -> Dict[str, Any]:
    """The variables of a host in their types, defaults included; a wrong one has its default."""
    own = variables.with_prefix(PREFIX, known)
    given = {name: value for name, value in host.variables.items() if name in own}
    return {**variables.defaults(own), **variables.converted(given, known)[0]}


def against(
    label: str,
    own: Sequence[InventoryHost],
    fleet: Sequence[InventoryHost],
    labels: Mapping[str, Mapping[str, str]],
    policies: Sequence[Mapping[str, Any]],
    known: variables.Options,
) -> Iterator[Tuple[str, Problem]]:
    """Nodes from which provision would take the driver, or to which it would give another one, all at once.

    ``own`` are the hosts that can have it; ``policies`` have ``kind`` and ``spec``.
    """
    asking = {host.name: values for host in own for values in [typed(host, known)] if values[DEPLOY]}
    there = {}
    for spec in (policy.get("spec") or {} for policy in policies if policy.get("kind") == "NicNodePolicy"):
        there[str((spec.get("nodeSelector") or {}).get(label))] = spec.get(COMPONENT) or {}
    way = "zerocopy.rdma.ofed, which removes it node by node"
    for host in fleet:
        if not has(labels.get(host.name), label):
            continue
        value = labels[host.name][label]
        if host.name not in asking:
            text = f"is not true, but this node has the OFED driver (label {label}={value})"
            yield host.name, Problem(DEPLOY, f"{text}: run {way}")
            continue
        found, wanted = there.get(value), asking[host.name]
        if found and found.get("version") != wanted[VERSION]:
            right = (
                f"but this node has {found.get('version')}: set {DEPLOY} to false and run {way}, and then this version"
            )
            yield host.name, wrong(VERSION, wanted[VERSION], right)
