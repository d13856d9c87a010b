# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The objects that run DRANET on a fleet: one DaemonSet per inventory group, since groups differ in what it shall do.

What it needs is read from ``install.yaml`` and ``cmd/dranet/app.go`` of kubernetes-sigs/dranet v1.4.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests, node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, wrong

# On a node it says which group's DaemonSet runs there: deployment.py plans it, _provision/nodes.py sets it. Host names
# in the DaemonSet instead would restart every driver of the group when a node is added.
GROUP_LABEL = node_labels.of_nodes("group")
# On the DaemonSet and its pods.
GROUP_OF_PODS = node_labels.of_objects(GROUP_LABEL)

_NAME = "dranet"
_NAME_LABEL = "app.kubernetes.io/name"
# The argument that says which devices the driver publishes.
FILTER = "--filter="
# Of the labels of its pods.
SELECTOR = f"{_NAME_LABEL}={_NAME}"
_PORT = 9177
_DRA = "resource.k8s.io"


@dataclass(frozen=True)
class Driver:
    """What the driver of one group shall be like; ``group`` is a DNS label.

    An ``imported`` image is on the nodes and nowhere else. With ``attributes``, it asks our daemon on its node.
    """

    group: str
    image: str
    filter: str
    imported: bool = False
    move_ib_interfaces: bool = True
    kubelet_root: str = "/var/lib/kubelet"
    poll_min_interval: str = "2s"
    poll_max_interval: str = "1m"
    more_arguments: Sequence[str] = ()
    pull_secrets: Sequence[str] = ()
    max_unavailable: str = "1"
    attributes: bool = False


def objects(namespace: str, drivers: Sequence[Driver]) -> List[Dict[str, Any]]:
    """Everything in ``namespace`` and in the cluster that these drivers need, Kubernetes' own namespaces excepted."""
    found = manifests.namespaces(namespace)
    account = {"name": _NAME, "namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    found += [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": _NAME}, "rules": _rules()},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _NAME},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": _NAME},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    ]
    return found + [_daemon_set(namespace, driver) for driver in drivers]


def _rules() -> List[Dict[str, Any]]:
    return [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        {
            "apiGroups": [_DRA],
            "resources": ["resourceslices"],
            "verbs": ["list", "watch", "create", "update", "delete"],
        },
        {"apiGroups": [_DRA], "resources": ["resourceclaims", "deviceclasses"], "verbs": ["get"]},
        {"apiGroups": [_DRA], "resources": ["resourceclaims/status"], "verbs": ["patch", "update"]},
        # From 1.36 a driver's write to a claim's status needs this as well.
        {
            "apiGroups": [_DRA],
            "resources": ["resourceclaims/driver"],
            "verbs": ["associated-node:patch", "associated-node:update"],
            "resourceNames": [model.DRANET],
        },
    ]


def arguments(driver: Driver) -> List[str]:
    """What DRANET is started with."""
    return [
        "--v=2",
        "--hostname-override=$(NODE_NAME)",
        *_provider(driver),
        f"{FILTER}{driver.filter}",
        f"--move-ib-interfaces={str(driver.move_ib_interfaces).lower()}",
        f"--kubelet-root-dir={driver.kubelet_root}",
        f"--inventory-min-poll-interval={driver.poll_min_interval}",
        f"--inventory-max-poll-interval={driver.poll_max_interval}",
        *driver.more_arguments,
    ]


def _provider(driver: Driver) -> List[str]:
    if not driver.attributes:
        # Unset, it asks for the metadata of clouds, which costs 20 s without one.
        return ["--cloud-provider-hint=NONE"]
    # Where nobody listens at its start, it would run on without attributes; as the provider of profiles, it ends, and
    # the kubelet starts it again.
    url = f"--webhook-url=unix://{names.SOCKET}"
    return ["--cloud-provider-hint=webhook", "--profile-provider=webhook", url]


def _daemon_set(namespace: str, driver: Driver) -> Dict[str, Any]:
    labels = {_NAME_LABEL: _NAME, GROUP_OF_PODS: driver.group}
    # Where one of them is missing the kubelet says so, instead of making an empty directory and a driver without use.
    has_to_exist = "Directory"
    volumes = [
        manifests.volume("plugins", f"{driver.kubelet_root}/plugins", "DirectoryOrCreate"),
        manifests.volume("plugins-registry", f"{driver.kubelet_root}/plugins_registry", has_to_exist),
        manifests.volume("nri", "/var/run/nri", has_to_exist),
        manifests.volume("infiniband", "/dev/infiniband", has_to_exist),
        manifests.volume("bpf", "/sys/fs/bpf", has_to_exist),
        # The runtime makes it for the first pod.
        manifests.volume("netns", "/var/run/netns", "DirectoryOrCreate"),
        manifests.volume("state", "/var/run/dranet", "DirectoryOrCreate"),
    ]
    if driver.attributes:
        volumes.append(manifests.volume(names.DAEMON, names.DIRECTORY, has_to_exist))
    propagated = ("netns", "infiniband", "bpf")
    mounts = [
        {"name": volume["name"], "mountPath": volume["hostPath"]["path"]}
        | ({"mountPropagation": "HostToContainer"} if volume["name"] in propagated else {})
        for volume in volumes
    ]
    probe = {"httpGet": {"path": "/healthz", "port": _PORT}}
    container: Dict[str, Any] = {
        "name": _NAME,
        "image": driver.image,
        # Not as an argument: with an entry point in the image, all flags after it would be ignored without a word.
        "command": ["/dranet"],
        "args": arguments(driver),
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
        "securityContext": {"privileged": True},
        "startupProbe": {**probe, "failureThreshold": 12, "periodSeconds": 5},
        "readinessProbe": probe,
        "volumeMounts": mounts,
    }
    if driver.imported:
        # Where it is missing the pod says so at once, instead of waiting for a registry that may be out of reach.
        container["imagePullPolicy"] = "Never"
    pod = manifests.node_pod({GROUP_LABEL: driver.group}, container, volumes, driver.pull_secrets)
    pod["serviceAccountName"] = _NAME
    metadata = {"name": f"{_NAME}-{driver.group}", "namespace": namespace, "labels": labels}
    return manifests.daemon_set(metadata, pod, driver.max_unavailable, {})


# As in the driver's filter.
_ADDRESS = re.compile(f'"({pci.PATTERN})"')


@dataclass(frozen=True)
class LiveDrivers:
    """``left_out``: by group, the PCI addresses that its driver leaves out. Groups are DNS labels.

    ``nodes``: the labels of all nodes; ``None`` without a cluster.
    """

    left_out: Mapping[str, Sequence[str]]
    nodes: Optional[Mapping[str, Mapping[str, str]]] = None

    def unseen(self, group: str, hosts: Iterable[InventoryHost], seen: Collection[str]) -> List[str]:
        """The nodes that have the driver of a group and are not among the ``seen``.

        ``hosts`` are those that shall have this driver. Without a cluster, any of them may have it already.
        """
        if self.nodes is None:
            there = [host.name for host in hosts]
        else:
            there = [node for node, labels in self.nodes.items() if labels.get(GROUP_LABEL) == group]
        return [name for name in there if name not in seen]


def read(
    daemon_sets: Iterable[Mapping[str, Any]], nodes: Optional[Mapping[str, Mapping[str, str]]] = None
) -> LiveDrivers:
    """``daemon_sets`` are those of the driver, perhaps among other objects, ``nodes`` the labels of all nodes."""
    left_out: Dict[str, List[str]] = {}
    for item in daemon_sets:
        if item["kind"] != "DaemonSet":
            continue
        pod = item["spec"]["template"]["spec"]
        group = (pod.get("nodeSelector") or {}).get(GROUP_LABEL)
        arguments = [text for container in pod.get("containers") or () for text in container.get("args") or ()]
        if group is not None:
            filters = [text for text in arguments if text.startswith(FILTER)]
            left_out[group] = [address for text in filters for address in _ADDRESS.findall(text)]
    return LiveDrivers(left_out, nodes)


ARGUMENTS = "rdma_driver_arguments"

# With the value in the same word: DRANET silently ignores everything after a word that is not an argument.
_ARGUMENT = re.compile(r"--([a-z][a-z0-9_-]*)=[^\n]*")


def _names(driver: Driver) -> Set[str]:
    return {text.split("=")[0] for text in arguments(driver)}


# The probes and the volume of the DaemonSet are made for the defaults of these.
_RELIED_ON = {"--bind-address", "--db-path"}


def checked_arguments(given: Sequence[str], version: str, attributes: bool = False) -> Tuple[str, ...]:
    """The arguments, if this version of DRANET takes them beside the collection's own. Raises PlanError."""
    own = _names(Driver("", image="", filter="", attributes=attributes))
    known = versions.more_arguments(versions.dranet(version))
    for position, text in enumerate(given):
        at = f"{ARGUMENTS}[{position}]"
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            raise PlanError(wrong(at, text, "it must be --name=value in one line"))
        name = f"--{match[1]}"
        if name in own:
            raise PlanError(wrong(at, text, f"but the role sets {name} itself: use its other variables"))
        if name in _RELIED_ON:
            raise PlanError(wrong(at, text, f"but the DaemonSet of the role needs the default of {name}"))
        if known is not None and match[1] not in known:
            right = f"but DRANET {version} has no {name}, and exits on an unknown argument"
            raise PlanError(wrong(at, text, right))
    return tuple(given)
