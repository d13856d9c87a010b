# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Programs that matter to a migration, by the last part of the name of their image, or by what they are called.

Mirrors change the registry and the path of an image, seldom its last part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, integer, table
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import PodShape, WorkloadObject
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import others

PLUGIN, DRIVER, NETWORK, HEALTH = "plugin", "driver", "network", "health"


class Component(NamedTuple):
    """What a program is (one of the constants above), what it is called, and its image."""

    role: str
    name: str
    image: str


_IMAGES = (
    (PLUGIN, "k8s-rdma-shared-dev-plugin", re.compile(r".*k8s-rdma-shared-dev(ice)?-plugin.*")),
    (PLUGIN, "SR-IOV network device plugin", re.compile(r".*sriov-network-device-plugin.*|.*/sriovdp.*")),
    (PLUGIN, "AMD network device plugin", re.compile(r".*/k8s-network-device-plugin.*")),
    (PLUGIN, "k8s-rdma-device-plugin", re.compile(r".*k8s-rdma-device-plugin.*")),
    (NETWORK, "SR-IOV network operator", re.compile(r".*sriov-network-(operator|config-daemon).*")),
    (NETWORK, "Multus", re.compile(r".*multus-(cni|daemon).*")),
    (NETWORK, "NVIDIA OFED driver", re.compile(r".*/(doca-driver|mofed)(?![a-z]).*")),
    (NETWORK, "ib-kubernetes", re.compile(r".*/ib-kubernetes.*")),
    (DRIVER, "DRANET", others.IMAGE),
    (DRIVER, "NVIDIA DRA driver", re.compile(r".*dra-driver-(nvidia-)?gpu.*|.*k8s-dra-driver.*")),
    (DRIVER, "DRA driver for SR-IOV", re.compile(r".*dra-driver-sriov.*")),
    (HEALTH, "node-problem-detector", re.compile(r".*node-problem-detector.*")),
    # Parts of NVSentinel that see NICs, and that act on what was seen; a mirror may not have its path.
    (HEALTH, "NVSentinel's NIC monitor", re.compile(r".*/nic-health-monitor(?![a-z0-9-]).*")),
    (
        HEALTH,
        "NVSentinel, what cordons, drains and replaces nodes",
        re.compile(r".*/(fault-quarantine|node-drainer|fault-remediation)(?![a-z0-9-]).*"),
    ),
    (HEALTH, "NVSentinel", re.compile(r".*nvsentinel.*")),
    (HEALTH, "gpud", re.compile(r".*/gpud(?![a-z]).*")),
    (
        HEALTH,
        "node health check",
        re.compile(r".*(node-?health-?check|/(lbnl-)?nhc(?![a-z])|healthchecks?(?![a-z])).*"),
    ),
)
_HEALTH_NAME = re.compile(
    r"(.*[^a-z])?(nhc|gpud|nvsentinel|health-?checks?|health-monitor|problem-detector)([^a-z].*)?"
)
# Which of what a cluster runs by itself is looked at by its name as well.
_BY_NAME = ("DaemonSet", "CronJob", "Deployment")


def _of_pod(pod: PodShape) -> Optional[Component]:
    for container in pod.containers:
        image = container.image.partition("@")[0].lower()
        for role, name, pattern in _IMAGES:
            # With a slash before it, as an image without registry has none.
            if pattern.fullmatch(f"/{image}"):
                return Component(role, name, container.image)
    return None


def of(seen: WorkloadObject) -> Optional[Component]:
    """Which program of the above an object runs."""
    for pod in seen.pods:
        found = _of_pod(pod)
        if found:
            return found
    if seen.ref.kind.kind in _BY_NAME and _HEALTH_NAME.fullmatch(seen.ref.name.lower()):
        return Component(HEALTH, "probably a health check", "")
    return None


_DAEMON_SET = Kind("apps", "DaemonSet")


@dataclass(frozen=True)
class ForeignPlugin:
    """A DaemonSet (``namespace/name``), the program, the number of nodes it is meant for, and how to remove it."""

    daemon_set: str
    program: str
    nodes: int
    remove: str


def _remove(seen: WorkloadObject) -> str:
    """The command, or where it has to be taken out: deleted, it would come back there."""
    ref, owner = seen.ref, seen.owner
    if owner is not None:
        return f"take it out of {owner.kind.kind} {owner.name} (kubectl edit {owner.kind.kind.lower()} {owner.name})"
    first = seen.owners[0] if seen.owners else None
    namespace, slash, release = first.name.partition("/") if first else ("", "", "")
    if first and first.tool == "helm" and slash:
        return f"helm uninstall {release} --namespace {namespace}"
    if first and first.tool in ("argocd", "flux") and first.name:
        return f"take it out of {'Argo CD application' if first.tool == 'argocd' else 'Flux'} {first.name}"
    return f"kubectl delete daemonset {ref.name} --namespace {ref.namespace}"


def plugins(items: Sequence[Any], ours: Collection[str]) -> Iterator[ForeignPlugin]:
    """Those among these DaemonSets; ``ours`` are the labels by which our own find their nodes."""
    for item in items:
        seen = pods.read(_DAEMON_SET, item)
        component = of(seen)
        spec: Mapping[str, Any] = table(at(item, "spec", "template", "spec"))
        if component is None or component.role != PLUGIN or set(ours) & pods.node_labels(spec):
            continue
        number = integer(at(item, "status", "desiredNumberScheduled")) or 0
        place = f"{seen.ref.namespace}/{seen.ref.name}"
        yield ForeignPlugin(place, component.name, number, _remove(seen))
